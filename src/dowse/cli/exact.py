"""The commands `grep`, `find` and `read`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import click

from dowse.cli.options import (
    PathDisplay,
    directory_of,
    exact_result_limit,
    json_option,
    json_with_root,
    root_option,
    settings_options,
    workspace_of,
)
from dowse.cli.search import open_ready_engine
from dowse.cli.terminal import Span, highlight, is_coloured, screen_size, style
from dowse.engine import Engine
from dowse.engine.code_service import DiskQueries
from dowse.errors import BadInput
from dowse.ingest.sources.base import ListingScope
from dowse.lookup.find import ContentAnswer, NameAnswer, NameMode, NameQuery, split_patterns
from dowse.lookup.grep import Excerpt, GrepMode, GrepQuery
from dowse.lookup.targets import Passage
from dowse.model import FILE_KINDS
from dowse.text.regex import compile_regex, escape_literal
from dowse.text.tokenize import WORD
from dowse.tools.core_query import (
    ContextLines,
    ShownFile,
    grep_json,
    grep_sentence,
    load_shown_files,
    make_scope,
    read_passage,
    stale_files_sentence,
)
from dowse.tools.core_render import passage_json
from dowse.tools.render import contents_json, names_json

_DEFAULT_FILES = 50
_CONTEXT_LINES = click.IntRange(0, 1_000)


@click.command("grep")
@click.argument("patterns", nargs=-1, required=True, metavar="PATTERN…")
@click.option("-w", "--word", "mode", flag_value="word", help="Each PATTERN is a whole word.")
@click.option("-F", "--fixed", "mode", flag_value="substring", help="Each PATTERN is literal text.")
@click.option("--phrase", "mode", flag_value="phrase", help="Words in sequence, with any spacing, also across lines.")
@click.option("-e", "--regex", "mode", flag_value="regex", help="Each PATTERN is a regex, matched per line (default).")
@click.option(
    "-i/-s", "--ignore-case/--case-sensitive", "ignore_case", default=True, help="Ignore or match case (default: -i)."
)
@click.option("--all", "every", is_flag=True, help="Only files that contain every PATTERN.")
@click.option("--path", "paths", multiple=True, metavar="GLOB", help="Only files matching GLOB (repeatable).")
@click.option(
    "--not-path", "not_paths", multiple=True, metavar="GLOB", help="Exclude files matching GLOB (repeatable)."
)
@click.option(
    "-C",
    "--context",
    "context",
    type=_CONTEXT_LINES,
    default=0,
    metavar="N",
    help="Lines of context around each match.",
)
@click.option("-B", "--before", "before", type=_CONTEXT_LINES, metavar="N", help="Lines before each match.")
@click.option("-A", "--after", "after", type=_CONTEXT_LINES, metavar="N", help="Lines after each match.")
@click.option("-c", "--count", "only_count", is_flag=True, help="Print only the number of matching lines per file.")
@click.option("-l", "--files", "only_files", is_flag=True, help="Print only the paths of matching files.")
@root_option
@json_option
@settings_options(limit="Maximum files (default: 50).")
def grep_command(
    patterns: tuple[str, ...],
    mode: GrepMode | None,
    ignore_case: bool,
    every: bool,
    paths: tuple[str, ...],
    not_paths: tuple[str, ...],
    context: int,
    before: int | None,
    after: int | None,
    only_count: bool,
    only_files: bool,
    root: Path | None,
    as_json: bool,
    **flags: Any,  # noqa: ANN401
) -> int:
    """Find lines that match a PATTERN in indexed files. Files with the best matches come first, up to -k of them.

    Exit code 0: found; 1: nothing found (the last line, on stderr, says what was searched); 2: an error.
    """
    if only_count and only_files:
        raise BadInput("pass --count or --files, not both")
    workspace = workspace_of(root, flags)
    around = ContextLines(context if before is None else before, context if after is None else after)
    query = GrepQuery(
        terms=patterns,
        mode=mode or "regex",
        match_all=every,
        case_sensitive=not ignore_case,
        scope=make_scope(FILE_KINDS, paths=paths, excluded=not_paths),
        limit=_DEFAULT_FILES if flags.get("limit") is None else workspace.settings.limit,
    )
    with open_ready_engine(workspace) as engine:
        display = PathDisplay.of(engine.collections(), workspace)
        answer = engine.grep(display.from_input(query))
        shown = list(load_shown_files(engine, answer, around))
        completeness = engine.completeness(answer.disk_freshness)
    if as_json:
        click.echo(json.dumps(json_with_root(grep_json(answer, shown, completeness), display), ensure_ascii=False))
        return 0 if answer.files else 1
    shown, completeness = display.to_display(shown), display.to_display(completeness)
    printed = _GrepFormatter(around, _make_match_finder(query), is_grouped=screen_size() is not None)
    for line in printed.counts(shown, only_files) if only_count or only_files else printed.lines(shown):
        click.echo(line)
    for sentence in (stale_files_sentence(shown), grep_sentence(answer, completeness)):
        if sentence:
            click.echo(f"dowse: {sentence}", err=True)
    return 0 if answer.files else 1


@dataclass(frozen=True, slots=True)
class _GrepFormatter:
    """Formats files and lines as ripgrep does.

    `is_grouped`: print the path once above its lines, as on a terminal. Otherwise each line starts with its path, as
    programs and editors expect.
    """

    context: ContextLines
    find_matches: Callable[[str], list[Span]]
    is_grouped: bool

    def counts(self, shown: Sequence[ShownFile], only_files: bool) -> Iterator[str]:
        for name, file in _with_display_names(shown):
            yield name if only_files else f"{name}:{len(file.file.lines)}"

    def lines(self, shown: Sequence[ShownFile]) -> Iterator[str]:
        for position, (name, file) in enumerate(_with_display_names(shown)):
            if position and (self.is_grouped or self.context):
                yield "" if self.is_grouped else "--"
            if self.is_grouped:
                yield name
            yield from self._excerpt_lines("" if self.is_grouped else name, file.excerpts)

    def _excerpt_lines(self, name: str, excerpts: Sequence[Excerpt]) -> Iterator[str]:
        """Print a colon after the number of a matching line, and a dash after that of a context line."""
        for position, excerpt in enumerate(excerpts):
            if position and self.context:
                yield "--"
            matches = set(excerpt.matches)
            for row, text in enumerate(excerpt.lines):
                mark = ":" if row in matches else "-"
                number = style(str(excerpt.start_line + row), fg="green")
                shown = highlight(text, self.find_matches(text)) if row in matches else text
                yield f"{f'{name}{mark}' if name else ''}{number}{mark}{shown}"


def _with_display_names(shown: Sequence[ShownFile]) -> Iterator[tuple[str, ShownFile]]:
    several = len({file.file.collection for file in shown}) > 1
    for file in shown:
        name = f"[{file.file.collection}] {file.file.path}" if several else file.file.path
        yield style(name, fg="magenta"), file


def _make_match_finder(query: GrepQuery) -> Callable[[str], list[Span]]:
    """Return a function that finds the terms in a line; a phrase that continues on the next line is not marked."""
    if not is_coloured():
        return lambda line: []
    make, ignore_case = _PATTERN_BUILDERS[query.mode], not query.case_sensitive
    patterns = []
    for term in query.terms:
        with suppress(BadInput):  # a word may be longer than a regex may be
            patterns.append(compile_regex(make(term), ignore_case=ignore_case))
    return lambda line: [match.span() for pattern in patterns for match in pattern.finditer(line)]


def _word_pattern(term: str) -> str:
    before, after = (r"\b" if WORD.match(letter) and letter.isascii() else "" for letter in (term[0], term[-1]))
    return before + r"\s+".join(map(escape_literal, term.split())) + after


_PATTERN_BUILDERS: dict[GrepMode, Callable[[str], str]] = {
    "regex": str,
    "substring": escape_literal,
    "word": _word_pattern,
    "phrase": _word_pattern,
}


# --------------------------------------------------------------------------------------------------
# `dowse find`

EntryKind = Literal["", "files", "directories"]


@click.command("find")
@click.argument("pattern")
@click.option(
    "--glob", "mode", flag_value="glob", help="PATTERN is a glob for the name, or with a slash, for the path."
)
@click.option("--regex", "mode", flag_value="regex", help="PATTERN is a regex searched for in the name.")
@click.option("--fuzzy", "mode", flag_value="fuzzy", help="Match the letters of PATTERN in order, anywhere in a path.")
@click.option("-i", "--ignore-case", is_flag=True, help="Ignore case.")
@click.option(
    "-e", "--ext", "extensions", multiple=True, metavar="EXT", help="Only files with this extension (repeatable)."
)
@click.option("--dirs", "only", flag_value="directories", help="Only directories.")
@click.option("--files", "only", flag_value="files", help="Only files.")
@click.option("--min-size", type=click.IntRange(min=0), default=0, metavar="BYTES", help="Minimum file size.")
@click.option("--max-size", type=click.IntRange(min=0), metavar="BYTES", help="Maximum file size.")
@click.option(
    "--max-depth",
    type=click.IntRange(min=0),
    default=0,
    metavar="N",
    help="Maximum depth (1 = directly below the root).",
)
@click.option("--live", is_flag=True, help="Search the disk instead of the index; includes binary and new files.")
@click.option("--contents", is_flag=True, help="Search for PATTERN in the contents of files on disk, not in names.")
@click.option("--hidden", is_flag=True, help="With --live: include hidden files.")
@click.option("--no-ignore", is_flag=True, help="With --live: include ignored files.")
@click.option("--count", "count_only", is_flag=True, help="Print only the number of matches.")
@root_option
@json_option
@settings_options(limit="Maximum results (default: 100).")
def find_command(
    pattern: str,
    mode: str | None,
    ignore_case: bool,
    extensions: tuple[str, ...],
    only: str | None,
    min_size: int,
    max_size: int | None,
    max_depth: int,
    live: bool,
    contents: bool,
    hidden: bool,
    no_ignore: bool,
    count_only: bool,
    root: Path | None,
    as_json: bool,
    **flags: Any,  # noqa: ANN401
) -> int:
    """Find files and directories by part of their name; `a,b` matches either. Exact names come first.

    Names come from the index; --live and --contents read the disk, and need no index.
    """
    if (hidden or no_ignore) and not (live or contents):
        raise BadInput("--hidden and --no-ignore work only with --live or --contents; add one of these")
    if contents and mode not in (None, "regex"):
        raise BadInput("--contents takes literal text or a --regex; leave out --glob and --fuzzy")
    workspace = workspace_of(root, flags)
    query = NameQuery(
        _split_patterns(pattern, mode, contents),
        _match_mode(mode),
        ignore_case,
        tuple(it for text in extensions for it in text.split(",")),
        _entry_kind(only),
        min_size,
        max_size,
        max_depth,
        limit=exact_result_limit(workspace.settings, flags),
    )
    listing_scope = ListingScope(include_hidden=hidden, include_ignored=no_ignore, max_depth=max_depth)
    if live or contents:
        disk = DiskQueries.at(directory_of(workspace), workspace.settings)
        display = PathDisplay.of(disk.roots, workspace)
        if contents:
            return _print_contents(disk.find_contents(query, listing_scope), display, as_json, count_only)
        return _print_names(disk.find(query, listing_scope), display, as_json, count_only)
    with open_ready_engine(workspace) as engine:
        display = PathDisplay.of(engine.collections(), workspace)
        return _print_names(engine.find(query), display, as_json, count_only)


def _split_patterns(pattern: str, mode: str | None, contents: bool) -> tuple[str, ...]:
    return (pattern,) if contents else split_patterns(pattern, _match_mode(mode))


def _match_mode(flag: str | None) -> NameMode:
    manners: dict[str | None, NameMode] = {None: "part", "glob": "glob", "regex": "regex", "fuzzy": "fuzzy"}
    return manners[flag]


def _entry_kind(flag: str | None) -> EntryKind:
    kinds: dict[str | None, EntryKind] = {None: "", "files": "files", "directories": "directories"}
    return kinds[flag]


def _print_names(answer: NameAnswer, display: PathDisplay, as_json: bool, count_only: bool) -> int:
    if as_json:
        data = json_with_root(names_json(answer), display)
        click.echo(json.dumps({**data, "names": []} if count_only else data, ensure_ascii=False))
    elif count_only:
        click.echo(str(answer.total))
    else:
        for sentence in display.to_display(answer.disk_freshness).sentences():
            click.echo(f"dowse: {sentence}", err=True)
        for entry in display.to_display(answer.entries):
            click.echo(f"{entry.path}/" if entry.is_directory else entry.path)
        _print_truncation(len(answer.entries), answer.total)
    return 0 if answer.total else 1


def _print_contents(answer: ContentAnswer, display: PathDisplay, as_json: bool, count_only: bool) -> int:
    if as_json:
        data = json_with_root(contents_json(answer), display)
        click.echo(json.dumps({**data, "files": []} if count_only else data, ensure_ascii=False))
    elif count_only:
        click.echo(str(answer.total_files))
    else:
        for entry, matches in display.to_display(answer.files):
            for match in matches:
                click.echo(f"{entry.path}:{match.line}:{match.text}")
        _print_truncation(len(answer.files), answer.total_files)
    if answer.cut:
        click.echo(f"dowse: {answer.cut}", err=True)
    return 0 if answer.total_files else 1


def _print_truncation(shown: int, total: int) -> None:
    if total > shown:
        click.echo(f"dowse: showing the first {shown:,} of {total:,}; -k shows more", err=True)


# --------------------------------------------------------------------------------------------------
# `dowse read`

_LINE_RANGE_PATTERN = re.compile(r"(?P<name>.+?):(?P<first>\d{1,9})(?:-(?P<last>\d{1,9}))?", re.DOTALL)
_COLLECTION_FLAG = "--collection"


@click.command("read")
@click.argument("target", metavar="PATH[:FIRST[-LAST]]|CHUNK_ID|HASH")
@click.option("--collection", help="Root to read from, if several contain this path.")
@root_option
@json_option
@settings_options()
def read_command(target: str, collection: str | None, root: Path | None, as_json: bool, **flags: Any) -> int:  # noqa: ANN401
    """Print lines of an indexed file, as it is on disk now, or a commit, or the passage with this chunk_id."""
    workspace = workspace_of(root, flags)
    with open_ready_engine(workspace) as engine:
        display = PathDisplay.of(engine.collections(), workspace)
        passage = find_passage(engine, display.target(target), collection)
    data = json_with_root(passage_json(passage), display)
    passage = display.to_display(passage)
    if passage.freshness != "fresh":
        click.echo(
            f"dowse: {passage.record.path} is {passage.freshness} since it was indexed; run `dowse index`", err=True
        )
    for note in passage.notes:
        click.echo(f"dowse: {passage.record.path}: {note}", err=True)
    click.echo(json.dumps(data, ensure_ascii=False) if as_json else passage.text)
    return 0


def find_passage(engine: Engine, target: str, collection: str | None) -> Passage:
    """Read by id or path as given, else by a path followed by lines."""
    location = _LINE_RANGE_PATTERN.fullmatch(target)
    if location is None or engine.record(target, collection):
        return read_passage(engine, target, None, None, collection, _COLLECTION_FLAG)
    first = int(location["first"])
    return read_passage(
        engine, location["name"], max(first, 1), int(location["last"] or first), collection, _COLLECTION_FLAG
    )
