"""Tags the query names, and tags that go with them, as a weaker retriever over the documents that have them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise

from dowse.model import Scored
from dowse.search.retrieve import matched
from dowse.search.run import Run
from dowse.store.base import Weights
from dowse.text.names import words
from dowse.text.terms import Term, Terms, parse

_MAX_WORDS = 32
_LOOKED_AT = 200  # chunks of tagged documents whose other tags are counted
_ONLY_TAGS = Weights(title=0, trail=0, text=0, names=0, tags=1, path=0)


@dataclass(frozen=True, slots=True)
class Tagged:
    """At most `limit` tags: those in the query, then for each further step of `depth` those most often beside them.

    The scope is what finds a tag's documents, so this needs no list of all tags.
    """

    limit: int = 5
    depth: int = 2

    def __call__(self, run: Run) -> list[Scored]:
        if run.query.scope.tags:
            run.notes.append("skipped: the search is for some tags already")
            return []
        tags = self.tags(run)
        if not tags:
            run.notes.append("no word of the query is a tag here")
            return []
        run.notes.append(f"in {', '.join(tags)}")
        terms = parse(run.query.text)
        wanted = dict.fromkeys((*terms.wanted, *_terms(tags)))
        return matched(Terms(terms.required, tuple(wanted)), replace(run.query.scope, tags=tuple(tags)), run)

    def tags(self, run: Run) -> list[str]:
        """The query's own tags first, in its order, then those found beside them, the most frequent first."""
        asked = _candidates(run.query.text)
        beside = _tags_of_documents_with(asked, run)
        found = [tag for tag in asked if tag in beside][: self.limit]
        reached = found
        for _ in range(self.depth - 1):
            beside = _tags_of_documents_with(reached, run) if reached else Counter()
            reached = sorted(beside.keys() - found, key=lambda tag: (-beside[tag], tag))[: self.limit - len(found)]
            found = [*found, *reached]
        return found


def _candidates(text: str) -> list[str]:
    """What could be a tag: each word, and two words joined the ways tags join them."""
    single = [word.lower() for word in words(text)][:_MAX_WORDS]
    joined = [f"{first}{joint}{second}" for first, second in pairwise(single) for joint in "-_"]
    return list(dict.fromkeys([*joined, *single]))


def _tags_of_documents_with(tags: Iterable[str], run: Run) -> Counter[str]:
    """How many of the looked at documents with one of these tags have each tag."""
    tags = tuple(tags)
    terms = Terms(wanted=tuple(_terms(tags)))
    found = run.store.match(terms, replace(run.query.scope, tags=tags), _ONLY_TAGS, _LOOKED_AT)
    records = {(it.record.collection, it.record.path): it.record for it in run.store.load([it.key for it in found])}
    return Counter(tag for record in records.values() for tag in record.tags)


def _terms(tags: Iterable[str]) -> Iterable[Term]:
    """A tag as the words index sees it: its words, next to each other."""
    return (Term(tuple(words(tag))) for tag in tags if any(words(tag)))
