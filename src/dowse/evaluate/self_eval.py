"""Synthetic questions from the user's own files, and weights that suit them."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import chain, groupby, islice, zip_longest
from statistics import fmean
from types import MappingProxyType

from dowse.errors import BadInput
from dowse.evaluate.gold import DocumentJudge, GoldQuery
from dowse.evaluate.metrics import Comparison, Scores, compare_scores
from dowse.model import StoredChunk
from dowse.text.code_names import defined_names, split_name_parts
from dowse.text.tokenize import STOP_WORDS, cjk_runs, split_words

# --------------------------------------------------------------------------------------------------
# Documentation of definitions in source code: docstrings below them and comments above them.

_DOCSTRING = re.compile(r":[ \t]*\n[ \t]+[rR]?(\"\"\"|''')(.{1,2000}?)\1", re.DOTALL)
_COMMENT_PREFIX = re.compile(r"[ \t]*(?:///?!?|#+(?![!\[])|/\*+|\*+(?!/)|--)")
_COMMENT_END = re.compile(r"[ \t]*\*+/")
_DECORATOR_LINE = re.compile(r"[ \t]*(?:@|#\[)")  # decorators and attributes
_GO_METHOD = re.compile(r"func \([^)]*\)\s*(\w+)")
_DOC_SENTENCE_END = re.compile(r"(?<=[.!?。])(?:\s|$)|\n[ \t]*\n")


def documented_definitions(text: str) -> Iterator[tuple[str, str]]:
    """Yield the first sentence about each definition, and the text without that documentation."""
    yield from _from_docstring_text(text)
    yield from _from_comment_lines(text)


def _from_docstring_text(text: str) -> Iterator[tuple[str, str]]:
    for match in _DOCSTRING.finditer(text):
        names = defined_names(text[: match.start()])
        if names:
            yield _first_sentence(match[2], names[-1]), text[: match.start()] + text[match.end() :]


def _from_comment_lines(text: str) -> Iterator[tuple[str, str]]:
    lines = text.split("\n")
    comment_lines: list[str] = []
    first_line = 0
    for at, line in enumerate(lines):
        if _COMMENT_END.match(line) or _DECORATOR_LINE.match(line):
            continue
        comment = _COMMENT_PREFIX.match(line)
        if comment:
            first_line = first_line if comment_lines else at
            comment_lines.append(line[comment.end() :].strip().removesuffix("*/").rstrip("* "))
            continue
        names = _names_defined_by(line)
        if names and any(comment_lines):
            yield _first_sentence("\n".join(comment_lines), names[0]), "\n".join([*lines[:first_line], *lines[at:]])
        comment_lines = []


def _names_defined_by(line: str) -> list[str]:
    return [*defined_names(line)] or _GO_METHOD.findall(line)


def _first_sentence(text: str, name: str) -> str:
    """Return the first sentence on one line, without a leading name, which would give the answer away."""
    first = " ".join(_DOC_SENTENCE_END.split(text.strip(), maxsplit=1)[0].split())
    return first.removeprefix(f"{name} ").rstrip(".")


HEADING_QUESTIONS, DOCSTRING_QUESTIONS, MEMORY_QUESTIONS, COMMIT_QUESTIONS = (
    "headings",
    "docstrings",
    "memories",
    "commits",
)
QUESTION_ORIGINS: Mapping[str, str] = MappingProxyType(
    {
        HEADING_QUESTIONS: "a heading and its parent headings → its section",
        DOCSTRING_QUESTIONS: "the first sentence of a docstring or comment → the code it describes",
        MEMORY_QUESTIONS: "the first sentence of a memory → its passage",
        COMMIT_QUESTIONS: "the first line of a commit's message → the files it touched",
    }
)
MAX_TOUCHED_FILES = 10  # a commit that touches more files says little about each
_MIN_HEADING_WORDS = 2
_MIN_SENTENCE_WORDS = 3  # "Fix tests" could be any commit
_MAX_QUESTION_CHARS = 300
_NOTE_SENTENCE_END = re.compile(r"(?<=[.!?])\s|\n\s*\n")
# Conventional prefixes and suffixes of a subject line: `fix(parser): … (#123)`.
_CONVENTIONAL = re.compile(r"^\w+(?:\([^)]*\))?!?:\s+|\s*\(#\d+\)$")

CommitHistory = Mapping[str, Sequence[tuple[str, Sequence[str]]]]


@dataclass(frozen=True, slots=True)
class SyntheticQuestion:
    """A question. `relevant` holds file ids if the question is for files, else passage ids."""

    origin: str
    text: str
    relevant: frozenset[str]
    overlap: float

    @property
    def for_files(self) -> bool:
        return self.origin == COMMIT_QUESTIONS


def file_id(collection: str, path: str) -> str:
    return f"{collection}:{path}"


def passage_id(stored: StoredChunk) -> str:
    return f"{file_id(stored.record.collection, stored.record.path)}#{stored.chunk.ordinal}"


def generate_questions(chunks: Iterable[StoredChunk], history: CommitHistory) -> Iterator[SyntheticQuestion]:
    """Yield all questions. Chunks must be ordered by record; `history` maps collections to subjects and paths."""
    touched = _touching_commits(history)
    by_path = _commits_by_path(touched)
    for (collection, path), found in groupby(chunks, key=lambda it: (it.record.collection, it.record.path)):
        passages = list(found)
        yield from QUESTION_MAKERS.get(passages[0].record.kind, _no_questions)(passages)
        for commit in by_path.get((collection, path), ()):
            commit.add_file(file_id(collection, path), passages)
    yield from (commit.question() for commit in touched if commit.files)


# --- headings and docstrings ----------------------------------------------------------------


def _from_headings(passages: Sequence[StoredChunk]) -> Iterator[SyntheticQuestion]:
    sections: dict[tuple[str, ...], list[StoredChunk]] = {}
    for passage in passages:
        sections.setdefault(passage.chunk.trail, []).append(passage)
    for trail, found in sections.items():
        text = " ".join(trail)
        if _has_enough_words(text, _MIN_HEADING_WORDS):
            body = [line for it in found for line in it.chunk.text.splitlines() if line.strip("#= \t") not in trail]
            relevant = frozenset(map(passage_id, found))
            yield SyntheticQuestion(HEADING_QUESTIONS, text, relevant, word_overlap(text, "\n".join(body)))


def _from_docstrings(passages: Sequence[StoredChunk]) -> Iterator[SyntheticQuestion]:
    for passage in passages:
        for sentence, rest in documented_definitions(passage.chunk.text):
            if _has_enough_words(sentence, _MIN_SENTENCE_WORDS):
                relevant = frozenset([passage_id(passage)])
                yield SyntheticQuestion(DOCSTRING_QUESTIONS, sentence, relevant, word_overlap(sentence, rest))


def _from_notes(passages: Sequence[StoredChunk]) -> Iterator[SyntheticQuestion]:
    """Ask for the headings of a note and for its first sentence, because most notes have no headings."""
    yield from _from_headings(passages)
    text = "\n".join(it for it in passages[0].chunk.text.splitlines() if not it.startswith("#")).strip()
    first, *others = _NOTE_SENTENCE_END.split(text, maxsplit=1)
    sentence = " ".join(first.split())
    if _has_enough_words(sentence, _MIN_SENTENCE_WORDS):
        rest = "\n".join([*others, *(it.chunk.text for it in passages[1:])])
        yield SyntheticQuestion(
            MEMORY_QUESTIONS, sentence, frozenset([passage_id(passages[0])]), word_overlap(sentence, rest)
        )


def _no_questions(passages: Sequence[StoredChunk]) -> Iterator[SyntheticQuestion]:
    return iter(())


# The question maker for each kind of record; records of other kinds, such as commits, are not answers.
QUESTION_MAKERS: Mapping[str, Callable[[Sequence[StoredChunk]], Iterator[SyntheticQuestion]]] = MappingProxyType(
    {"doc": _from_headings, "memory": _from_notes, "code": _from_docstrings}
)


# --- commits --------------------------------------------------------------------------------


@dataclass(slots=True)
class _TouchingCommit:
    """A commit with its indexed files, and the words of its subject that occur in them."""

    subject: str
    paths: tuple[tuple[str, str], ...]
    files: set[str] = field(default_factory=set)
    matched_words: set[str] = field(default_factory=set)

    def add_file(self, file: str, passages: Sequence[StoredChunk]) -> None:
        self.files.add(file)
        asked = content_words(self.subject)
        self.matched_words |= asked & {word for it in passages for word in content_words(it.chunk.text)}

    def question(self) -> SyntheticQuestion:
        share = len(self.matched_words) / len(content_words(self.subject))
        return SyntheticQuestion(COMMIT_QUESTIONS, self.subject, frozenset(self.files), share)


def _touching_commits(history: CommitHistory) -> list[_TouchingCommit]:
    return [
        _TouchingCommit(subject, tuple((collection, path) for path in paths))
        for collection, commits in history.items()
        for said, paths in commits
        if len(paths) <= MAX_TOUCHED_FILES and _has_enough_words(subject := _plain_subject(said), _MIN_SENTENCE_WORDS)
    ]


def _plain_subject(said: str) -> str:
    """Return the subject without conventional prefixes and suffixes; one that is too long stays unchanged."""
    return _CONVENTIONAL.sub("", said) if len(said) <= _MAX_QUESTION_CHARS else said


def _commits_by_path(touched: Sequence[_TouchingCommit]) -> dict[tuple[str, str], list[_TouchingCommit]]:
    by_path: dict[tuple[str, str], list[_TouchingCommit]] = {}
    for commit in touched:
        for place in commit.paths:
            by_path.setdefault(place, []).append(commit)
    return by_path


# --- words ----------------------------------------------------------------------------------


def word_overlap(text: str, elsewhere: str) -> float:
    """Return the share of the content words of a text that also occur in another."""
    asked = content_words(text)
    return len(asked & content_words(elsewhere)) / len(asked) if asked else 0.0


def content_words(text: str) -> set[str]:
    """Return the content words in lower case, with identifiers split into parts."""
    return {part for word in split_words(text) for part in (split_name_parts(word) or [word])} - STOP_WORDS


def _has_enough_words(text: str, least: int) -> bool:
    """Return whether the text has enough words for a question. Scripts without spaces count one per two characters."""
    joined = sum(len(run) // 2 for word in split_words(text) for run in cjk_runs(word))
    return len(text) <= _MAX_QUESTION_CHARS and max(len(content_words(text)), joined) >= least


# --------------------------------------------------------------------------------------------------
# Reproducible sampling of questions.


@dataclass(frozen=True, slots=True)
class Sample:
    """The sampled questions, out of `possible` ones; `ambiguous` ones with several answers were left out."""

    questions: tuple[SyntheticQuestion, ...]
    possible: int
    ambiguous: int

    def questions_of(self, origin: str) -> list[SyntheticQuestion]:
        return [it for it in self.questions if it.origin == origin]

    def ids(self, origin: str) -> frozenset[str]:
        return frozenset(map(question_id, self.questions_of(origin)))

    def origins(self) -> Mapping[str, tuple[int, float]]:
        """Return the number of questions and their mean overlap for each origin."""
        found = {origin: self.questions_of(origin) for origin in QUESTION_ORIGINS}
        return {origin: (len(of), fmean([it.overlap for it in of] or [0.0])) for origin, of in found.items()}


def draw_sample(questions: Iterable[SyntheticQuestion], size: int, seed: int) -> Sample:
    """Draw questions from each origin in turn.

    Questions whose words all occur elsewhere in the answer come last, because any search finds them.
    """
    all_questions = list(questions)
    counts = Counter(_normalize_question(it.text) for it in all_questions)
    unambiguous = [it for it in all_questions if counts[_normalize_question(it.text)] == 1]
    ordered = sorted(unambiguous, key=lambda it: (it.overlap == 1.0, _draw_key(it, seed)))
    turns = zip_longest(*([it for it in ordered if it.origin == origin] for origin in QUESTION_ORIGINS))
    drawn = islice((it for it in chain.from_iterable(turns) if it is not None), size)
    return Sample(tuple(drawn), len(unambiguous), len(all_questions) - len(unambiguous))


def split_halves(questions: Sequence[SyntheticQuestion]) -> tuple[frozenset[str], frozenset[str]]:
    """Split the question ids into two halves with equal numbers per origin."""
    places = {origin: iter(range(len(questions))) for origin in QUESTION_ORIGINS}
    first = frozenset(question_id(it) for it in questions if next(places[it.origin]) % 2 == 0)
    return first, frozenset(map(question_id, questions)) - first


def gold_queries(questions: Iterable[SyntheticQuestion]) -> Iterator[GoldQuery]:
    return (GoldQuery(question_id(it), it.text, DocumentJudge(dict.fromkeys(it.relevant, 1.0))) for it in questions)


def question_id(question: SyntheticQuestion) -> str:
    """Return an id made from the text, which is unique within a sample."""
    return f"{question.origin}: {question.text}"


def _normalize_question(text: str) -> str:
    return " ".join(text.lower().split())


def _draw_key(question: SyntheticQuestion, seed: int) -> bytes:
    """Return a sort key from the question itself, so that adding a file does not change the rest of the sample."""
    return hashlib.sha256(f"{seed}:{question_id(question)}".encode("utf-8", "surrogateescape")).digest()


# --------------------------------------------------------------------------------------------------
# Tuning of the fusion weights: chosen on one half of the questions, confirmed on the other.

WEIGHT_RATIOS = (0.25, 0.5, 1.0, 2.0, 4.0)
MIN_TUNING_QUESTIONS = 40
TUNING_ROUNDS = 4_000
# Questions of one origin may lose this much by chance; a larger loss rules out the change.
_TOLERATED_LOSS = 0.01
# More lexical weight needs this many questions that are not part of the text they ask for. On hand-labelled corpora,
# semantic search helps even where headings and docstrings suggest that it harms.
_MIN_UNBIASED_QUESTIONS = 10


@dataclass(frozen=True, slots=True)
class FusionWeights:
    """The weights of lexical and semantic retrieval in the fusion."""

    lexical: float = 1.0
    semantic: float = 1.0

    def __str__(self) -> str:
        return f"{self.lexical:g}:{self.semantic:g}"


DEFAULT_FUSION_WEIGHTS = FusionWeights()


@dataclass(frozen=True, slots=True)
class Advice:
    """The weights to use, the reason, and how the best alternative did against the default on the second half."""

    weights: FusionWeights
    reason: str
    confirmed: Comparison | None = None


def advise(scores: Mapping[FusionWeights, Scores], sample: Sample, measure: str, *, seed: int) -> Advice:
    """Recommend weights. `scores` must include the default; alternatives need a significant improvement."""
    if len(sample.questions) < MIN_TUNING_QUESTIONS:
        return Advice(
            DEFAULT_FUSION_WEIGHTS,
            f"{len(sample.questions)} questions are too few; at least {MIN_TUNING_QUESTIONS} are needed",
        )
    first, second = split_halves(sample.questions)
    # Prefer the weights nearest to the default among equals.
    best = max(
        scores, key=lambda it: (round(select_scores(scores[it], first).mean(measure), 6), -_distance_from_default(it))
    )
    if best == DEFAULT_FUSION_WEIGHTS:
        return Advice(DEFAULT_FUSION_WEIGHTS, "no other weights did better on the first half of the questions")
    comparison = compare_scores(
        select_scores(scores[DEFAULT_FUSION_WEIGHTS], second),
        select_scores(scores[best], second),
        measure,
        seed=seed,
        rounds=TUNING_ROUNDS,
    )
    figures = f"{comparison.mean_difference:+.4f} {measure} on the second, p {comparison.p_value:.4f}"
    summary = f"{best} did best on the first half of the questions ({figures})"
    objection = _objection(scores, best, comparison, sample, second, measure)
    return (
        Advice(DEFAULT_FUSION_WEIGHTS, f"{summary}, but {objection}", comparison)
        if objection
        else Advice(best, summary, comparison)
    )


def _objection(
    scores: Mapping[FusionWeights, Scores],
    best: FusionWeights,
    comparison: Comparison,
    sample: Sample,
    confirming_ids: Set[str],
    measure: str,
) -> str:
    """Return the reason not to use the weights, or an empty string."""
    if comparison.verdict != "better":
        return "the improvement is not significant"
    for origin in sample.origins():
        ids = confirming_ids & sample.ids(origin)
        if (
            ids
            and select_scores(scores[best], ids).mean(measure)
            < select_scores(scores[DEFAULT_FUSION_WEIGHTS], ids).mean(measure) - _TOLERATED_LOSS
        ):
            return f"it is worse for {origin}"
    if best.semantic < best.lexical and len(confirming_ids & sample.ids(COMMIT_QUESTIONS)) < _MIN_UNBIASED_QUESTIONS:
        return "most questions favour lexical search, and there are too few commits to check"
    return ""


def select_scores(scores: Scores, ids: Set[str]) -> Scores:
    """Return the scores of these questions only."""
    return Scores(tuple(it for it in scores.queries if it.id in ids))


def _distance_from_default(weights: FusionWeights) -> float:
    """Return the ratio of the larger weight to the smaller one."""
    least, most = sorted((weights.lexical, weights.semantic))
    return most / least if least else float("inf")


# --------------------------------------------------------------------------------------------------
# Formatting of scores as a table, plain or Markdown, and as dictionaries for JSON.

DEFAULT_TABLE_MEASURES = ("ndcg@10", "recall@5", "recall@10", "recall@100", "mrr")
LATENCIES = (50, 95)


def format_table(
    recipes: Mapping[str, Scores], measures: Sequence[str] | None = None, *, markdown: bool = False
) -> str:
    """Return a table with one row of means per recipe. `measures` defaults to the usual ones that were scored."""
    if not recipes:
        raise BadInput("there are no scores to show; evaluate at least one recipe")
    shown = _measures_to_show(recipes, measures)
    header = ["recipe", *shown, *(f"p{percent} ms" for percent in LATENCIES)]
    rows = [header, *([name, *_table_cells(scores, shown)] for name, scores in recipes.items())]
    return _markdown_table(rows) if markdown else _plain_table(rows)


def scores_dict(scores: Scores, *, per_query: bool = False) -> dict[str, object]:
    """Return scores for JSON. Keys are stable: they may be added but never renamed."""
    result: dict[str, object] = {
        "queries": len(scores.queries),
        "unjudged": scores.unjudged,
        "means": {measure: round(scores.mean(measure), 6) for measure in scores.measures},
        "latency_ms": {f"p{percent}": round(scores.latency_ms(percent), 3) for percent in LATENCIES},
    }
    if per_query:
        result["per_query"] = [
            {"id": query.id, "ms": round(query.ms, 3), "values": dict(query.values)} for query in scores.queries
        ]
    return result


def comparison_dict(comparison: Comparison) -> dict[str, object]:
    """Return a comparison for JSON. Keys are stable: they may be added but never renamed."""
    return {
        "queries": comparison.queries,
        "mean_difference": round(comparison.mean_difference, 6),
        "wins": comparison.wins,
        "losses": comparison.losses,
        "ties": comparison.ties,
        "low": round(comparison.low, 6),
        "high": round(comparison.high, 6),
        "p_value": round(comparison.p_value, 6),
        "verdict": comparison.verdict,
    }


def comparison_line(name: str, baseline: str, found: Comparison, measure: str) -> str:
    interval = f"{found.mean_difference:+.4f}, 95 % {found.low:+.4f} to {found.high:+.4f}, p {found.p_value:.4f}"
    counts = f"{found.wins} wins, {found.losses} losses, {found.ties} ties"
    return f"{name} against {baseline}: {found.verdict} by {measure} ({interval}; {counts})"


def _measures_to_show(recipes: Mapping[str, Scores], wanted: Sequence[str] | None) -> list[str]:
    scored = [set(scores.measures) for scores in recipes.values()]
    common = set.intersection(*scored)
    if wanted is None:
        return [measure for measure in DEFAULT_TABLE_MEASURES if measure in common]
    for measure in wanted:
        if measure not in common:
            raise BadInput(f"measure {measure!r} was not scored; choose from {', '.join(sorted(common))}")
    return list(wanted)


def _table_cells(scores: Scores, measures: list[str]) -> list[str]:
    means = [f"{scores.mean(measure):.3f}" for measure in measures]
    return means + [f"{scores.latency_ms(percent):.1f}" for percent in LATENCIES]


def _plain_table(rows: list[list[str]]) -> str:
    """Align names to the left and numbers to the right, with two spaces between columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join([row[0].ljust(widths[0]), *(map(str.rjust, row[1:], widths[1:]))]) for row in rows)


def _markdown_table(rows: list[list[str]]) -> str:
    rule = ["---", *["---:"] * (len(rows[0]) - 1)]
    escaped = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in [escaped[0], rule, *escaped[1:]])
