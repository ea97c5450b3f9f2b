"""The short form of answers that the native tools give a model: only what it needs, within a number of characters.

An answer has two forms, `structuredContent` and text, and clients show a model either. So both are made from one
*shape*, hold the same facts and fit the same budget. What is empty, or as it usually is, is left out. The command
line's `--json` has more keys, which are stable; these here follow what models need.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from dowse.lookup.read import Passage
from dowse.model import CHARS_PER_TOKEN, TRAIL_SEPARATOR, Answer, Completeness, Hit
from dowse.profiles.core_json import completeness_json, roots_json
from dowse.profiles.core_text import evidence_text, shown_notes
from dowse.profiles.tool import Reply
from dowse.search.best_lines import LineChoice, Words, words_of
from dowse.text.times import ago, iso
from dowse.text.untrusted import WARNING, is_instruction_like, numbered, one_line

Shape = dict[str, Any]

DEFAULT_TOKENS = 2_000
"""8,000 characters: what every client shows a model whole. Codex cuts the middle of longer answers."""

_HIT_LINES, _HIT_CHARS = 10, 900  # of a hit within the default budget
_LEAST = (3, 160)
_DETAIL = ((0.8, 0.75), (0.6, 0.55), (0.5, 0.4), (0.4, 0.3))  # shares of lines and characters, on the way to the least
_SHORT_HASH = 10
_NS = 1_000_000_000


def room_of(budget_tokens: int) -> int:
    return budget_tokens * CHARS_PER_TOKEN


def fit(make: Callable[[int], Reply], most: int, room: int) -> Reply:
    """The most detailed answer of which neither form is longer than `room` characters, else the least detailed one.

    `make` gives the answer of a level of detail from 0 to `most`; more detail is never shorter.
    """
    best = make(most)
    if most <= 0 or length(best) <= room:
        return best
    # Down from the top in growing steps, because most answers are only a little too long; then between two of them.
    fitting, too_long, step = 0, most, 1
    while too_long - fitting > 1:
        level = max(too_long - step, fitting + 1) if not fitting else (fitting + too_long) // 2
        reply = make(level)
        if length(reply) <= room:
            fitting, best = level, reply
        else:
            too_long, step = level, step * 2
    return best if fitting else make(0)


def length(reply: Reply) -> int:
    """Characters of the longer form, as the server sends it."""
    data = json.dumps(reply.data, ensure_ascii=False, separators=(",", ":"))
    return max(len(data), len(reply.text or ""))


def without_empty(shape: Mapping[str, object]) -> Shape:
    """Without what says nothing: None, False, zero, and empty texts, lists and mappings."""
    return {key: value for key, value in shape.items() if value}


def rounded(number: float) -> float:
    """With four digits."""
    return float(f"{number:.4g}")


def flagged(*texts: str) -> str:
    joined = "\n".join(texts)
    # What is invisible, or turns the direction, is judged text by text.
    is_flagged = is_instruction_like(joined) if joined.isascii() else any(map(is_instruction_like, texts))
    return WARNING if is_flagged else ""


def index_state(completeness: Completeness, found: int, running: str = "") -> str:
    """What keeps an answer from being complete; of an empty answer also what was searched."""
    counted = not found or not all(it.complete for it in completeness.shares)
    shares = ", ".join(f"{it.indexed:,} of {it.listed:,} {it.source}" for it in completeness.shares)
    left_out = f", {completeness.left_out:,} left out (see `status`)" if completeness.left_out else ""
    parts = (
        f"{shares} indexed{left_out}" if counted else "",
        *completeness.notes,
        *completeness.seen.sentences(),
        running,
    )
    return in_words_of_tools("; ".join(filter(None, parts)))


def in_words_of_tools(sentence: str) -> str:
    """Who has tools has no command line."""
    return sentence.replace("`dowse index`", "`index`")


# --- search ---


def search_reply(answer: Answer, budget_tokens: int, explain: bool, running: str) -> Reply:
    """Every hit with its best lines. A small budget shortens all of them before it drops any."""
    words = words_of(f"{answer.query.text} {answer.query.hypothesis}")
    levels = list(_levels(len(answer.hits), budget_tokens / DEFAULT_TOKENS))
    several = _kinds_of_several_collections(answer)
    shown = [_ShownHit(hit, words, answer.at, several) for hit in answer.hits]

    def make(level: int) -> Reply:
        count, lines, chars = levels[level]
        hits = [hit.shape(lines, chars) for hit in shown[:count]]
        shape = _answer_shape(answer, hits, running)
        return Reply(shape, search_text(shape))

    reply = fit(make, len(levels) - 1, room_of(budget_tokens))
    if not explain:
        return reply
    shape = {**reply.data, **_explanation(answer, running)}
    for shown, hit in zip(shape["hits"], answer.hits, strict=False):
        others = {name: rounded(it) for name, it in hit.evidence.items() if name != "confidence"}
        shown |= {"score": rounded(hit.score), "evidence": others}
    return Reply(shape, search_text(shape))


def _levels(hits: int, scale: float) -> Iterator[tuple[int, int, int]]:
    """How many hits, and of each how many lines and characters: from one hit with few lines to all with many."""
    least_lines, least_chars = _LEAST
    yield from ((count, least_lines, least_chars) for count in range(min(hits, 1), hits + 1))
    shares = [(lines * scale, chars * scale) for lines, chars in (*reversed(_DETAIL), (1.0, 1.0))]
    sizes = ((int(_HIT_LINES * lines), int(_HIT_CHARS * chars)) for lines, chars in shares)
    yield from ((hits, lines, chars) for lines, chars in sizes if lines > least_lines and chars > least_chars)


def _kinds_of_several_collections(answer: Answer) -> frozenset[str]:
    found = {(it.stored.record.kind, it.root, it.stored.record.collection) for it in answer.hits}
    kinds = [(kind, root) for kind, root, _ in found]
    return frozenset(kind for kind, root in kinds if kinds.count((kind, root)) > 1)


class _ShownHit:
    """One hit, of which several lengths are tried: what does not depend on the length is worked out once."""

    def __init__(self, hit: Hit, words: Words, now: float, several: frozenset[str]) -> None:
        chunk, record = hit.stored.chunk, hit.stored.record
        self._hit = hit
        self._choice = LineChoice(chunk.text, words)
        self._place = _place_shape(hit, now)
        self._collection = record.collection if record.kind in several else ""
        self._warning = flagged(chunk.text, record.path, record.title, *chunk.trail)

    def shape(self, most_lines: int, most_chars: int) -> Shape:
        hit, chunk, record = self._hit, self._hit.stored.chunk, self._hit.stored.record
        best = self._choice.best(most_lines, most_chars)
        first = chunk.start_line + best.start
        heading = best.heading if record.kind == "code" else None
        shape = {
            "chunk_id": hit.stored.chunk_id,
            "root": hit.root,
            **self._place,
            "collection": self._collection,
            "start_line": first,
            "end_line": first + len(best.lines) - 1,
            "passage": [chunk.start_line, chunk.end_line] if best.cut else None,
            "trail": TRAIL_SEPARATOR.join(chunk.trail),
            "confidence": rounded(hit.evidence["confidence"]) if "confidence" in hit.evidence else None,
            "freshness": "" if hit.freshness in ("fresh", "unknown") else hit.freshness,
            "notes": list(hit.notes),
            "heading": {"line": chunk.start_line + heading[0], "text": heading[1][:most_chars]} if heading else None,
            "text": "\n".join(best.lines),
            "warning": self._warning,
        }
        return without_empty(shape)


def _place_shape(hit: Hit, now: float) -> Shape:
    """What a file, a commit or a memory is known by."""
    record = hit.stored.record
    if record.kind == "commit":
        author = record.facets.get("author", "").partition(" <")[0]
        at = iso(record.moment_ns / _NS)[:10]
        return {"kind": "commit", "path": record.path, "at": at, "author": author, "title": record.title}
    if record.kind == "memory":
        superseded = "superseded" in hit.evidence
        age = ago(record.moment_ns / _NS, now)
        type_ = record.facets.get("type", "")
        return {"kind": "memory", "path": hit.path, "type": type_, "age": age, "superseded": superseded}
    return {"path": record.path}


def _answer_shape(answer: Answer, hits: Sequence[Shape], running: str) -> Shape:
    left_out = len(answer.hits) - len(hits)
    shape = {
        "hits": hits,
        "more": f"{left_out} more hits left out (raise `budget_tokens` or lower `limit`)" if left_out else "",
        "abstained": _abstention(answer),
        "notes": [in_words_of_tools(it) for it in shown_notes(answer)],
        "index": index_state(answer.completeness, len(answer.hits), running),
    }
    return {"hits": hits, **without_empty(shape)}


def _abstention(answer: Answer) -> str:
    """Why nothing is shown: what the quotes require is said as it is, all else in the words of tools."""
    requires = any(it.name == "phrases" for it in answer.steps)
    return answer.abstained if requires or not answer.abstained else _ABSTAINED


_ABSTAINED = (
    "nothing relevant found; ask in the words the files might use, pass `hypothesis`, or pass recipe `hybrid` to see "
    "the nearest passages anyway"
)


def _explanation(answer: Answer, running: str) -> Shape:
    steps = [
        without_empty({"name": it.label, "before": it.before, "after": it.after, "ms": rounded(it.ms), "note": it.note})
        for it in answer.steps
    ]
    completeness = {"completeness": completeness_json(answer, running), **roots_json(answer)}
    return {"recipe": answer.query.recipe, "steps": steps, **completeness}


def search_text(shape: Shape) -> str:
    count = len(shape["hits"])
    lines = [f"{count} hit{'' if count == 1 else 's'}"]
    lines += [shape[key] for key in ("index", "abstained") if key in shape]
    for rank, hit in enumerate(shape["hits"], 1):
        lines += ["", *_hit_lines(rank, hit)]
    lines += [one_line(it) for it in (shape.get("more", ""), *shape.get("notes", ())) if it]
    lines += [f"{it['name']}: {_step_text(it)}" for it in shape.get("steps", ())]
    return "\n".join(lines) + "\n"


def _step_text(step: Shape) -> str:
    note = f" ({step['note']})" if "note" in step else ""
    return one_line(f"{step.get('before', 0)} → {step.get('after', 0)} in {step.get('ms', 0)} ms{note}")


def _hit_lines(rank: int, hit: Shape) -> Iterator[str]:
    trail = hit.get("trail", "")
    sure = f"confidence {hit['confidence']}" if "confidence" in hit else ""
    whole = f"of {hit['passage'][0]}-{hit['passage'][1]}" if "passage" in hit else ""
    parts = (_place_text(hit), whole, trail, sure, f"id {hit['chunk_id']}")
    yield one_line(f"{rank}. {'  '.join(filter(None, parts))}{_state_text(hit)}")
    if "evidence" in hit:
        yield f"   score {hit['score']}: {evidence_text(hit['evidence'])}"
    yield from _remark_lines(hit)
    if "heading" in hit:
        yield from (*numbered([hit["heading"]["text"]], hit["heading"]["line"]), "…")
    yield from numbered(hit.get("text", "").split("\n"), hit["start_line"])


def _place_text(hit: Shape) -> str:
    names = "/".join(hit[key] for key in ("root", "collection") if key in hit)
    collection = f"[{names}] " if names else ""
    lines = f"{hit['start_line']}-{hit['end_line']}"
    if hit.get("kind") == "commit":
        who = f"{hit['at']} {hit.get('author', '')}: {hit.get('title', '')}"
        return f"{collection}commit {hit['path'][:_SHORT_HASH]} {who}"
    if hit.get("kind") == "memory":
        told = (hit.get("type", ""), hit["age"], "superseded" if "superseded" in hit else "")
        return f"{collection}{hit['path']}:{lines} ({', '.join(filter(None, told))})"
    return f"{collection}{hit['path']}:{lines}"


def _state_text(shape: Shape) -> str:
    return f"  [{shape['freshness']}]" if "freshness" in shape else ""


def _remark_lines(shape: Shape) -> Iterator[str]:
    yield from (f"   {one_line(note)}" for note in shape.get("notes", ()))
    if "warning" in shape:
        yield f"   ! {shape['warning']}"


# --- fetch ---


def passage_reply(passage: Passage, budget_tokens: int) -> Reply:
    """As many whole lines as fit, and where to go on; a first line that is too long by itself is cut."""
    room = room_of(budget_tokens)
    least = min(len(passage.text), room // 2)

    def make(level: int) -> Reply:
        shape = _passage_shape(_beginning(passage, least + level))
        return Reply(shape, passage_text(shape))

    return fit(make, min(len(passage.text), room) - least, room)


def _beginning(passage: Passage, chars: int) -> Passage:
    if len(passage.text) <= chars:
        return passage
    end = passage.text.rfind("\n", 0, chars + 1)
    text = passage.text[: chars if end < 0 else end]
    last = passage.start_line + text.count("\n")
    following = last + 1 if last < passage.end_line else None
    return replace(passage, text=text, end_line=last, next_line=following, cut=end < 0)


def _passage_shape(passage: Passage) -> Shape:
    record = passage.record
    shape = {
        "path": record.path,
        "kind": record.kind if record.kind in ("commit", "memory") else "",
        "start_line": passage.start_line,
        "end_line": passage.end_line,
        "total_lines": passage.total_lines,
        "freshness": "" if passage.freshness == "fresh" else passage.freshness,
        "notes": list(passage.notes),
        "text": passage.text,
        "cut": passage.cut,
        "next_line": passage.next_line,
        "warning": flagged(passage.text, record.path),
    }
    return {"text": passage.text, **without_empty(shape)}


def passage_text(shape: Shape) -> str:
    lines = f"lines {shape['start_line']}-{shape['end_line']} of {shape['total_lines']}"
    kind = f"{shape['kind']} " if "kind" in shape else ""
    ends = [
        f"… line {shape['end_line']} is longer; the rest of it is left out (raise `budget_tokens`)"
        if "cut" in shape
        else "",
        f"… go on with start_line={shape['next_line']}" if "next_line" in shape else "",
    ]
    return "\n".join(
        (
            one_line(f"{kind}{shape['path']} ({lines}){_state_text(shape)}"),
            *_remark_lines(shape),
            *numbered(shape["text"].split("\n"), shape["start_line"]),
            *filter(None, ends),
            "",
        )
    )


# --- what is only told as data ---


def listed_reply(shape: Shape, lists: Mapping[str, Sequence[object]]) -> Reply:
    """A shape with lists, the last rows of which are only counted where they do not fit; its text is its JSON."""

    def make(level: int) -> Reply:
        shown = without_empty({name: list(rows[:level]) for name, rows in lists.items()})
        hidden = {name: len(rows) - level for name, rows in lists.items() if len(rows) > level}
        more = {"more": {**hidden, "see": "`dowse status` in a terminal"}} if hidden else {}
        whole = {**shape, **shown, **more}
        return Reply(whole, json.dumps(whole, ensure_ascii=False))

    return fit(make, max((len(it) for it in lists.values()), default=0), room_of(DEFAULT_TOKENS))
