"""Chunks whose code has the query's words: code files, and fenced code in documents."""

from __future__ import annotations

import re
from dataclasses import dataclass

from dowse.model import Scored, Stored
from dowse.search.retrieve import matched
from dowse.search.run import Run
from dowse.text.names import camel_parts, names, words
from dowse.text.terms import parse

_FENCED = re.compile(r"^[ \t]*(```|~~~)[^\n]*\n(.*?)(?:^[ \t]*\1|\Z)", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class CodeBlocks:
    """What BM25 finds, without the chunks whose code lacks the words: it must have `least` of the query's."""

    kinds: tuple[str, ...] = ("code",)
    least: float = 0.8

    def __call__(self, run: Run) -> list[Scored]:
        terms = parse(run.query.text)
        written = {word.lower(): word for word in words(run.query.text)}
        asked = _parts(
            " ".join(written.get(word, word) for term in (*terms.required, *terms.wanted) for word in term.words)
        )
        found = matched(terms, run.query.scope, run)
        chunks = run.store.load([it.key for it in found])
        kept = {it.key for it in chunks if len(asked & self._words(it)) >= self.least * len(asked)}
        if not kept:
            run.notes.append("no code has the words of the query")
        return [it for it in found if it.key in kept]

    def _words(self, stored: Stored) -> set[str]:
        """The words of a chunk's code, its names in parts."""
        text = stored.chunk.text
        code = text if stored.record.kind in self.kinds else "\n".join(body for _, body in _FENCED.findall(text))
        return _parts(code) if code else set()


def _parts(text: str) -> set[str]:
    """Its words, each name in place of its parts: `parse_json` and `parseJson` are parse and json."""
    parts = (part for word in words(text) for part in word.split("_") if part)
    return {piece.lower() for part in parts for piece in camel_parts(part) or (names(part) or part).split()}
