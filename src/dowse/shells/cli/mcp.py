"""`dowse mcp`"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from dowse.shells.cli.options import roots_option, settings_options
from dowse.shells.sharing.place import Unshared
from dowse.shells.sharing.start import Start
from dowse.shells.workspace import PROFILES


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
    cwd = Path.cwd()
    start = Start.of(profile, roots=roots, flags=flags, environment=os.environ, cwd=cwd)
    if start.workspace.notice:
        click.echo(start.workspace.notice, err=True)
    if start.workspace.settings.share:
        try:
            return _pipe(start)
        except Unshared as error:
            click.echo(f"dowse: not shared, this process serves by itself: {error}", err=True)
    from dowse.shells.serving import serve

    serve(profile, roots=roots, flags=flags, environment=os.environ, cwd=cwd)
    return 0


def _pipe(start: Start) -> int:
    """Many of these may run: nothing is imported that only a server needs."""
    from dowse.shells.sharing.proxy import Proxy

    reach = start.reach()
    return Proxy(reach.welcomed(), reach.welcomed).run()
