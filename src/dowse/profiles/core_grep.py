"""Lines that were found, for the command line and, in a shorter form, for the tools."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dowse.engine import Engine
from dowse.lookup.grep.question import Excerpt, FileLines, GrepAnswer, Lines
from dowse.model import Completeness, Freshness
from dowse.profiles.core_compact import Shape, fit, flagged, index_state, room_of, without_empty
from dowse.profiles.pending import pending_json
from dowse.profiles.tool import Reply
from dowse.text.matching import compile_regex
from dowse.text.times import iso
from dowse.text.untrusted import one_line

_NAMED = 3  # files that have changed
_LEAST_ROW_CHARS = 12  # of a line that is shown
_LINE_CHARS = 300
_DETAIL = ((1, 100), (1, 160), (2, 160), (3, 200), (5, 200), (8, _LINE_CHARS))  # lines of a file, characters of a line


@dataclass(frozen=True, slots=True)
class Around:
    """How many lines are shown before and after one that was found."""

    before: int = 0
    after: int = 0

    def __bool__(self) -> bool:
        return bool(self.before or self.after)


@dataclass(frozen=True, slots=True)
class ShownFile:
    found: FileLines
    freshness: Freshness
    excerpts: tuple[Excerpt, ...]


def shown_files(engine: Engine, answer: GrepAnswer, around: Around) -> Iterator[ShownFile]:
    """Lines as they were indexed; one that has gone meanwhile is left out."""
    for found in answer.files:
        for record in engine.record(found.path, found.collection):
            excerpts = engine.excerpts(record, found.lines, around.before, around.after)
            yield ShownFile(found, engine.freshness(record), tuple(excerpts))


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
            "as_of": iso(completeness.as_of) if completeness.as_of else None,
            "pending": pending_json(completeness.seen),
        },
    }


def _file_json(shown: ShownFile) -> dict[str, object]:
    found = shown.found
    return {
        "collection": found.collection,
        "path": found.path,
        "score": found.score,
        "occurrences": found.occurrences,
        "terms_matched": found.terms_matched,
        "lines": list(found.lines),
        "excerpts": [
            {"start_line": it.start_line, "lines": list(it.lines), "matches": list(it.matches)} for it in shown.excerpts
        ],
        "freshness": shown.freshness,
    }


def grep_sentence(answer: GrepAnswer, completeness: Completeness) -> str:
    """What was found, what was shown of it, and what was looked at."""
    matches = "1 match" if answer.total_occurrences == 1 else f"{answer.total_occurrences:,} matches"
    files = "1 file" if answer.total_files == 1 else f"{answer.total_files:,} files"
    found = f"{matches} in {files}" if answer.total_files else "no match"
    shown = len(answer.files)
    part = f", the best {shown:,} shown" if shown < answer.total_files else ""
    searched = completeness.sentence(answer.total_files).partition("; ")[2]
    return "; ".join(it for it in (found + part, searched, answer.cut) if it)


def stale_sentence(shown: Sequence[ShownFile]) -> str:
    """Empty where every file is as it was indexed."""
    stale = [it for it in shown if it.freshness in ("changed", "gone")]
    names = ", ".join(f"{it.found.path} is {it.freshness}" for it in stale[:_NAMED])
    more = f" and {len(stale) - _NAMED:,} more" if len(stale) > _NAMED else ""
    return f"since it was indexed, {names}{more}; run `dowse index`" if stale else ""


# --- for the tools ---


def grep_reply(engine: Engine, asked: Lines, answer: GrepAnswer, context: int, budget_tokens: int) -> Reply:
    """Every file with its lines; where they do not fit, fewer lines of each, then fewer files. All are counted."""
    room = room_of(budget_tokens)
    shown = list(_affordable(engine, answer, context, room))
    levels = [(files, *_DETAIL[0]) for files in range(min(len(shown), 1), len(shown) + 1)]
    levels += [(len(shown), *it) for it in _DETAIL[1:]]
    levels += [(len(shown), lines, _LINE_CHARS) for lines in (15, 30, 60, 120, 250, 500, 1_000, room)]
    completeness = engine.completeness(answer.seen)
    several = len({it.found.collection for it in shown}) > 1

    def make(level: int) -> Reply:
        count, lines, chars = levels[level]
        files = [_file_shape(it, asked, lines, chars, context, several) for it in shown[:count]]
        more = answer.total_files - count
        shape = {
            "total_occurrences": answer.total_occurrences,
            "total_files": answer.total_files,
            "files": files,
            "more": f"{more:,} more files ({_WIDER})" if more else "",
            "notes": list(filter(None, [answer.cut])),
            "index": index_state(completeness, answer.total_files),
        }
        shape = {"total_occurrences": 0, "total_files": 0, "files": [], **without_empty(shape)}
        return Reply(shape, grep_text(shape))

    return fit(make, len(levels) - 1, room)


_WIDER = "raise `limit` or `budget_tokens`, or narrow with `paths`"


def _affordable(engine: Engine, answer: GrepAnswer, context: int, room: int) -> Iterator[ShownFile]:
    """The files of which at least one line may fit, with as many of their lines as may."""
    for found in answer.files:
        if room <= 0:
            return
        for record in engine.record(found.path, found.collection):
            lines = found.lines[: max(1, room // _LEAST_ROW_CHARS)]
            excerpts = engine.excerpts(record, lines, context, context)
            yield ShownFile(found, engine.freshness(record), tuple(excerpts))
        room -= len(found.path) + _LEAST_ROW_CHARS


def _file_shape(shown: ShownFile, asked: Lines, most_lines: int, most_chars: int, context: int, several: bool) -> Shape:
    """`lines` are those that were found, by number; `context` those around them."""
    found: dict[str, str] = {}
    around: dict[str, str] = {}
    for excerpt in shown.excerpts:
        matches = excerpt.matches[: most_lines - len(found)]
        wanted = {row for match in matches for row in range(match - context, match + context + 1)}
        for row, line in enumerate(excerpt.lines):
            if row in wanted:
                kept = found if row in matches else around
                kept[str(excerpt.start_line + row)] = _clipped(line, asked, most_chars)
    shape = {
        "path": shown.found.path,
        "collection": shown.found.collection if several else "",
        "lines": found,
        "context": around,
        "more_lines": len(shown.found.lines) - len(found),
        "freshness": "" if shown.freshness in ("fresh", "unknown") else shown.freshness,
        "warning": flagged("\n".join((*found.values(), *around.values())), shown.found.path),
    }
    return {"path": shown.found.path, "lines": found, **{key: it for key, it in without_empty(shape).items() if it}}


def _clipped(line: str, asked: Lines, most_chars: int) -> str:
    """A long line is cut around what was found in it."""
    line = line.removesuffix("\r")
    if len(line) <= most_chars:
        return line
    start = max(0, min(_place(line, asked) - most_chars // 3, len(line) - most_chars))
    end = start + most_chars
    return f"{'…' if start else ''}{line[start:end]}{'…' if end < len(line) else ''}"


def _place(line: str, asked: Lines) -> int:
    for term in asked.terms:
        if asked.manner == "regex":
            match = compile_regex(term, ignore_case=not asked.case_sensitive).search(line)
            if match is not None:
                return int(match.start())
        elif (at := line.lower().find(term.lower())) >= 0:
            return at
    return 0


def grep_text(shape: Shape) -> str:
    times, files = shape["total_occurrences"], shape["total_files"]
    found = f"{times:,} match{'' if times == 1 else 'es'} in {files:,} file{'' if files == 1 else 's'}"
    lines = [found if files else "no matches", *(shape[key] for key in ("index",) if key in shape)]
    for it in shape["files"]:
        lines += _file_lines(it)
    lines += [it for it in (shape.get("more", ""), *shape.get("notes", ())) if it]
    return "\n".join(map(one_line, lines)) + "\n"


def _file_lines(shape: Shape) -> Iterator[str]:
    collection = f"[{shape['collection']}] " if "collection" in shape else ""
    state = f"  [{shape['freshness']}]" if "freshness" in shape else ""
    warning = f"  ! {shape['warning']}" if "warning" in shape else ""
    yield f"{collection}{shape['path']}{state}{warning}"
    around = shape.get("context", {})
    for number in sorted((*shape["lines"], *around), key=int):
        yield f"{number}┆{around[number]}" if number in around else f"{number}│{shape['lines'][number]}"
    if "more_lines" in shape:
        more = shape["more_lines"]
        yield f"  … {more:,} more line{'' if more == 1 else 's'} (raise `budget_tokens`, or set `paths` to this file)"
