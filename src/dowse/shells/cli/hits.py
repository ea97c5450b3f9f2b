"""Hits of a search as a person reads them: the best first, each with the lines that hold the words asked for.

A pipe gets these lines whole. On a terminal they are cut or wrapped, so that each hit takes a few rows of the screen.
"""

from __future__ import annotations

import re
import textwrap
import unicodedata
from collections.abc import Iterator
from typing import NamedTuple

from dowse.model import TRAIL_SEPARATOR, Answer, Chunk, Hit
from dowse.profiles.core_text import evidence_text, place_text, shown_notes
from dowse.search.best_lines import LineChoice, Words, match_pattern, words_of
from dowse.shells.cli.streams import escape, highlight, style, wrap_line

DEFAULT_LINES = 3
_INDENT = "   "
_TAB_COLUMNS = 4
_WRAP_INDENT = 2
_LEAST_COLUMNS = 20  # of text, however narrow the terminal is
_UNCUT_CHARS = 1 << 30
_HEADING = re.compile(r"#{1,6}\s+(?P<name>.+?)[\s#]*")


class Layout(NamedTuple):
    """`lines`: of each hit, 0 for whole passages. `columns`: of the terminal; None where stdout is none."""

    lines: int = DEFAULT_LINES
    columns: int | None = None
    explain: bool = False


def format_answer(answer: Answer, layout: Layout, hint: str = "") -> str:
    """Every hit, then what the reader should know of the steps, then how complete the answer is. The `hint` stands
    behind that, where the line has room for it."""
    words = words_of(f"{answer.query.text} {answer.query.hypothesis}")
    lines = [line for rank, hit in enumerate(answer.hits, 1) for line in _hit_lines(rank, hit, answer, words, layout)]
    lines += [""] if lines else []
    if layout.explain:
        lines += [_step_line(it.label, it.before, it.after, it.ms, it.note) for it in answer.steps]
    else:
        lines += [wrap_line(note, _WRAP_INDENT) for note in shown_notes(answer)]
    if answer.abstained:
        lines.append(wrap_line(answer.abstained, _WRAP_INDENT))
    sentence = answer.completeness.sentence(len(answer.hits))
    fits = layout.columns is not None and _cells(sentence + hint) <= layout.columns
    return "\n".join([*lines, f"{sentence}{style(hint, dim=True)}" if fits else wrap_line(sentence, _WRAP_INDENT)])


def _hit_lines(rank: int, hit: Hit, answer: Answer, words: Words, layout: Layout) -> Iterator[str]:
    yield _title_line(rank, hit, answer, layout.columns)
    if layout.explain:
        yield f"{_INDENT}{hit.stored.chunk_id}  score {hit.score:.4g}: {evidence_text(hit.evidence)}"
    yield from (style(f"{_INDENT}{note}", fg="yellow") for note in hit.notes)
    excerpt = _excerpt(hit, words, layout)
    width = max((len(row.number) for row in excerpt), default=0)
    pattern = match_pattern(words)
    for row in excerpt:
        number = style(f"{row.number:>{width}}", fg="green") + " " if width else ""
        spans = [match.span() for match in pattern.finditer(row.text)] if pattern else ()
        yield f"{_INDENT}{number}{highlight(row.text, spans)}".rstrip()


def _title_line(rank: int, hit: Hit, answer: Answer, columns: int | None) -> str:
    place, trail = escape(place_text(hit, answer)), escape(TRAIL_SEPARATOR.join(hit.stored.chunk.trail))
    stale = "" if hit.freshness in ("fresh", "unknown") else f" [{hit.freshness}]"
    if columns is not None:
        room = columns - len(f"{rank}. {stale}")
        place = _clip(place, max(room, _LEAST_COLUMNS))
        trail = _clip(trail[::-1], room - _cells(place) - 2)[::-1]  # its end says most
    shown = style(place, fg="magenta", bold=True)
    return f"{rank}. {shown}{f'  {trail}' if trail else ''}{style(stale, fg='yellow') if stale else ''}"


class _Row(NamedTuple):
    """A row of the screen, or a line of a pipe; `number` is empty where a line goes on."""

    number: str
    text: str


