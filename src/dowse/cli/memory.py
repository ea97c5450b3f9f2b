"""The commands `remember`, `memories` and `forget`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from dowse.cli.options import (
    PathDisplay,
    exact_result_limit,
    json_option,
    json_with_root,
    root_option,
    settings_options,
    workspace_of,
)
from dowse.cli.search import open_ready_engine
from dowse.errors import BadInput
from dowse.text.memory_notes import MEMORY_TYPES
from dowse.tools.core import (
    memories_scope,
    memory_caveats,
    memory_json,
    memory_lines,
    write_memory,
    written_json,
    written_text,
)

_STDIN = ("-",)


@click.command("remember")
@click.argument("name")
@click.argument("text", nargs=-1, metavar="[TEXT | -]")
@click.option(
    "--type", "type_", type=click.Choice(MEMORY_TYPES), default=None, help="Type of the new note (default: journal)."
)
@click.option("--tag", "tags", multiple=True, help="Tag of the new note (repeatable).")
@click.option(
    "--anchor", "anchors", multiple=True, metavar="PLACE", help="Code that the new note is about (repeatable)."
)
@click.option("--valid-from", default="", metavar="TIME", help="When the new note becomes valid.")
@click.option("--valid-until", default="", metavar="TIME", help="Last day on which the new note is valid.")
@click.option("--append", is_flag=True, help="Append TEXT to an existing note.")
@click.option("--replace", is_flag=True, help="Replace an existing note's text; keep its front matter.")
@root_option
@json_option
@settings_options(memory_location="")
def remember_command(
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
    """Save a note as a Markdown file; searches find it at once.

    \b
    dowse remember auth "Tokens expire after an hour" --tag auth --anchor src/auth.py#Token
    dowse remember auth "Refresh is next: [[src/refresh.py]]" --append
    git log -1 | dowse remember release -

    An anchor is a path, path#Symbol, path:LINE or commit:HASH: when that code changes, the note is marked stale, with
    the commit that changed it. Words next to a [[link]] set the relation (plans, refactors, supersedes, depends on,
    contradicts …). Notes are stored in .memories/ under the root, or with --memory-location user in the data directory;
    edit them with anything.
    """
    if append and replace:
        raise BadInput("pass --append or --replace, not both")
    mode = "append" if append else "replace" if replace else "create"
    content = _read_stdin() if text == _STDIN else " ".join(text)
    workspace = workspace_of(root, flags)
    with open_ready_engine(workspace) as engine:
        display = PathDisplay.of(engine.collections(), workspace)
        anchors = tuple(map(display.anchor, anchors))
        written = write_memory(engine, name, content, mode, type_ or "", tags, anchors, valid_from, valid_until)
    data = json_with_root(written_json(mode, written), display)
    click.echo(json.dumps(data, ensure_ascii=False) if as_json else written_text(mode, written))
    return 0


def _read_stdin() -> str:
    try:
        return sys.stdin.buffer.read().decode()
    except UnicodeDecodeError:
        raise BadInput("stdin is not UTF-8 text; pipe text into it") from None


# --------------------------------------------------------------------------------------------------
# `dowse forget`


@click.command("forget")
@click.argument("name")
@root_option
@json_option
@settings_options()
def forget_command(name: str, root: Path | None, as_json: bool, **flags: Any) -> int:  # noqa: ANN401
    """Move a note to the trash: its file goes to .trash next to the other notes, and searches no longer find it.

    \b
    dowse forget auth
    """
    workspace = workspace_of(root, flags)
    with open_ready_engine(workspace) as engine:
        written = engine.memory.forget(name)
        data = json_with_root(written_json("forget", written), PathDisplay.of(engine.collections(), workspace))
    click.echo(json.dumps(data, ensure_ascii=False) if as_json else written_text("forget", written))
    return 0


# --------------------------------------------------------------------------------------------------
# `dowse memories`


@click.command("memories")
@click.option("--stale", "only_stale", is_flag=True, help="Only notes whose anchors have changed or are gone.")
@click.option("--type", "type_", type=click.Choice(MEMORY_TYPES), help="Only notes of this type.")
@click.option("--tag", "tags", multiple=True, help="Only notes with this tag (repeatable; any of them).")
@root_option
@json_option
@settings_options(limit="Maximum notes (default: 100).")
def memories_command(
    only_stale: bool,
    type_: str | None,
    tags: tuple[str, ...],
    root: Path | None,
    as_json: bool,
    **flags: Any,  # noqa: ANN401
) -> int:
    """List notes, newest first, with type, age, tags, and whether the code they are about has changed.

    \b
    dowse memories           all notes
    dowse memories --stale   notes to review; `dowse remember NAME … --replace` updates one
    dowse read notes.md      print one note
    """
    workspace = workspace_of(root, flags)
    with open_ready_engine(workspace) as engine:
        listed = engine.memory.select(memories_scope((type_,) if type_ else (), tags))
        checked = zip(
            listed.records,
            engine.memory.validities(listed.records),
            map(engine.memory.staleness, listed.records),
            strict=True,
        )
        found = [it for it in checked if it[2] or not only_stale]
        shown = found[: exact_result_limit(workspace.settings, flags)]
        display = PathDisplay.of(engine.collections(), workspace)
        data, now = [memory_json(engine, *it) for it in shown], engine.clock.now()
    notes = listed.disk_freshness.sentences()
    if as_json:
        answer = json_with_root({"count": len(found), "memories": data, "notes": notes}, display)
        click.echo(json.dumps(answer, ensure_ascii=False))
        return 0 if found else 1
    lines = [line for it in shown for line in memory_lines(it[0], memory_caveats(*it), now)]
    counted = f"{len(found):,} memor{'y' if len(found) == 1 else 'ies'}"
    cut = f" (showing the first {len(shown):,}; -k shows more)" if len(shown) < len(found) else ""
    click.echo("\n".join([*lines, f"{counted}{cut}", *notes]))
    return 0 if found else 1
