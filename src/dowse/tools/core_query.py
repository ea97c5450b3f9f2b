"""Parameters of the core tools as queries, and the tool `grep`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated

from dowse.engine import Engine
from dowse.engine.core import SYSTEM_CLOCK
from dowse.errors import BadInput
from dowse.lookup.grep import Excerpt, GrepAnswer, GrepQuery
from dowse.lookup.memories import normalize_tag
from dowse.lookup.targets import Passage
from dowse.model import FILE_KINDS, Completeness, FacetFilter, Freshness, Scope
from dowse.store.types import FileLines
from dowse.text.regex import compile_regex
from dowse.text.times import format_iso, parse_time
from dowse.text.untrusted import to_one_line
from dowse.tools.core_render import (
    ReplyShape,
    budget_chars,
    drop_empty,
    fit_reply,
    index_state_text,
    instruction_warning,
)
from dowse.tools.tool import Param, ToolReply, pending_json

# No help texts: the instructions explain these parameters once. Repeated in four tools, they would dominate the
# schemas.
PathGlobs = Annotated[list[str] | None, Param("")]
ExcludedGlobs = Annotated[list[str] | None, Param("")]
BudgetTokens = Annotated[int, Param("", ge=50, le=100_000)]

_SHOWN_HASH_DIGITS = 16  # in an error message
_FILE_RECIPES = ("auto", "hybrid", "lexical", "semantic", "late", "rerank")


def make_scope(
    kinds: Sequence[str] = (),
    paths: Sequence[str] = (),
    tags: Sequence[str] = (),
    since: str | None = None,
    until: str | None = None,
    excluded: Sequence[str] = (),
    authors: Sequence[str] = (),
    now: Callable[[], float] = SYSTEM_CLOCK.now,
) -> Scope:
    """Build a scope from filter arguments. `authors` match parts of names or addresses; only commits have authors.
    Durations count back from `now`."""
    moment = now()
    first = None if since is None else parse_time(since, moment)
    last = None if until is None else parse_time(until, moment)
    if first is not None and last is not None and first > last:
        raise BadInput(f"since {since} is later than until {until}; swap them")
    return Scope(
        kinds=tuple(kinds),
        paths=tuple(paths),
        excluded=tuple(excluded),
        tags=normalize_tags(tags),
        since=first,
        until=last,
        facets=tuple(FacetFilter("author", it, exact=False) for it in authors),
    )


def normalize_tags(tags: Sequence[str]) -> tuple[str, ...]:
    """Normalize tags: `#Auth` becomes `auth`, as answers show it."""
    normalized = tuple(normalize_tag(it) for it in tags)
    if "" in normalized:
        raise BadInput("empty tag; pass one or leave it out")
    return normalized


def default_kinds(kinds: Sequence[str], files: bool) -> Sequence[str]:
    """Default to the kinds stored in files if whole files are requested without kinds."""
    return kinds or (FILE_KINDS if files else ())


def whole_file_recipe(recipe: str) -> str:
    """Return the variant of the recipe that ranks whole files."""
    if recipe not in _FILE_RECIPES:
        raise BadInput(f"recipe {recipe!r} cannot rank whole files; choose one of {', '.join(_FILE_RECIPES)}")
    return f"{recipe}-files"


_PAGE_RANGE_PATTERN = re.compile(r"(?P<name>.+):p(?P<first>\d{1,6})(?:-p?(?P<last>\d{1,6}))?", re.DOTALL)


def read_passage(
    engine: Engine,
    target: str,
    start_line: int | None,
    end_line: int | None,
    collection: str | None,
    chosen_with: str = "`collection`",
) -> Passage:
    """Read a chunk by id, a record by path, pages of a document (`FILE:p12`, `FILE:p12-14`) or a commit by hash prefix.

    Without line numbers, return the chunk's passage or the whole record. `chosen_with` is the caller's name for the
    parameter `collection`.
    """
    chunks = engine.passages.chunk(target, collection)
    records = [it.record for it in chunks] or engine.record(target, collection)
    if not records and (pages := _PAGE_RANGE_PATTERN.fullmatch(target)):
        first_page = int(pages["first"])
        records = engine.record(pages["name"], collection)
        if len(records) == 1:
            start_line, end_line = engine.passages.page_lines(records[0], first_page, int(pages["last"] or first_page))
    records = records or engine.history.commits_like(target, collection)
    if not records:
        raise BadInput(f"no indexed id or path {target[:200]!r}; search results show both")
    if len({it.path for it in records}) > 1:
        hashes = ", ".join(it.path[:_SHOWN_HASH_DIGITS] for it in records)
        raise BadInput(f"{target!r} matches several commits ({hashes}); pass more digits")
    if len(records) > 1:
        names = ", ".join(it.collection for it in records)
        raise BadInput(f"{target!r} is in several collections ({names}); choose one with {chosen_with}")
    if chunks and start_line is None and end_line is None:
        return engine.passages.passage(chunks[0])
    first = start_line or (chunks[0].chunk.start_line if chunks else 1)
    if end_line is not None and end_line < first:
        raise BadInput(f"end_line {end_line:,} is before start_line {first:,}; swap them")
    return engine.lines(records[0], first, end_line)


# --------------------------------------------------------------------------------------------------
# Matching lines for the command line and, in a shorter form, for the tools.

_MAX_NAMED_FILES = 3  # files that have changed
_MIN_LINE_CHARS = 12  # per line shown
_LINE_CHARS = 300
# Lines per file, characters per line.
_DETAIL_LEVELS = ((1, 100), (1, 160), (2, 160), (3, 200), (5, 200), (8, _LINE_CHARS))


@dataclass(frozen=True, slots=True)
class ContextLines:
    """Number of context lines before and after a match."""

    before: int = 0
    after: int = 0

    def __bool__(self) -> bool:
        return bool(self.before or self.after)


@dataclass(frozen=True, slots=True)
class ShownFile:
    file: FileLines
    freshness: Freshness
    excerpts: tuple[Excerpt, ...]


def load_shown_files(engine: Engine, answer: GrepAnswer, context: ContextLines) -> Iterator[ShownFile]:
    """Yield the files with their matching lines as indexed; skip records that have disappeared since."""
    for file_lines in answer.files:
        for record in engine.record(file_lines.path, file_lines.collection):
            excerpts = engine.code.excerpts(record, file_lines.lines, context.before, context.after)
            yield ShownFile(file_lines, engine.freshness.freshness_of(record), tuple(excerpts))


def grep_json(answer: GrepAnswer, shown: Sequence[ShownFile], completeness: Completeness) -> dict[str, object]:
    return {
        "searched": list(answer.searched),
        "count": len(shown),
        "total_files": answer.total_files,
        "total_occurrences": answer.total_occurrences,
        "files": [_file_json(it) for it in shown],
        "words": list(answer.words),
        "cut": answer.cut,
        "completeness": {
            "text": grep_sentence(answer, completeness),
            "complete": completeness.complete and not answer.cut,
            "indexed": completeness.indexed,
            "listed": completeness.listed,
            "skipped": completeness.skipped,
            "as_of": format_iso(completeness.as_of) if completeness.as_of else None,
            "pending": pending_json(completeness.disk_freshness),
        },
    }


def _file_json(shown: ShownFile) -> dict[str, object]:
    file_lines = shown.file
    return {
        "collection": file_lines.collection,
        "path": file_lines.path,
        "score": file_lines.score,
        "occurrences": file_lines.occurrences,
        "terms_matched": file_lines.terms_matched,
        "lines": list(file_lines.lines),
        "excerpts": [
            {"start_line": it.start_line, "lines": list(it.lines), "matches": list(it.matches)} for it in shown.excerpts
        ],
        "freshness": shown.freshness,
    }


def grep_sentence(answer: GrepAnswer, completeness: Completeness) -> str:
    """Summarize the matches, how many are shown, and how much was searched."""
    matches = "1 match" if answer.total_occurrences == 1 else f"{answer.total_occurrences:,} matches"
    files = "1 file" if answer.total_files == 1 else f"{answer.total_files:,} files"
    matches_text = f"{matches} in {files}" if answer.total_files else "no match"
    shown = len(answer.files)
    shown_text = f", the best {shown:,} shown" if shown < answer.total_files else ""
    searched = completeness.sentence(answer.total_files).partition("; ")[2]
    return "; ".join(it for it in (matches_text + shown_text, searched, answer.cut) if it)


def stale_files_sentence(shown: Sequence[ShownFile]) -> str:
    """Name the files that changed since they were indexed; empty if none did."""
    stale = [it for it in shown if it.freshness in ("changed", "gone")]
    names = ", ".join(f"{it.file.path} ({it.freshness})" for it in stale[:_MAX_NAMED_FILES])
    more = f" and {len(stale) - _MAX_NAMED_FILES:,} more" if len(stale) > _MAX_NAMED_FILES else ""
    return f"outdated results: {names}{more}; run `dowse index`" if stale else ""


# --- for the tools ---


def grep_reply(engine: Engine, query: GrepQuery, answer: GrepAnswer, context: int, budget_tokens: int) -> ToolReply:
    """Return every file with its lines. If they do not fit, show fewer lines per file, then fewer files; the totals
    count all."""
    room = budget_chars(budget_tokens)
    shown = list(_files_that_fit(engine, answer, context, room))
    levels = [(files, *_DETAIL_LEVELS[0]) for files in range(min(len(shown), 1), len(shown) + 1)]
    levels += [(len(shown), *it) for it in _DETAIL_LEVELS[1:]]
    levels += [(len(shown), lines, _LINE_CHARS) for lines in (15, 30, 60, 120, 250, 500, 1_000, room)]
    completeness = engine.completeness(answer.disk_freshness)
    several = len({it.file.collection for it in shown}) > 1

    def make(level: int) -> ToolReply:
        count, lines, chars = levels[level]
        files = [_file_shape(it, query, lines, chars, context, several) for it in shown[:count]]
        more = answer.total_files - count
        shape = {
            "total_occurrences": answer.total_occurrences,
            "total_files": answer.total_files,
            "files": files,
            "more": f"{more:,} more files ({_MORE_FILES_HINT})" if more else "",
            "notes": list(filter(None, [answer.cut])),
            "index": index_state_text(completeness, answer.total_files),
        }
        shape = {"total_occurrences": 0, "total_files": 0, "files": [], **drop_empty(shape)}
        return ToolReply(shape, grep_text(shape))

    return fit_reply(make, len(levels) - 1, room)


_MORE_FILES_HINT = "raise `limit` or `budget_tokens`, or narrow with `paths`"


def _files_that_fit(engine: Engine, answer: GrepAnswer, context: int, room: int) -> Iterator[ShownFile]:
    """Yield the files of which at least one line may fit, each with as many lines as may fit."""
    for file_lines in answer.files:
        if room <= 0:
            return
        for record in engine.record(file_lines.path, file_lines.collection):
            lines = file_lines.lines[: max(1, room // _MIN_LINE_CHARS)]
            excerpts = engine.code.excerpts(record, lines, context, context)
            yield ShownFile(file_lines, engine.freshness.freshness_of(record), tuple(excerpts))
        room -= len(file_lines.path) + _MIN_LINE_CHARS


def _file_shape(
    shown: ShownFile, query: GrepQuery, max_lines: int, max_chars: int, context: int, several: bool
) -> ReplyShape:
    """Return a file with its matches (`lines`) and the lines around them (`context`), by line number."""
    match_lines: dict[str, str] = {}
    context_lines: dict[str, str] = {}
    for excerpt in shown.excerpts:
        matches = excerpt.matches[: max_lines - len(match_lines)]
        shown_rows = {row for match in matches for row in range(match - context, match + context + 1)}
        for row, line in enumerate(excerpt.lines):
            if row in shown_rows:
                target = match_lines if row in matches else context_lines
                target[str(excerpt.start_line + row)] = _clip_line(line, query, max_chars)
    shape = {
        "path": shown.file.path,
        "collection": shown.file.collection if several else "",
        "lines": match_lines,
        "context": context_lines,
        "more_lines": len(shown.file.lines) - len(match_lines),
        "freshness": "" if shown.freshness in ("fresh", "unknown") else shown.freshness,
        "warning": instruction_warning("\n".join((*match_lines.values(), *context_lines.values())), shown.file.path),
    }
    return {
        "path": shown.file.path,
        "lines": match_lines,
        **{key: it for key, it in drop_empty(shape).items() if it},
    }


def _clip_line(line: str, query: GrepQuery, max_chars: int) -> str:
    """Cut a long line around its match."""
    line = line.removesuffix("\r")
    if len(line) <= max_chars:
        return line
    start = max(0, min(_match_column(line, query) - max_chars // 3, len(line) - max_chars))
    end = start + max_chars
    return f"{'…' if start else ''}{line[start:end]}{'…' if end < len(line) else ''}"


def _match_column(line: str, query: GrepQuery) -> int:
    for term in query.terms:
        if query.mode == "regex":
            match = compile_regex(term, ignore_case=not query.case_sensitive).search(line)
            if match is not None:
                return int(match.start())
        elif (column := line.lower().find(term.lower())) >= 0:
            return column
    return 0


def grep_text(shape: ReplyShape) -> str:
    times, files = shape["total_occurrences"], shape["total_files"]
    found = f"{times:,} match{'' if times == 1 else 'es'} in {files:,} file{'' if files == 1 else 's'}"
    lines = [found if files else "no matches", *(shape[key] for key in ("index",) if key in shape)]
    for file in shape["files"]:
        lines += _file_lines(file)
    lines += [it for it in (shape.get("more", ""), *shape.get("notes", ())) if it]
    return "\n".join(map(to_one_line, lines)) + "\n"


def _file_lines(shape: ReplyShape) -> Iterator[str]:
    collection = f"[{shape['collection']}] " if "collection" in shape else ""
    state = f"  [{shape['freshness']}]" if "freshness" in shape else ""
    warning = f"  ! {shape['warning']}" if "warning" in shape else ""
    yield f"{collection}{shape['path']}{state}{warning}"
    context = shape.get("context", {})
    for number in sorted((*shape["lines"], *context), key=int):
        yield f"{number}┆{context[number]}" if number in context else f"{number}│{shape['lines'][number]}"
    if "more_lines" in shape:
        more = shape["more_lines"]
        yield f"  … {more:,} more line{'' if more == 1 else 's'} (raise `budget_tokens`, or set `paths` to this file)"
