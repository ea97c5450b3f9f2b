"""`dowse symbols`"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Literal

import click

from dowse.engine import Engine
from dowse.errors import BadInput
from dowse.lookup.symbols.find import MEASURES
from dowse.lookup.symbols.question import Audit, Body, SymbolAnswer, Wanted
from dowse.profiles.code_json import audit_json, body_text, definition_text, symbols_json
from dowse.profiles.core_asking import make_scope
from dowse.shells.cli.options import exact_limit, json_option, root_option, settings_options, workspace_of
from dowse.shells.cli.paths import Paths, with_root
from dowse.shells.cli.search import ready

_AT = re.compile(r"(?P<path>.+):(?P<line>-?\d{1,9})", re.DOTALL)
_BOUND = re.compile(r"(?P<name>[a-z]+)=(?P<bound>-?\d{1,9})")
_SHOWN_SILENT = 50


@click.command("symbols")
@click.argument("names", nargs=-1, metavar="[NAME …]")
@click.option("--kind", "kinds", multiple=True, help="Only this kind, such as class or method; may be repeated.")
@click.option("--base", default="", metavar="TYPE", help="Only what extends or implements it.")
@click.option("--attribute", default="", metavar="NAME", help="Only what is marked with this attribute or decorator.")
@click.option("--in", "parent", default="", metavar="NAME", help="Only what is defined in something so named.")
@click.option("--modifier", "modifiers", multiple=True, help="Only with this modifier, such as public; repeatable.")
@click.option("--path", "paths", multiple=True, metavar="GLOB", help="Only files matching; may be repeated.")
@click.option("--not-path", "not_paths", multiple=True, metavar="GLOB", help="No files matching; may be repeated.")
@click.option("--regex", is_flag=True, help="NAME is a regex that is searched for in names.")
@click.option("--exact", is_flag=True, help="NAME is the whole name, not a part of it.")
@click.option("--at", metavar="FILE:LINE", help="What holds this line, innermost first.")
@click.option("--body", is_flag=True, help="Also print the lines of each.")
@click.option("--max-lines", type=click.IntRange(min=0), default=100, help="Maximum lines per body (0 = no limit).")
@click.option(
    "--total-lines", type=click.IntRange(min=0), default=500, help="Maximum lines of all bodies (0 = no limit)."
)
@click.option("--stats", is_flag=True, help="Also print complexity metrics.")
@click.option("--sort", "order", type=click.Choice(MEASURES), help="Largest first by this measure.")
@click.option("--min", "bounds", multiple=True, metavar="NAME=N", help="Only with at least this measure; repeatable.")
@click.option("--audit", "as_audit", is_flag=True, help="Which files of known languages have no definition, and why.")
@click.option("--least-bytes", type=click.IntRange(min=0), default=500, help="Of --audit: only files of this size.")
@root_option
@json_option
@settings_options(limit="How many are shown; default: 100.")
def command(
    names: tuple[str, ...],
    kinds: tuple[str, ...],
    base: str,
    attribute: str,
    parent: str,
    modifiers: tuple[str, ...],
    paths: tuple[str, ...],
    not_paths: tuple[str, ...],
    regex: bool,
    exact: bool,
    at: str | None,
    body: bool,
    max_lines: int,
    total_lines: int,
    stats: bool,
    order: str | None,
    bounds: tuple[str, ...],
    as_audit: bool,
    least_bytes: int,
    root: Path | None,
    as_json: bool,
    **flags: Any,  # noqa: ANN401
) -> int:
    """List definitions: classes, functions, fields, tables … Several NAMEs ask for any of them; without one, the other
    options decide. Best names first: exact, then those that begin with NAME, then those that hold it.
    """
    if regex and exact:
        raise BadInput("give --regex or --exact, not both")
    matching: Literal["part", "regex", "exact"] = "regex" if regex else "exact" if exact else "part"
    workspace = workspace_of(root, flags)
    wanted = Wanted(
        names=names,
        matching=matching,
        kinds=kinds,
        attribute=attribute,
        base=base,
        parent=parent,
        modifiers=modifiers,
        scope=make_scope((), paths, (), None, None, not_paths),
        least=dict(map(_bound, bounds)),
        order=order or "",
        limit=exact_limit(workspace.settings, flags),
    )
    with ready(workspace) as engine:
        here = Paths.of(engine, workspace)
        if as_audit:
            return _print_audit(engine.audit(least_bytes), here, as_json)
        found = _at(engine, here, at) if at else engine.symbols(here.asked(wanted), structural=True)
        bodies = engine.bodies(found.definitions, max_lines=max_lines, total_lines=total_lines) if body else []
    if as_json:
        click.echo(json.dumps(with_root(symbols_json(found, bodies), here), ensure_ascii=False))
    else:
        found = here.shown(found)
        click.echo("\n".join(_lines(found, bodies, stats or bool(order) or bool(bounds))))
    return 0 if found.definitions else 1


def _bound(text: str) -> tuple[str, int]:
    bound = _BOUND.fullmatch(text)
    if bound is None:
        raise BadInput(f"--min wants NAME=N, such as cyclomatic=10, not {text!r}; NAME is one of {', '.join(MEASURES)}")
    return bound["name"], int(bound["bound"])


def _at(engine: Engine, here: Paths, text: str) -> SymbolAnswer:
    place = _AT.fullmatch(text)
    if place is None:
        raise BadInput(f"--at wants FILE:LINE, such as src/app.py:12, not {text!r}")
    found = engine.containing(here.target(place["path"]), int(place["line"]))
    return SymbolAnswer(tuple(found), len(found), len(found), 1, len(found))


def _lines(answer: SymbolAnswer, bodies: list[Body], with_stats: bool) -> list[str]:
    lines: list[str] = []
    for place, it in enumerate(answer.definitions):
        lines.append(definition_text(it, with_stats=with_stats))
        if bodies:
            lines += body_text(bodies[place])
    cut = f" (the first {len(answer.definitions):,} are shown; -k shows more)"
    counted = f"{answer.total:,} definition{'' if answer.total == 1 else 's'}"
    return [*lines, f"{counted}{cut if answer.total > len(answer.definitions) else ''}", *answer.seen.sentences()]


def _print_audit(audit: Audit, here: Paths, as_json: bool) -> int:
    if as_json:
        click.echo(json.dumps(with_root(audit_json(audit), here), ensure_ascii=False))
        return 0
    click.echo(
        f"{audit.with_definitions:,} of {audit.files:,} files of known languages have definitions; "
        f"{audit.unreadable:,} could not be read, {audit.lossy:,} only in part (their bytes are not text)"
    )
    for it in here.shown(audit.silent[:_SHOWN_SILENT]):
        click.echo(f"{it.path}  {it.size:,} bytes: {it.reason or 'no reason known'}")
    if len(audit.silent) > _SHOWN_SILENT:
        click.echo(f"… and {len(audit.silent) - _SHOWN_SILENT:,} more; --json lists all")
    return 0
