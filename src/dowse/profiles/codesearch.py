"""The contract of the search-index code search server, told in engine verbs: its tools, parameters, keys and errors."""

from __future__ import annotations

from dowse.config import Settings
from dowse.profiles.codesearch_callers import CallersTool
from dowse.profiles.codesearch_definitions import DefinitionsTool
from dowse.profiles.codesearch_desk import Desk
from dowse.profiles.codesearch_files import FileTools
from dowse.profiles.codesearch_git import GitTools
from dowse.profiles.codesearch_grep import GrepTool
from dowse.profiles.codesearch_upkeep import UpkeepTools
from dowse.profiles.tool import Profile, Tool, Wording

INSTRUCTIONS = """\
Search over the code of one directory, from an index on this machine. `search_definitions` finds where things are \
defined and shows their source, `search_callers` who calls what, `search_grep` which lines hold something, \
`search_fast` files by name; `search_git_history` tells the commits of a file, `search_git_blame` who wrote a line; \
`search_help` has examples. Prefer them to reading files one by one; give several names \
at once with commas between them."""

# Nothing here is compared by meaning, so no model is loaded; vectors that are there stay.
DEFAULTS = Settings(encoder="none")

WORDING = Wording(missing="Missing required parameter: {name}", unknown_tool="Unknown tool: {name}")


def codesearch(desk: Desk) -> Profile:
    grep, files, upkeep = GrepTool(desk), FileTools(desk), UpkeepTools(desk)
    definitions, callers = DefinitionsTool(desk), CallersTool(desk)
    tools = (
        Tool(grep.search_grep, "Search lines"),
        Tool(files.search_find, "Search files on disk"),
        Tool(files.search_fast, "Search file names"),
        Tool(upkeep.search_info, "State of the index"),
        Tool(upkeep.search_reindex, "Renew the index", read_only=False),
        Tool(definitions.search_definitions, "Search definitions"),
        Tool(callers.search_callers, "Search callers and callees"),
        Tool(upkeep.search_reindex_definitions, "Renew the definitions", read_only=False),
        Tool(upkeep.search_help, "How to ask"),
        *GitTools(desk).tools(),
    )
    return Profile("codesearch", "search-index", INSTRUCTIONS, tools, WORDING)