def _excerpt(hit: Hit, words: Words, layout: Layout) -> list[_Row]:
    chunk, kind = hit.stored.chunk, hit.stored.record.kind
    lines = _telling_lines(chunk, kind) if layout.lines else list(enumerate(chunk.text.strip("\n").split("\n")))
    numbers = ["" if kind == "commit" else str(chunk.start_line + at) for at, _ in lines]
    choice = LineChoice("\n".join(text for _, text in lines), words)
    if layout.columns is None or not layout.lines:
        best = choice.best(layout.lines or len(lines), _UNCUT_CHARS)
        return [_Row(numbers[best.start + at], text) for at, text in enumerate(best.lines)]
    indent = len(_INDENT) + max(map(len, numbers)) + (kind != "commit")
    room = max(layout.columns - indent, _LEAST_COLUMNS)
    if kind == "code":
        return _clipped_rows(choice, numbers, layout.lines, room)
    return _wrapped_rows(choice, [text for _, text in lines], numbers, layout.lines, room)


def _telling_lines(chunk: Chunk, kind: str) -> list[tuple[int, str]]:
    """The lines with their offsets, without blank ones and without headings that the title of the hit names."""
    offset = len(chunk.text) - len(chunk.text.lstrip("\n"))
    lines = [(at, line) for at, line in enumerate(chunk.text.strip("\n").split("\n"), offset) if line.strip()]
    if kind == "code":
        return lines or [(0, "")]
    names = {name.strip() for name in chunk.trail}
    telling = [it for it in lines if not ((found := _HEADING.fullmatch(it[1])) and found["name"] in names)]
    return telling or lines or [(0, "")]


def _clipped_rows(choice: LineChoice, numbers: list[str], most: int, room: int) -> list[_Row]:
    """One row for each line: code is read by its shape."""
    best = choice.best(most, _UNCUT_CHARS)
    shown = textwrap.dedent("\n".join(map(_printable, best.lines))).split("\n")
    return [_Row(numbers[best.start + at], _clip(text, room)) for at, text in enumerate(shown)]


def _wrapped_rows(choice: LineChoice, lines: list[str], numbers: list[str], most: int, room: int) -> list[_Row]:
    """As many of the best lines of prose as fit, wrapped; the last row is cut where the text goes on."""
    for count in range(most, 0, -1):
        best = choice.best(count, most * room)
        rows = [row for at, line in enumerate(best.lines) for row in _rows_of(line, numbers[best.start + at], room)]
        if len(rows) <= most:
            break
    end = best.start + len(best.lines)
    while len(rows) < most and end < len(lines):
        rows += _rows_of(lines[end], numbers[end], room)
        end += 1
    if len(rows) <= most:
        return rows
    last = rows[most - 1]
    return [*rows[: most - 1], _Row(last.number, _clip(f"{last.text} …", room))]


def _rows_of(line: str, number: str, room: int) -> list[_Row]:
    return [_Row("" if part else number, text) for part, text in enumerate(_wrap(_printable(line), room))]


def _printable(line: str) -> str:
    return escape(line).expandtabs(_TAB_COLUMNS)


def _wrap(line: str, room: int) -> list[str]:
    indent = " " * min(len(line) - len(line.lstrip()), room // 2)
    wrapped = textwrap.wrap(line.strip(), room - len(indent), break_on_hyphens=False)
    # Letters of two columns are wrapped as if they had one: each such row is cut in two.
    return [f"{indent}{part}" for row in wrapped for part in _halves(row, room - len(indent))] or [""]


def _halves(row: str, room: int) -> list[str]:
    return [row] if _cells(row) <= room else [row[: len(row) // 2], row[len(row) // 2 :]]


def _clip(text: str, room: int) -> str:
    """The beginning of the text, with an ellipsis where it does not fit; nothing where there is hardly any room."""
    if _cells(text) <= room:
        return text
    if room < 2:
        return ""
    while _cells(text) > room - 1:
        text = text[: max(len(text) - max((_cells(text) - room + 1) // 2, 1), 0)]
    return f"{text.rstrip()}…"


def _cells(text: str) -> int:
    """How many columns the text takes."""
    return len(text) if text.isascii() else len(text) + sum(map(_extra_cells, text))


def _extra_cells(letter: str) -> int:
    return -1 if unicodedata.combining(letter) else int(unicodedata.east_asian_width(letter) in "WF")


def _step_line(name: str, before: int, after: int, ms: float, note: str) -> str:
    return f"{name:>16}  {before:>5} → {after:<5} {ms:8.2f} ms{f'  {note}' if note else ''}"
