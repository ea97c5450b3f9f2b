"""The command `search`."""

from __future__ import annotations

import json
import re
import sys
import textwrap
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import click

from dowse.cli.options import PathDisplay, json_option, json_with_root, roots_option, settings_options, workspace_of
from dowse.cli.terminal import escape, highlight, screen_size, style, wrap_line
from dowse.engine import Engine
from dowse.errors import BadInput, IndexBusy, NotIndexed
from dowse.model import BREADCRUMB_SEPARATOR, Answer, Chunk, Hit, Query
from dowse.search.best_lines import LineSelector, QueryWords, compile_match_pattern, parse_query_words
from dowse.search.plan import check_recipe
from dowse.server.relocation import BroadRootGuard
from dowse.server.workspace import Workspace
from dowse.tools.core_query import default_kinds, make_scope, whole_file_recipe
from dowse.tools.core_render import answer_json, evidence_text, hit_location_text, notable_step_notes

# --------------------------------------------------------------------------------------------------
# Search hits formatted for people: the best first, each with the lines that match the query.
#
# A pipe gets whole lines. On a terminal they are cut or wrapped, so that each hit takes a few rows.

DEFAULT_HIT_LINES = 3
_HIT_INDENT = "   "
_TAB_COLUMNS = 4
_WRAP_INDENT = 2
_MIN_TEXT_COLUMNS = 20  # minimum for text, however narrow the terminal is
_UNLIMITED_CHARS = 1 << 30
_HEADING = re.compile(r"#{1,6}\s+(?P<name>.+?)[\s#]*")


class HitLayout(NamedTuple):
    """Layout of hits. `lines`: per hit, 0 for whole passages. `columns`: width of the terminal, None if stdout is not
    one."""

    lines: int = DEFAULT_HIT_LINES
    columns: int | None = None
    explain: bool = False


def format_answer(answer: Answer, layout: HitLayout, hint: str = "") -> str:
    """Format every hit, then notes about the search, then how complete the answer is.

    The `hint` follows at the end if the line has room for it.
    """
    words = parse_query_words(f"{answer.query.text} {answer.query.hypothesis}")
    lines = [line for rank, hit in enumerate(answer.hits, 1) for line in _hit_lines(rank, hit, answer, words, layout)]
    lines += [""] if lines else []
    if layout.explain:
        lines += [_step_line(it.label, it.before, it.after, it.ms, it.note) for it in answer.steps]
    else:
        lines += [wrap_line(note, _WRAP_INDENT) for note in notable_step_notes(answer)]
    if answer.abstained:
        lines.append(wrap_line(answer.abstained, _WRAP_INDENT))
    sentence = answer.completeness.sentence(len(answer.hits))
    fits = layout.columns is not None and _display_width(sentence + hint) <= layout.columns
    return "\n".join([*lines, f"{sentence}{style(hint, dim=True)}" if fits else wrap_line(sentence, _WRAP_INDENT)])


def _hit_lines(rank: int, hit: Hit, answer: Answer, words: QueryWords, layout: HitLayout) -> Iterator[str]:
    yield _title_line(rank, hit, answer, layout.columns)
    if layout.explain:
        yield f"{_HIT_INDENT}{hit.stored.chunk_id}  score {hit.score:.4g}: {evidence_text(hit.evidence)}"
    yield from (style(f"{_HIT_INDENT}{note}", fg="yellow") for note in hit.notes)
    excerpt = _excerpt_rows(hit, words, layout)
    width = max((len(row.number) for row in excerpt), default=0)
    pattern = compile_match_pattern(words)
    for row in excerpt:
        number = style(f"{row.number:>{width}}", fg="green") + " " if width else ""
        spans = [match.span() for match in pattern.finditer(row.text)] if pattern else ()
        yield f"{_HIT_INDENT}{number}{highlight(row.text, spans)}".rstrip()


def _title_line(rank: int, hit: Hit, answer: Answer, columns: int | None) -> str:
    place, trail = escape(hit_location_text(hit, answer)), escape(BREADCRUMB_SEPARATOR.join(hit.stored.chunk.trail))
    stale = "" if hit.freshness in ("fresh", "unknown") else f" [{hit.freshness}]"
    if columns is not None:
        room = columns - len(f"{rank}. {stale}")
        place = _clip(place, max(room, _MIN_TEXT_COLUMNS))
        trail = _clip(trail[::-1], room - _display_width(place) - 2)[::-1]  # keep the end, the most specific part
    shown = style(place, fg="magenta", bold=True)
    return f"{rank}. {shown}{f'  {trail}' if trail else ''}{style(stale, fg='yellow') if stale else ''}"


