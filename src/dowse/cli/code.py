"""The commands `symbols`, `calls`, `impact`, `why` and `related`."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import click

from dowse.callgraph.facts import CallQuery, Confidence
from dowse.callgraph.graph import Impact
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
from dowse.cli.terminal import screen_size, style, wrap_line
from dowse.engine import Engine
from dowse.errors import BadInput
from dowse.lookup.related import DEFAULT_RELATED_LIMIT
from dowse.lookup.symbols import SYMBOL_METRICS, DefinitionBody, SymbolAnswer, SymbolAudit
from dowse.lookup.why_target import DEFAULT_WHY_TOKENS, MAX_WHY_TOKENS, MIN_WHY_TOKENS, SourceExcerpt, WhyAnswer
from dowse.server.workspace import Workspace
from dowse.store.types import SymbolQuery
from dowse.tools.core_query import make_scope
from dowse.tools.render import audit_json, body_text, definition_text, symbols_json
from dowse.tools.render_calls import (
    MAX_COUNTED_CALLERS,
    impact_json,
    impact_text,
    related_json,
    related_text,
    tree_json,
    tree_text,
    why_json,
    why_text,
)

_FILE_LINE_PATTERN = re.compile(r"(?P<path>.+):(?P<line>-?\d{1,9})", re.DOTALL)
_METRIC_BOUND_PATTERN = re.compile(r"(?P<name>[a-z]+)=(?P<bound>-?\d{1,9})")
_MAX_AUDIT_FILES = 50


@click.command("symbols")
@click.argument("names", nargs=-1, metavar="[NAME …]")
@click.option("--kind", "kinds", multiple=True, help="Only this kind, such as class or method (repeatable).")
@click.option("--base", default="", metavar="TYPE", help="Only types that extend or implement TYPE.")
@click.option("--attribute", default="", metavar="NAME", help="Only definitions with this attribute or decorator.")
@click.option("--in", "parent", default="", metavar="NAME", help="Only definitions inside NAME.")
@click.option("--modifier", "modifiers", multiple=True, help="Only with this modifier, such as public (repeatable).")
@click.option("--path", "paths", multiple=True, metavar="GLOB", help="Only files matching GLOB (repeatable).")
@click.option(
    "--not-path", "not_paths", multiple=True, metavar="GLOB", help="Exclude files matching GLOB (repeatable)."
)
@click.option("--regex", is_flag=True, help="NAME is a regex searched for in names.")
@click.option("--exact", is_flag=True, help="NAME is the whole name, not part of it.")
@click.option("--at", metavar="FILE:LINE", help="Definitions that contain this line, innermost first.")
@click.option("--body", is_flag=True, help="Also print the source of each.")
@click.option("--max-lines", type=click.IntRange(min=0), default=100, help="Maximum lines per body (0 = no limit).")
@click.option(
    "--total-lines", type=click.IntRange(min=0), default=500, help="Maximum lines of all bodies (0 = no limit)."
)
@click.option("--stats", is_flag=True, help="Also print complexity metrics.")
@click.option("--sort", "order", type=click.Choice(SYMBOL_METRICS), help="Sort by this metric, largest first.")
@click.option("--min", "bounds", multiple=True, metavar="NAME=N", help="Minimum value of a metric (repeatable).")
@click.option("--audit", "as_audit", is_flag=True, help="List files of known languages without definitions, and why.")
@click.option("--min-bytes", type=click.IntRange(min=0), default=500, help="With --audit: minimum file size.")
@root_option
@json_option
@settings_options(limit="Maximum definitions (default: 100).")
def symbols_command(
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
    min_bytes: int,
    root: Path | None,
    as_json: bool,
    **flags: Any,  # noqa: ANN401
) -> int:
    """List definitions: classes, functions, fields, tables … Several NAMEs match any of them; without NAME, the other
    options decide. Exact names come first, then names that start with NAME, then names that contain it.
    """
    if regex and exact:
        raise BadInput("pass --regex or --exact, not both")
    matching: Literal["part", "regex", "exact"] = "regex" if regex else "exact" if exact else "part"
    workspace = workspace_of(root, flags)
    query = SymbolQuery(
        names=names,
        matching=matching,
        kinds=kinds,
        attribute=attribute,
        base=base,
        parent=parent,
        modifiers=modifiers,
        scope=make_scope((), paths, (), None, None, not_paths),
        min_metrics=dict(map(_parse_metric_bound, bounds)),
        order=order or "",
        limit=exact_result_limit(workspace.settings, flags),
    )
    with open_ready_engine(workspace) as engine:
        display = PathDisplay.of(engine.collections(), workspace)
        if as_audit:
            return _print_audit(engine.code.audit(min_bytes), display, as_json)
        answer = (
            _find_at_line(engine, display, at) if at else engine.symbols(display.from_input(query), structural=True)
        )
        bodies = engine.code.bodies(answer.definitions, max_lines=max_lines, total_lines=total_lines) if body else []
    if as_json:
        click.echo(json.dumps(json_with_root(symbols_json(answer, bodies), display), ensure_ascii=False))
    else:
        answer = display.to_display(answer)
        click.echo("\n".join(_symbol_lines(answer, bodies, stats or bool(order) or bool(bounds))))
    return 0 if answer.definitions else 1


def _parse_metric_bound(text: str) -> tuple[str, int]:
    bound = _METRIC_BOUND_PATTERN.fullmatch(text)
    if bound is None:
        raise BadInput(
            f"--min needs NAME=N, such as cyclomatic=10, not {text!r}; NAME is one of {', '.join(SYMBOL_METRICS)}"
        )
    return bound["name"], int(bound["bound"])


def _find_at_line(engine: Engine, display: PathDisplay, text: str) -> SymbolAnswer:
    location = _FILE_LINE_PATTERN.fullmatch(text)
    if location is None:
        raise BadInput(f"--at needs FILE:LINE, such as src/app.py:12, not {text!r}")
    definitions = engine.code.definitions_at(display.target(location["path"]), int(location["line"]))
    return SymbolAnswer(tuple(definitions), len(definitions), len(definitions), 1, len(definitions))


def _symbol_lines(answer: SymbolAnswer, bodies: list[DefinitionBody], with_stats: bool) -> list[str]:
    lines: list[str] = []
    for position, definition in enumerate(answer.definitions):
        lines.append(definition_text(definition, with_stats=with_stats))
        if bodies:
            lines += body_text(bodies[position])
    cut = f" (showing the first {len(answer.definitions):,}; -k shows more)"
    counted = f"{answer.total:,} definition{'' if answer.total == 1 else 's'}"
    return [
        *lines,
        f"{counted}{cut if answer.total > len(answer.definitions) else ''}",
        *answer.disk_freshness.sentences(),
    ]


def _print_audit(audit: SymbolAudit, display: PathDisplay, as_json: bool) -> int:
    if as_json:
        click.echo(json.dumps(json_with_root(audit_json(audit), display), ensure_ascii=False))
        return 0
    click.echo(
        f"{audit.with_definitions:,} of {audit.files:,} files of known languages have definitions; "
        f"{audit.unreadable:,} could not be read, {audit.lossy:,} only in part (invalid text)"
    )
    for file in display.to_display(audit.files_without_definitions[:_MAX_AUDIT_FILES]):
        click.echo(f"{file.path}  {file.size:,} bytes: {file.reason or 'unknown reason'}")
    if len(audit.files_without_definitions) > _MAX_AUDIT_FILES:
        click.echo(f"… and {len(audit.files_without_definitions) - _MAX_AUDIT_FILES:,} more; --json lists all")
    return 0


# --------------------------------------------------------------------------------------------------
# `dowse calls`

_CALL_SITE_PATTERN = re.compile(r"(?P<path>.+):(?P<line>\d{1,9})", re.DOTALL)
confidence_option = click.option(
    "--confidence",
    type=click.Choice(["exact", "virtual", "possible"]),
    default="virtual",
    show_default=True,
    help="Minimum confidence: exact; virtual (may dispatch through a base); possible (name match only).",
)
width_option = click.option(
    "--width", type=click.IntRange(0), default=10, show_default=True, help="Maximum branches per node (0 = no limit)."
)
nodes_option = click.option(
    "--nodes", type=click.IntRange(0), default=200, show_default=True, help="Maximum nodes in all (0 = no limit)."
)
paths_option = click.option(
    "--path", "paths", multiple=True, metavar="GLOB", help="Only files matching GLOB (repeatable)."
)
not_paths_option = click.option(
    "--not-path", "not_paths", multiple=True, metavar="GLOB", help="Exclude files matching GLOB (repeatable)."
)


@click.command("calls")
@click.argument("name", metavar="NAME|CLASS.NAME|PATH:LINE")
@click.option("--in", "owner", default="", metavar="CLASS", help="Class or file that defines it.")
@click.option("--down", is_flag=True, help="Show callees instead of callers.")
@click.option("--depth", type=click.IntRange(1), default=3, show_default=True, help="Levels to follow (maximum 10).")
@width_option
@nodes_option
@confidence_option
@paths_option
@not_paths_option
@click.option("--unresolved", is_flag=True, help="Also list unresolved calls.")
@root_option
@json_option
@settings_options()
def calls_command(
    name: str,
    owner: str,
    down: bool,
    depth: int,
    width: int,
    nodes: int,
    confidence: Confidence,
    paths: tuple[str, ...],
    not_paths: tuple[str, ...],
    unresolved: bool,
    root: Path | None,
    as_json: bool,
    **flags: Any,  # noqa: ANN401
) -> int:
    """Show the callers of a function, level by level; with --down, its callees.

    For a class, callers of its constructor are listed. Exit code 0: NAME is defined here; 1: it is not.
    """
    direction: Literal["up", "down"] = "down" if down else "up"
    location = _CALL_SITE_PATTERN.fullmatch(name)
    if location is None and not owner and "." in name.strip("."):
        owner, _, name = name.rpartition(".")
    query = CallQuery(
        "" if location else name,
        owner,
        direction,
        depth,
        width,
        nodes,
        confidence,
        scope=make_scope((), paths, (), None, None, not_paths),
        count_beyond_width=MAX_COUNTED_CALLERS,
    )
    workspace = workspace_of(root, flags)
    with open_ready_engine(workspace) as engine:
        display = PathDisplay.of(engine.collections(), workspace)
        if location is not None:
            query = replace(query, at=(display.target(location["path"]), int(location["line"])))
        tree = engine.calls(display.from_input(query))
        if as_json:
            click.echo(json.dumps(json_with_root(tree_json(tree), display), ensure_ascii=False))
        elif tree.roots:
            tree = display.to_display(tree)
            click.echo("\n".join((tree_text(tree, with_unresolved=unresolved), *tree.disk_freshness.sentences())))
        else:
            click.echo(f"no function or class named {name!r}; {engine.completeness(tree.disk_freshness).sentence(0)}")
    return 0 if tree.roots else 1


# --------------------------------------------------------------------------------------------------
# `dowse impact`


@click.command("impact")
@click.option("--depth", type=click.IntRange(1), default=2, show_default=True, help="Levels of callers (maximum 10).")
@width_option
@nodes_option
@confidence_option
@paths_option
@not_paths_option
@root_option
@json_option
@settings_options()
def impact_command(
    depth: int,
    width: int,
    nodes: int,
    confidence: Confidence,
    paths: tuple[str, ...],
    not_paths: tuple[str, ...],
    root: Path | None,
    as_json: bool,
    **flags: Any,  # noqa: ANN401
) -> int:
    """Show which definitions the uncommitted changes touch, and their callers.

    In a repository below the indexed directory, only changes of that repository count. Line numbers are those of the
    current files, which are reindexed first if they have changed. Exit code 1: no changes.
    """
    workspace = workspace_of(root, flags)
    query = CallQuery(
        "any",
        depth=depth,
        width=width,
        nodes=nodes,
        confidence=confidence,
        scope=make_scope((), paths, (), None, None, not_paths),
    )
    with open_ready_engine(workspace) as engine:
        display = PathDisplay.of(engine.collections(), workspace)
        impact = _work_tree_impact(
            engine, workspace, display.from_input(query), Path.cwd() if root is None else workspace.root
        )
    if as_json:
        click.echo(json.dumps(json_with_root(impact_json(impact), display), ensure_ascii=False))
    else:
        impact = display.to_display(impact)
        text = impact_text(impact) or "no changes since the last commit"
        click.echo("\n".join((text, *impact.disk_freshness.sentences())))
    return 0 if impact.touched or impact.files_without_definitions or impact.files_not_indexed else 1


def _work_tree_impact(engine: Engine, workspace: Workspace, query: CallQuery, folder: Path) -> Impact:
    roots = [it for it in engine.collections() if workspace.root.is_relative_to(it.root)]
    if not roots:
        raise BadInput(f"{workspace.root} is not indexed; run `dowse index` first")
    collection = max(roots, key=lambda it: len(it.root))
    changes = engine.code.uncommitted_lines(collection, folder)
    if changes.problem:
        raise BadInput(f"{changes.problem}; `dowse impact` needs a git work tree with a commit")
    return engine.impact(changes.lines, query, collection.name)


# --------------------------------------------------------------------------------------------------
# `dowse why`

_WHY_INDENT = 4
_MIN_SOURCE_LINES = 5


@click.command("why")
@click.argument("target", metavar="FILE:LINE|FILE|SYMBOL")
@click.option(
    "--budget",
    type=click.IntRange(MIN_WHY_TOKENS, MAX_WHY_TOKENS),
    default=DEFAULT_WHY_TOKENS,
    show_default=True,
    metavar="TOKENS",
    help="Approximate limit on the length of the answer.",
)
@click.option("--collection", help="Root to look in, if several contain this path or name.")
@root_option
@json_option
@settings_options()
def why_command(
    target: str,
    budget: int,
    collection: str | None,
    root: Path | None,
    as_json: bool,
    **flags: Any,  # noqa: ANN401
) -> int:
    """Explain a line, symbol or file: definition, callers, commits that shaped it, documents and notes about it.

    \b
    dowse why src/repo.py:12            the definition around a line
    dowse why Repo.save                 a symbol; add its class or file if there are several
    dowse why src/repo.py#Repo.save     the one in this file
    dowse why src/repo.py               a whole file

    Exit code 0: found; 1: no match, or several (they are listed).
    """
    workspace = workspace_of(root, flags)
    with open_ready_engine(workspace) as engine:
        display = PathDisplay.of(engine.collections(), workspace)
        answer = engine.why(display.target(target), budget, collection)
        completeness = engine.completeness(answer.disk_freshness)
        if as_json:
            click.echo(json.dumps(json_with_root(why_json(answer, completeness), display), ensure_ascii=False))
        else:
            click.echo(_format_why(display.to_display(answer)))
    return 0 if answer.subject else 1


def _format_why(answer: WhyAnswer) -> str:
    """Format the answer; on a terminal, the source gets a third of the screen, because the user has it elsewhere."""
    size = screen_size()
    if size is None:
        return why_text(answer)
    named_line = answer.subject.line if answer.subject else 0
    source = _shorten_source(answer.source, max(size.lines // 3, _MIN_SOURCE_LINES), named_line)
    numbered = len(source.lines)
    titles = {it.name for it in answer.sections}
    lines = []
    for at, line in enumerate(why_text(replace(answer, source=source)).split("\n")):
        if answer.subject is not None and at == 0:
            lines.append(style(line, fg="magenta", bold=True))
        elif line.partition(" (")[0] in titles:
            lines.append(style(line, bold=True))
        else:
            lines.append(line if at <= numbered else wrap_line(line, _WHY_INDENT))
    return "\n".join(lines)


def _shorten_source(source: SourceExcerpt, max_lines: int, named_line: int) -> SourceExcerpt:
    """Return the first lines, or those around the line that was named."""
    if len(source.lines) <= max_lines:
        return source
    last = len(source.lines) - max_lines
    start = min(max(named_line - source.start_line - max_lines // 2, 0), last) if named_line else 0
    shown = source.lines[start : start + max_lines]
    return SourceExcerpt(source.start_line + start, shown, source.left_out + len(source.lines) - max_lines)


# --------------------------------------------------------------------------------------------------
# `dowse related`


@click.command("related")
@click.argument("thing", metavar="FILE|SYMBOL|COMMIT|MEMORY|CHUNK_ID")
@click.option("--kind", "kinds", multiple=True, metavar="LINK", help="Only this kind of link (repeatable).")
@click.option("--collection", help="Root to look in, if several contain this path or name.")
@root_option
@json_option
@settings_options(limit="Maximum items per kind of link (default: 5).")
def related_command(
    thing: str,
    kinds: tuple[str, ...],
    collection: str | None,
    root: Path | None,
    as_json: bool,
    **flags: Any,  # noqa: ANN401
) -> int:
    """List items linked to a file, symbol, commit or note, in both directions.

    \b
    dowse related src/repo.py              imports, links, files that change with it
    dowse related Repo.save --kind calls   callers and callees
    dowse related 1a2b3c4                  files that a commit touched, notes on it
    dowse related memory:why-we-retry      items linked from and to a note

    Exit code 0: linked items found; 1: none, or the name is unknown or ambiguous.
    """
    workspace = workspace_of(root, flags)
    limit = DEFAULT_RELATED_LIMIT if flags.get("limit") is None else workspace.settings.limit
    with open_ready_engine(workspace) as engine:
        display = PathDisplay.of(engine.collections(), workspace)
        answer = engine.related(display.target(thing), kinds, limit, collection)
        completeness = engine.completeness(answer.disk_freshness)
        if as_json:
            click.echo(json.dumps(json_with_root(related_json(answer, completeness), display), ensure_ascii=False))
        else:
            click.echo(related_text(display.to_display(answer), completeness))
    return 0 if answer.groups else 1
