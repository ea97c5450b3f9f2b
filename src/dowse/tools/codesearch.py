"""The contract of the search-index code search server: its tools, parameters, keys and errors on top of the engine."""

from __future__ import annotations

from dowse.config import Settings
from dowse.tools.codesearch_code import CallersTool, DefinitionsTool
from dowse.tools.codesearch_context import ToolContext
from dowse.tools.codesearch_files import FileTools, GrepTool
from dowse.tools.codesearch_git import GitTools
from dowse.tools.codesearch_index import IndexTools
from dowse.tools.tool import ContractWording, Tool, ToolSet

CODESEARCH_INSTRUCTIONS = """\
Search the code of one directory, from an index on this machine. `search_definitions` finds where things are \
defined and shows their source, `search_callers` finds who calls what, `search_grep` finds lines, `search_fast` finds \
files by name. `search_git_history` lists the commits of a file, `search_git_blame` shows who wrote a line, \
`search_help` has examples. Prefer these tools to reading files one by one; pass several names at once, separated by \
commas."""

# No tool here compares by meaning, so no model is loaded; existing vectors stay.
CODESEARCH_DEFAULTS = Settings(encoder="none")

CODESEARCH_WORDING = ContractWording(missing="Missing required parameter: {name}", unknown_tool="Unknown tool: {name}")


def codesearch_tool_set(context: ToolContext) -> ToolSet:
    grep, files, maintenance = GrepTool(context), FileTools(context), IndexTools(context)
    definitions, callers = DefinitionsTool(context), CallersTool(context)
    tools = (
        Tool(grep.search_grep, "Search lines"),
        Tool(files.search_find, "Search files on disk"),
        Tool(files.search_fast, "Search file names"),
        Tool(maintenance.search_info, "Index status"),
        Tool(maintenance.search_reindex, "Update the index", read_only=False),
        Tool(definitions.search_definitions, "Search definitions"),
        Tool(callers.search_callers, "Search callers and callees"),
        Tool(maintenance.search_reindex_definitions, "Update the definitions", read_only=False),
        Tool(maintenance.search_help, "Usage help"),
        *GitTools(context).tools(),
    )
    return ToolSet("codesearch", "search-index", CODESEARCH_INSTRUCTIONS, tools, CODESEARCH_WORDING)