class _ExcerptRow(NamedTuple):
    """A row on the screen, or a line in a pipe; `number` is empty on a continuation row."""

    number: str
    text: str


def _excerpt_rows(hit: Hit, words: QueryWords, layout: HitLayout) -> list[_ExcerptRow]:
    chunk, kind = hit.stored.chunk, hit.stored.record.kind
    lines = _informative_lines(chunk, kind) if layout.lines else list(enumerate(chunk.text.strip("\n").split("\n")))
    numbers = ["" if kind == "commit" else str(chunk.start_line + at) for at, _ in lines]
    choice = LineSelector("\n".join(text for _, text in lines), words)
    if layout.columns is None or not layout.lines:
        best = choice.best(layout.lines or len(lines), _UNLIMITED_CHARS)
        return [_ExcerptRow(numbers[best.start + at], text) for at, text in enumerate(best.lines)]
    indent = len(_HIT_INDENT) + max(map(len, numbers)) + (kind != "commit")
    room = max(layout.columns - indent, _MIN_TEXT_COLUMNS)
    if kind == "code":
        return _clipped_rows(choice, numbers, layout.lines, room)
    return _wrapped_rows(choice, [text for _, text in lines], numbers, layout.lines, room)


def _informative_lines(chunk: Chunk, kind: str) -> list[tuple[int, str]]:
    """Return the lines with their offsets, without blank lines and headings that the title of the hit already names."""
    offset = len(chunk.text) - len(chunk.text.lstrip("\n"))
    lines = [(at, line) for at, line in enumerate(chunk.text.strip("\n").split("\n"), offset) if line.strip()]
    if kind == "code":
        return lines or [(0, "")]
    names = {name.strip() for name in chunk.trail}
    telling = [it for it in lines if not ((found := _HEADING.fullmatch(it[1])) and found["name"] in names)]
    return telling or lines or [(0, "")]


def _clipped_rows(choice: LineSelector, numbers: list[str], max_rows: int, room: int) -> list[_ExcerptRow]:
    """Give each line one row, because code is read by its shape."""
    best = choice.best(max_rows, _UNLIMITED_CHARS)
    shown = textwrap.dedent("\n".join(map(_printable, best.lines))).split("\n")
    return [_ExcerptRow(numbers[best.start + at], _clip(text, room)) for at, text in enumerate(shown)]


def _wrapped_rows(
    choice: LineSelector, lines: list[str], numbers: list[str], max_rows: int, room: int
) -> list[_ExcerptRow]:
    """Wrap as many of the best lines of prose as fit; clip the last row where the text continues."""
    for count in range(max_rows, 0, -1):
        best = choice.best(count, max_rows * room)
        rows = [row for at, line in enumerate(best.lines) for row in _wrap_rows(line, numbers[best.start + at], room)]
        if len(rows) <= max_rows:
            break
    end = best.start + len(best.lines)
    while len(rows) < max_rows and end < len(lines):
        rows += _wrap_rows(lines[end], numbers[end], room)
        end += 1
    if len(rows) <= max_rows:
        return rows
    last = rows[max_rows - 1]
    return [*rows[: max_rows - 1], _ExcerptRow(last.number, _clip(f"{last.text} …", room))]


def _wrap_rows(line: str, number: str, width: int) -> list[_ExcerptRow]:
    return [_ExcerptRow("" if part else number, text) for part, text in enumerate(_wrap(_printable(line), width))]


def _printable(line: str) -> str:
    return escape(line).expandtabs(_TAB_COLUMNS)


