"""Memories that speak of a file, whether or not it is indexed or exists, and how near to a question they do."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from dowse.lookup.memories.known import known
from dowse.lookup.memories.targets import directory_of, means
from dowse.model import Link, Record, Scope
from dowse.store.base import Store
from dowse.text.memory_edges import Key, key
from dowse.text.names import words
from dowse.text.terms import parse

_OF_TEXT: Final = 0.6  # the rest of the score is how much of the question stands around the link


@dataclass(frozen=True, slots=True)
class Linking:
    """A memory and its links to what was asked about."""

    record: Record
    links: tuple[Link, ...]
    score: float = 0.0


def linking(
    store: Store, scope: Scope, target: str, roots: Sequence[str], told: Container[tuple[Key, Link]] = ()
) -> list[Linking]:
    """The memories of the scope with links to the target, newest first: those that are written alike, and those that
    are `told` to mean it."""
    is_meant = means(target, roots)
    folders = {it.name: it.root for it in store.collections()}
    found: list[Linking] = []
    for record, every in links_of(store, scope):
        here = directory_of(folders[record.collection], record.path)
        if links := tuple(it for it in every if is_meant(it.target, here) or (key(record), it) in told):
            found.append(Linking(record, links))
    return found


def links_of(store: Store, scope: Scope) -> list[tuple[Record, list[Link]]]:
    """The memories of the scope with their links, newest first; kept until a record changes."""
    return store.remembered(
        f"links of memories {scope}", lambda: [(record, store.links(record)) for record in known(store, scope)]
    )


def by_relevance(found: Iterable[Linking], question: str, scores: Mapping[Key, float]) -> list[Linking]:
    """Ranked by how well the text fits the question (`scores`, by memory; 0 to 1) and how much of the question is
    said around the link; memories that say nothing of it come last."""
    terms = parse(question)
    wanted = [f" {' '.join(it.words).casefold()} " for it in (*terms.required, *terms.wanted)]
    rated = [
        Linking(it.record, it.links, _OF_TEXT * scores.get(key(it.record), 0.0) + (1 - _OF_TEXT) * _said(wanted, it))
        for it in found
    ]
    return sorted(rated, key=lambda it: -it.score)


def _said(wanted: Sequence[str], linking: Linking) -> float:
    said = f" {' '.join(word for it in linking.links for word in words(it.context))} ".casefold()
    return sum(it in said for it in wanted) / len(wanted) if wanted else 0.0
