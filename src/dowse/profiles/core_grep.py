"""Lines that were found, in the words of the native contract: with their surroundings, their freshness and totals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dowse.engine import Engine
from dowse.lookup.grep.question import Excerpt, FileLines, GrepAnswer
from dowse.model import Completeness, Freshness
from dowse.profiles.pending import pending_json
from dowse.text.times import iso

_NAMED = 3  # files that have changed


@dataclass(frozen=True, slots=True)
class Around:
    """How many lines are shown before and after one that was found."""

    before: int = 0
    after: int = 0

    def __bool__(self) -> bool:
        return bool(self.before or self.after)


@dataclass(frozen=True, slots=True)
class ShownFile:
    """`hidden` is how many of the lines found are not shown."""

    found: FileLines
    freshness: Freshness
    excerpts: tuple[Excerpt, ...]
    hidden: int = 0


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