def _wrap(line: str, width: int) -> list[str]:
    indent = " " * min(len(line) - len(line.lstrip()), width // 2)
    wrapped = textwrap.wrap(line.strip(), width - len(indent), break_on_hyphens=False)
    # textwrap counts a double-width character as one column, so rows that are too wide are cut in two.
    return [f"{indent}{part}" for row in wrapped for part in _split_wide_row(row, width - len(indent))] or [""]


def _split_wide_row(row: str, width: int) -> list[str]:
    return [row] if _display_width(row) <= width else [row[: len(row) // 2], row[len(row) // 2 :]]


def _clip(text: str, width: int) -> str:
    """Return the start of the text, with an ellipsis if it does not fit; empty if there is hardly any room."""
    if _display_width(text) <= width:
        return text
    if width < 2:
        return ""
    while _display_width(text) > width - 1:
        text = text[: max(len(text) - max((_display_width(text) - width + 1) // 2, 1), 0)]
    return f"{text.rstrip()}…"


def _display_width(text: str) -> int:
    """Return how many columns the text takes on a terminal."""
    return len(text) if text.isascii() else len(text) + sum(map(_extra_width, text))


def _extra_width(letter: str) -> int:
    return -1 if unicodedata.combining(letter) else int(unicodedata.east_asian_width(letter) in "WF")


def _step_line(name: str, before: int, after: int, ms: float, note: str) -> str:
    return f"{name:>16}  {before:>5} → {after:<5} {ms:8.2f} ms{f'  {note}' if note else ''}"


_DEFAULT_HITS = 5  # for text, so that an answer fits on 24 lines; JSON uses the setting
FIRST_HISTORY_SECONDS = 3.0  # for histories before the first answer; `dowse index` and servers read the rest


@click.command("search")
@click.argument("query", nargs=-1, required=True)
@click.option(
    "--mode",
    type=click.Choice(["hybrid", "lexical", "semantic"]),
    help="Search by words, meaning, or both (default: chosen by the query).",
)
@click.option("--recipe", help="Recipe by name; --mode covers the common ones.")
@click.option(
    "--kind",
    "kinds",
    multiple=True,
    type=click.Choice(["doc", "code", "commit", "memory"]),
    help="Only this kind (repeatable).",
)
@click.option(
    "--path",
    "paths",
    multiple=True,
    metavar="GLOB",
    help="Only files matching GLOB, or commits that touch them (repeatable).",
)
@click.option(
    "--not-path", "not_paths", multiple=True, metavar="GLOB", help="Exclude files matching GLOB (repeatable)."
)
@click.option("--tag", "tags", multiple=True, help="Only documents and notes with this tag (repeatable).")
@click.option(
    "--author",
    "authors",
    multiple=True,
    metavar="PART",
    help="Only commits by this author: part of the name or address.",
)
@click.option("--since", metavar="TIME", help="Only items changed or created since: 2026-11-02, 7d, 12h.")
@click.option("--until", metavar="TIME", help="Only items last changed or created before this time.")
@click.option(
    "--hypothesis",
    default="",
    metavar="TEXT",
    help="A sentence the answer might contain; replaces QUERY in semantic search.",
)
@click.option("--files", is_flag=True, help="List each file once, by its best passage.")
@click.option(
    "--budget",
    type=click.IntRange(1, 10_000_000),
    metavar="TOKENS",
    help="Approximate limit on the length of all passages.",
)
@click.option(
    "--lines",
    type=click.IntRange(0, 10_000),
    default=DEFAULT_HIT_LINES,
    show_default=True,
    metavar="N",
    help="Lines of each passage, around the match (0 = whole passages).",
)
@click.option("--explain", is_flag=True, help="Explain why each hit was found, and what each step did.")
@roots_option
@json_option
@settings_options(limit=f"Maximum hits (default: {_DEFAULT_HITS}, with --json 10).")
def search_command(
    query: tuple[str, ...],
    mode: str | None,
    recipe: str | None,
    kinds: tuple[str, ...],
    paths: tuple[str, ...],
    not_paths: tuple[str, ...],
    tags: tuple[str, ...],
    authors: tuple[str, ...],
    since: str | None,
    until: str | None,
    hypothesis: str,
    files: bool,
    budget: int | None,
    lines: int,
    explain: bool,
    roots: tuple[Path, ...],
    as_json: bool,
    **flags: Any,  # noqa: ANN401
) -> int:
    """Search and print ranked passages. Put a "phrase" in quotes to require it.

    Exit code 0: found; 1: nothing found (the last line says what was searched); 2: an error.
    """
    if mode and recipe:
        raise BadInput("pass --mode or --recipe, not both")
    limit = {} if as_json else {"limit": _DEFAULT_HITS}
    workspaces = [workspace_of(it, flags, **limit) for it in roots or (None,)]
    name = recipe or mode or "auto"
    search_query = Query(
        " ".join(query),
        make_scope(default_kinds(kinds, files), paths, tags, since, until, not_paths, authors),
        workspaces[0].settings.limit,
        whole_file_recipe(name) if files and not name.endswith("-files") else name,
        budget,
        hypothesis,
    )
    check_recipe(search_query.recipe)
    with open_roots(workspaces) as opened:
        answer = opened.search(search_query)
        # Print before the engine closes, because closing may finish indexing a changed file.
        if as_json:
            click.echo(json.dumps(opened.to_json(answer), ensure_ascii=False))
        else:
            size = screen_size()
            layout = HitLayout(lines, size.columns if size else None, explain)
            hint = " (-k shows more)" if len(answer.hits) == search_query.limit else ""
            click.echo(format_answer(opened.to_display(answer), layout, hint))
    return 0 if answer.hits else 1


@dataclass(frozen=True, slots=True)
class SearchedRoots:
    """The searched roots by name; globs are relative to the current directory for one root, to each root for
    several."""

    engines: Mapping[str, Engine]
    paths: Mapping[str, PathDisplay]

    def search(self, query: Query) -> Answer:
        if len(self.engines) > 1:
            from dowse.tools.core_roots import search_roots

            return search_roots(query, self.engines)
        [(engine, display)] = zip(self.engines.values(), self.paths.values(), strict=True)
        return engine.search(display.from_input(query))

    def to_display(self, answer: Answer) -> Answer:
        """Return the answer with paths for a person in the current directory."""
        if len(self.paths) > 1:
            return replace(answer, hits=tuple(self.paths[hit.root].to_display(hit) for hit in answer.hits))
        [display] = self.paths.values()
        return display.to_display(answer)

    def to_json(self, answer: Answer) -> dict[str, object]:
        """Convert the answer to JSON; with several roots, each hit names its own."""
        data = answer_json(answer)
        return data if len(self.paths) > 1 else json_with_root(data, *self.paths.values())


@contextmanager
def open_roots(workspaces: Sequence[Workspace]) -> Iterator[SearchedRoots]:
    """Open the index of each workspace; one given by --index is shared by all of them."""
    indexes = {it.index: it for it in reversed(workspaces)}
    distinct = list(reversed(indexes.values()))
    with ExitStack() as opened:
        engines = [opened.enter_context(open_ready_engine(it)) for it in distinct]
        names = [""]
        if len(distinct) > 1:
            from dowse.tools.core_roots import name_roots

            names = name_roots([it.root for it in distinct])
        paths = [PathDisplay.of(engine.collections(), it) for engine, it in zip(engines, distinct, strict=True)]
        yield SearchedRoots(dict(zip(names, engines, strict=True)), dict(zip(names, paths, strict=True)))


def open_ready_engine(workspace: Workspace) -> Engine:
    """Open the index of this workspace; build it first if it is missing or its build was interrupted."""
    from dowse.cli.index import build_index

    try:
        engine = workspace.open(create=False)
        if _is_built(workspace, engine):
            return _with_background_finish(workspace, engine)
        engine.close()
    except NotIndexed:
        confirm_broad_root(workspace)
        if sys.stderr.isatty():
            click.echo(f"No index for {workspace.root} yet; building it.", err=True)
    try:
        settings = replace(workspace.settings, lock_timeout_s=0.0)
        build_index(
            replace(workspace, settings=settings),
            first_answer_timeout_s=settings.first_answer_timeout_s,
            history_for_s=FIRST_HISTORY_SECONDS,
        )
    except IndexBusy:
        click.echo("Another process is indexing; the answer covers the files indexed so far.", err=True)
    return _with_background_finish(workspace, workspace.open(create=False))


def _with_background_finish(workspace: Workspace, engine: Engine) -> Engine:
    """Return the engine, and finish its index in the background when the command has ended."""
    if workspace.settings.background and engine.state.is_unfinished():
        from dowse.cli.index import schedule_background_finish

        schedule_background_finish(workspace, engine)
    return engine


def confirm_broad_root(workspace: Workspace) -> None:
    """Ask before a first search indexes a broad root; without a terminal, refuse and name the next step."""
    breadth = BroadRootGuard(workspace)
    if problem := breadth.problem():
        is_terminal = sys.stdin.isatty() and sys.stderr.isatty()
        if not is_terminal or not click.confirm(f"{breadth.found}. Index all of it?", err=True):
            raise BadInput(problem)


def _is_built(workspace: Workspace, engine: Engine) -> bool:
    """Return whether the root of the workspace was once read completely.

    An index given by --index that lacks this root counts as built if it has any collection.
    """
    collections = engine.collections()
    covering = [it for it in collections if Path(it.root) == workspace.root or Path(it.root) in workspace.root.parents]
    return bool(collections) if not covering and workspace.settings.index else any(it.synced_at for it in covering)
