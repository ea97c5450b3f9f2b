"""Postings that were sorted shard by shard, word by word in one: later shards have later lines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dowse.store.sqlite.lines.arrays import Numbers, runs
from dowse.store.sqlite.lines.tokens import Vocabulary

_AT_ONCE = 1 << 22  # postings


@dataclass(frozen=True, slots=True)
class Shard:
    """The postings of some files: of each of these words, how many lines; then those lines, word after word."""

    words: Numbers
    counts: Numbers
    lines: NDArray[np.uint32]

    def renumbered(self, ranks: Numbers) -> Shard:
        """With other numbers for the words, again in ascending order."""
        words = ranks[self.words]
        order = np.argsort(words)
        begins = np.cumsum(self.counts) - self.counts
        return Shard(words[order], self.counts[order], self.lines[runs(begins[order], self.counts[order])])


@dataclass(frozen=True, slots=True)
class Merger:
    """Words in alphabetical order: `order` are their former numbers, `totals` how many postings they have."""

    words: list[bytes]
    order: Numbers
    totals: Numbers
    shards: list[Shard]

    @classmethod
    def of(cls, vocabulary: Vocabulary, shards: list[Shard]) -> Merger:
        """Both are emptied: there is no room for two of them."""
        words = sorted(vocabulary)
        order = np.fromiter(map(vocabulary.__getitem__, words), dtype=np.int64, count=len(words))
        vocabulary.clear()
        ranks = np.empty_like(order)
        ranks[order] = np.arange(len(order))
        ordered = []
        while shards:
            ordered.append(shards.pop(0).renumbered(ranks))
        totals = np.zeros(len(words), dtype=np.int64)
        for shard in ordered:
            totals[shard.words] += shard.counts
        return cls(words, order, totals, ordered)

    def word_starts(self) -> Numbers:
        """Where each word begins, with one byte before each of them and one at the end."""
        lengths = np.fromiter(map(len, self.words), dtype=np.int64, count=len(self.words))
        return np.cumsum(np.concatenate([[1], lengths + 1]))

    def postings(self) -> Iterator[NDArray[np.uint32]]:
        """As many words at a time as fit."""
        ends = np.cumsum(self.totals)
        first, done = 0, 0
        while first < len(ends):
            after = max(first + 1, int(np.searchsorted(ends, done + _AT_ONCE, side="right")))
            yield self._merged(first, after)
            first, done = after, int(ends[after - 1])
        yield np.zeros(0, dtype=np.uint32)

    def _merged(self, first: int, after: int) -> NDArray[np.uint32]:
        totals = self.totals[first:after]
        begins = np.cumsum(totals) - totals
        merged = np.empty(int(totals.sum()), dtype=np.uint32)
        for shard in self.shards:
            low, high = np.searchsorted(shard.words, [first, after])
            words, counts = shard.words[low:high] - first, shard.counts[low:high]
            at = int(shard.counts[:low].sum())
            merged[runs(begins[words], counts)] = shard.lines[at : at + int(counts.sum())]
            begins[words] += counts
        return merged
