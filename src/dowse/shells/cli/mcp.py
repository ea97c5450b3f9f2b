"""`dowse mcp`"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dowse.shells import PROFILES
from dowse.shells.cli.options import roots_option, settings_options
from dowse.shells.sharing.front import Given, serve_client


@click.command("mcp")
@click.option("--profile", type=click.Choice(PROFILES), default="core", show_default=True, help="Which set of tools.")
@roots_option
@settings_options(index="", encoder="", share="")
def command(profile: str, roots: tuple[Path, ...], **flags: Any) -> int:  # noqa: ANN401
    """Serve an AI agent over MCP on stdin and stdout; the index is brought up to date behind the answers.

    \b
    core        search, fetch, grep, symbols, calls, why, related, remember, index, status
    rifflux     the five tools of Rifflux, for clients made for it; RIFFLUX_… variables count too
    ragdocs     the tools of mcp-markdown-ragdocs for documents, git and memories, answered in Markdown
    codesearch  the tools of search-index: lines, definitions, callers and git history of one directory
    all         every tool of the others on one index, for clients that were made for several of them
    """
    return serve_client(Given(profile, tuple(map(str, roots)), flags))
