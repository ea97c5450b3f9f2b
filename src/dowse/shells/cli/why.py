"""`dowse why`"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from dowse.lookup.why.question import DEFAULT_BUDGET, LEAST_BUDGET, MOST_BUDGET, Source, WhyAnswer
from dowse.profiles.why_shapes import why_json, why_text
from dowse.shells.cli.options import json_option, root_option, settings_options, workspace_of
from dowse.shells.cli.paths import Paths, with_root
from dowse.shells.cli.search import ready
from dowse.shells.cli.streams import screen_size, style, wrap_line

_INDENT = 4
_LEAST_SOURCE_LINES = 5


@click.command("why")
@click.argument("target", metavar="FILE:LINE|FILE|SYMBOL")
@click.option(
    "--budget",
    type=click.IntRange(LEAST_BUDGET, MOST_BUDGET),
    default=DEFAULT_BUDGET,
    show_default=True,
    metavar="TOKENS",
    help="About how long the answer may be.",
)
@click.option("--collection", help="Which root, where several in the index have this path or name.")
@root_option
@json_option
@settings_options()
def command(
    target: str,
    budget: int,
    collection: str | None,
    root: Path | None,
    as_json: bool,
    **flags: Any,  # noqa: ANN401
) -> int:
    """Why something is as it is: its definition, who calls it, the commits that shaped it, what is written of it.

    \b
    dowse why src/repo.py:12            the definition around a line
    dowse why Repo.save                 a symbol; with its class, or file, if there are several
    dowse why src/repo.py#Repo.save     the one in this file
    dowse why src/repo.py               a whole file

    Exit code 0: here is what is known; 1: nothing is called that, or several things are (they are listed).
    """
    workspace = workspace_of(root, flags)
    with ready(workspace) as engine:
        here = Paths.of(engine, workspace)
        answer = engine.why(here.target(target), budget, collection)
        completeness = engine.completeness(answer.seen)
        if as_json:
            click.echo(json.dumps(with_root(why_json(answer, completeness), here), ensure_ascii=False))
        else:
            click.echo(_on_screen(here.shown(answer)))
    return 0 if answer.subject else 1


def _on_screen(answer: WhyAnswer) -> str:
    """The text of the answer; on a terminal with a third of the screen for the source, which is at hand elsewhere."""
    size = screen_size()
    if size is None:
        return why_text(answer)
    named = answer.subject.line if answer.subject else 0
    source = _shorten(answer.source, max(size.lines // 3, _LEAST_SOURCE_LINES), named)
    numbered = len(source.lines)
    titles = {it.name for it in answer.sections}
    lines = []
    for at, line in enumerate(why_text(replace(answer, source=source)).split("\n")):
        if answer.subject is not None and at == 0:
            lines.append(style(line, fg="magenta", bold=True))
        elif line.partition(" (")[0] in titles:
            lines.append(style(line, bold=True))
        else:
            lines.append(line if at <= numbered else wrap_line(line, _INDENT))
    return "\n".join(lines)


def _shorten(source: Source, most: int, named: int) -> Source:
    """Its first lines, or those around the line that was named."""
    if len(source.lines) <= most:
        return source
    last = len(source.lines) - most
    start = min(max(named - source.start_line - most // 2, 0), last) if named else 0
    shown = source.lines[start : start + most]
    return Source(source.start_line + start, shown, source.left_out + len(source.lines) - most)
