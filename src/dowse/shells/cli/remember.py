"""`dowse remember`"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from dowse.errors import BadInput
from dowse.profiles.core_memories import keep, written_json, written_text
from dowse.shells.cli.options import json_option, root_option, settings_options, workspace_of
from dowse.shells.cli.paths import Paths, with_root
from dowse.shells.cli.search import ready
from dowse.text.memory_facts import TYPES

_STDIN = ("-",)


@click.command("remember")
@click.argument("name")
@click.argument("text", nargs=-1, metavar="[TEXT | -]")
@click.option(
    "--type", "type_", type=click.Choice(TYPES), default=None, help="Type of the new note (default: journal)."
)
@click.option("--tag", "tags", multiple=True, help="Tag of the new note (repeatable).")
@click.option(
    "--anchor", "anchors", multiple=True, metavar="PLACE", help="What a new memory is about; may be repeated."
)
@click.option("--valid-from", default="", metavar="TIME", help="Of a new memory: when it begins to hold.")
@click.option("--valid-until", default="", metavar="TIME", help="Of a new memory: the last day it holds.")
@click.option("--append", is_flag=True, help="Append TEXT to an existing note.")
@click.option("--replace", is_flag=True, help="Replace an existing note's text; keep its front matter.")
@root_option
@json_option
@settings_options(memories="")
def command(
    name: str,
    text: tuple[str, ...],
    type_: str | None,
    tags: tuple[str, ...],
    anchors: tuple[str, ...],
    valid_from: str,
    valid_until: str,
    append: bool,
    replace: bool,
    root: Path | None,
    as_json: bool,
    **flags: Any,  # noqa: ANN401
) -> int:
    """Keep a note as a Markdown file, where searches find it at once.

    \b
    dowse remember auth "Tokens expire after an hour" --tag auth --anchor src/auth.py#Token
    dowse remember auth "Refresh is next: [[src/refresh.py]]" --append
    git log -1 | dowse remember release -

    An anchor is a path, path#Symbol, path:LINE or commit:HASH: when that code changes, the note is marked stale, with
    the commit that changed it. Words next to a [[link]] set the relation (plans, refactors, supersedes, depends on,
    contradicts …). Notes are stored in .memories/ under the root, or with --memories user in the data directory; edit
    them with anything.
    """
    if append and replace:
        raise BadInput("give --append or --replace, not both")
    mode = "append" if append else "replace" if replace else "create"
    content = _stdin() if text == _STDIN else " ".join(text)
    workspace = workspace_of(root, flags)
    with ready(workspace) as engine:
        here = Paths.of(engine, workspace)
        anchors = tuple(map(here.anchor, anchors))
        written = keep(engine, name, content, mode, type_ or "", tags, anchors, valid_from, valid_until)
    data = with_root(written_json(mode, written), here)
    click.echo(json.dumps(data, ensure_ascii=False) if as_json else written_text(mode, written))
    return 0


def _stdin() -> str:
    try:
        return sys.stdin.buffer.read().decode()
    except UnicodeDecodeError:
        raise BadInput("what was read is not UTF-8 text; give text") from None
