"""`dowse mcp`"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from dowse.shells.cli.options import settings_options
from dowse.shells.serving import PROFILES, serve


@click.command("mcp")
@click.option("--profile", type=click.Choice(PROFILES), default="core", show_default=True, help="Which set of tools.")
@click.option(
    "--root",
    "roots",
    multiple=True,
    type=click.Path(path_type=Path),
    help="A directory to serve; may be repeated.",
)
@settings_options
def command(profile: str, roots: tuple[Path, ...], **flags: Any) -> None:  # noqa: ANN401
    """Serve an AI agent over MCP on stdin and stdout; the index is brought up to date behind the answers.

    \b
    core        search, fetch, index, status
    rifflux     the five tools of Rifflux, for clients made for it; RIFFLUX_… variables count too
    ragdocs     the query tools of mcp-markdown-ragdocs: documents only, answered in Markdown
    codesearch  the tools of search-index: lines, definitions and callers in the code of one directory
    """
    serve(profile, roots=roots, flags=flags, environment=os.environ, cwd=Path.cwd())
