"""The nouns of a labelled set: corpora with questions, each with a judge of what a search found."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple


class Found(NamedTuple):
    """A hit as judges see it."""

    path: str
    start_line: int
    end_line: int
    text: str = ""


Judge = Callable[[Sequence[Found]], dict[str, float]]
"""What the ranked hits of one question score, by measure."""


@dataclass(frozen=True, slots=True)
class Question:
    id: str
    text: str
    judge: Judge


@dataclass(frozen=True, slots=True)
class Part:
    """A corpus, which is a directory or a file of JSON lines in BEIR's form, with the questions asked about it."""

    name: str
    corpus: Path
    questions: tuple[Question, ...]


@dataclass(frozen=True, slots=True)
class Published:
    """A line of figures others have published for the set."""

    label: str
    values: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class LabelledSet:
    """`measures` begin with the one that decides; a set of several parts is the mean of its parts' means."""

    name: str
    read: Callable[[Path, Path], tuple[Part, ...]]
    """Given the set's directory, and one for corpora that have to be fetched."""
    measures: tuple[str, ...]
    files: bool
    """Whether whole files are asked for, or passages."""
    depth: int
    published: tuple[Published, ...] = ()
    targets: Mapping[str, float] = field(default_factory=dict)
    """What is aimed at with the default encoder, and with the static one."""
    static_targets: Mapping[str, float] = field(default_factory=dict)
    smoke: bool = False
    """Too small to say anything but that nothing is broken."""
    folder: str = ""
    """Where it lies among the sets, if not under its own name."""
    kinds: tuple[str, ...] = ()
    """Of what kind the answers are, where the systems it is compared with hold nothing else."""
    sample: int = 0
    """How many of its questions are asked, spread evenly over its parts and their order; 0 for all of them."""

    def parts(self, bench: Path, fetched: Path) -> tuple[Part, ...]:
        parts = self.read(bench / (self.folder or self.name), fetched)
        share = self.sample / sum(len(it.questions) for it in parts) if self.sample else 1.0
        return tuple(replace(it, questions=_spread(it.questions, share)) for it in parts)

    def sampled(self, questions: int) -> LabelledSet:
        """A smaller set for many comparisons: fewer questions, and only as deep as its first measure looks."""
        return replace(self, sample=questions, depth=min(self.depth, _FIRST_PAGE))


def _spread(questions: tuple[Question, ...], share: float) -> tuple[Question, ...]:
    wanted = min(len(questions), math.ceil(len(questions) * share))
    return tuple(questions[at * len(questions) // wanted] for at in range(wanted))


_FIRST_PAGE = 10
