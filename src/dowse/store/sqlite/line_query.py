"""Answer grep queries from the segments of the line index."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from heapq import nsmallest
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from dowse.store.sqlite.line_segment import (
    Array,
    Positions,
    Segment,
    distinct,
    expand_runs,
    has_between,
    is_among,
    run_lengths,
    run_starts,
)
from dowse.store.sqlite.line_state import LineIndexState, LiveSegment
from dowse.store.types import (
    MAX_LISTED_WORDS,
    SCORE_DIGITS,
    FileLines,
    LineMatches,
    LineQuery,
    PatternTerm,
    PhraseTerm,
    WordTerm,
)
from dowse.text.regex import LineRegex, WordClause, compile_line_regex
from dowse.text.tokenize import WordTest, fold_case, phrase_regex

# --------------------------------------------------------------------------------------------------
# Finds the words of a segment that pass a test, and their lines.

_MAX_POSTINGS_PER_BATCH = 1 << 22  # postings
_FEW_POSTINGS = 2_000  # postings: reading these lines costs less than further lookups
_NO_WORDS = np.zeros(0, dtype=np.int64)


def words_matching(segment: Segment, test: WordTest) -> Positions:
    """Return the positions of matching words in the vocabulary, ascending."""
    if test.kind == "matches":
        offsets = _regex_offsets(segment, test.text)
    else:
        word = test.text.encode("utf-8", "replace")
        if test.kind == "is":
            place = segment.place_of(word)
            return _NO_WORDS if place is None else np.array([place])
        before, after = b"\n" * (test.kind == "begins"), b"\n" * (test.kind == "ends")
        offsets = list(_occurrences(segment.vocabulary, before + word + after, len(before)))
    # Same dtype as the array, or numpy would convert the whole array.
    places = np.searchsorted(segment.word_starts, np.array(offsets, dtype=np.uint32), side="right") - 1
    return distinct(places)


def _occurrences(vocabulary: bytes, part: bytes, shift: int) -> Iterator[int]:
    at = vocabulary.find(part)
    while at >= 0:
        yield at + shift
        at = vocabulary.find(part, at + 1)


def _regex_offsets(segment: Segment, pattern: str) -> list[int]:
    """Return the offsets of words that the pattern matches completely; the vocabulary is case-folded."""
    regex = compile_line_regex(whole_word(pattern), False)
    words = memoryview(segment.vocabulary)[1:]
    return [offset + 1 for offset in regex.places(words)]


def whole_word(pattern: str) -> str:
    return f"^(?:{pattern})$"


def words_matching_any(segment: Segment, clause: WordClause) -> Positions:
    found = [words_matching(segment, test) for test in clause]
    return found[0] if len(found) == 1 else distinct(np.sort(np.concatenate(found)))


def count_postings(segment: Segment, places: Positions) -> int:
    """Return the number of postings of these words."""
    ends = segment.word_postings
    return int((ends[places + 1] - ends[places]).sum())


def posting_batches(segment: Segment, places: Positions) -> Iterator[Positions]:
    """Split the words into batches whose postings fit into memory."""
    counts = segment.word_postings[places + 1] - segment.word_postings[places]
    group = np.cumsum(counts) // _MAX_POSTINGS_PER_BATCH
    yield from np.split(places, np.flatnonzero(np.diff(group)) + 1)


def postings(segment: Segment, places: Positions) -> tuple[NDArray[np.uint32], Positions]:
    """Return the lines of these words, word by word, and the number of each."""
    if len(places) == 1:
        lines = segment.lines_of(int(places[0]))
        return lines, np.array([len(lines)])
    begins = segment.word_postings[places]
    counts = segment.word_postings[places + 1] - begins
    return segment.postings.at(expand_runs(begins, counts)), counts


def lines_with(segment: Segment, places: Positions) -> Array:
    """Return the lines with any of these words, ascending."""
    if len(places) == 1:
        return segment.lines_of(int(places[0]))
    if count_postings(segment, places) <= _MAX_POSTINGS_PER_BATCH:
        return distinct(np.sort(postings(segment, places)[0]))
    seen = np.zeros(int(segment.file_lines[-1]), dtype=np.bool_)
    for batch in posting_batches(segment, places):
        seen[postings(segment, batch)[0]] = True
    return np.flatnonzero(seen)


def rarest_clauses(segment: Segment, clauses: Iterable[WordClause]) -> list[Positions]:
    """Return the words of the clauses, fewest postings first; clauses not worth a lookup are left out."""
    found: list[Positions] = []
    for clause in sorted(clauses, key=_lookup_priority, reverse=True):
        found.append(words_matching_any(segment, clause))
        if count_postings(segment, found[-1]) <= _FEW_POSTINGS:
            break
    return sorted(found, key=lambda places: count_postings(segment, places))


def _lookup_priority(clause: WordClause) -> tuple[bool, int]:
    """Sort key: clauses of whole words are the quickest to look up; else longer texts are rarer."""
    return all(test.kind == "is" for test in clause), min(len(test.text) for test in clause)


# --------------------------------------------------------------------------------------------------
# Selects the files of a segment that a query may return: live, inside the scope, and with an accepted path.

_UNTESTED = -1


class FileFilter:
    def __init__(
        self, live: LiveSegment, inside: NDArray[np.int64] | None, path_filter: Callable[[str], bool] | None
    ) -> None:
        """`inside` are the record keys of the scope, None for everything."""
        self._live = live
        self._path_filter = path_filter
        self._allowed = live.alive if inside is None else self._live_files(inside)
        # Each path is tested once, and only if its file matches.
        self._path_results = np.full(live.segment.files, _UNTESTED, dtype=np.int8) if path_filter else None

    def _live_files(self, records: NDArray[np.int64]) -> NDArray[np.bool_]:
        segment = self._live.segment
        inside = np.zeros(segment.files, dtype=np.bool_)
        inside[segment.files_of(records)] = True
        return inside if self._live.alive is None else inside & self._live.alive

    def allows(self, files: Positions) -> NDArray[np.bool_]:
        """Return whether each of these files may be returned."""
        result = np.ones(len(files), dtype=np.bool_) if self._allowed is None else self._allowed[files]
        if self._path_results is not None and self._path_filter is not None:
            for file in distinct(np.sort(files[result])).tolist():
                if self._path_results[file] == _UNTESTED:
                    self._path_results[file] = self._path_filter(self._live.segment.name(file).path)
            result = result & (self._path_results[files] == 1)
        return result


# --------------------------------------------------------------------------------------------------
# Regex search over lines: reads the lines whose words allow a match, or all lines, until the deadline.

_WORK_PER_STEP = 1 << 26  # bytes × size of the regex: a fraction of a second at worst
_MAX_STEP_BYTES = 1 << 22
_MIN_STEP_BYTES = 1 << 14
_MAX_POSTINGS_PER_CANDIDATE = 8  # postings per candidate up to which a lookup costs less than reading the lines
_SPARSE_DIVISOR = 4  # fewer candidates than 1 in 4 lines: collecting them costs less than reading everything


@dataclass(slots=True)
class Deadline:
    """A time limit that remembers whether it was exceeded."""

    deadline_s: float
    _end: float = field(init=False)
    is_over: bool = False

    def __post_init__(self) -> None:
        self._end = time.monotonic() + self.deadline_s

    def has_expired(self) -> bool:
        self.is_over = self.is_over or time.monotonic() > self._end
        return self.is_over


def scan_lines(segment: Segment, term: PatternTerm, gate: FileFilter, clock: Deadline) -> Positions:
    regex = compile_line_regex(term.pattern, term.case_sensitive)
    candidates = _candidate_lines(segment, term)
    found: list[Positions] = []
    parts: Iterator[tuple[bytes | memoryview, Positions, Positions]]
    if candidates is None or len(candidates) * _SPARSE_DIVISOR > int(segment.file_lines[-1]):
        parts = _read_all_lines(segment, gate, _step_bytes(regex))
    else:
        candidates = candidates[gate.allows(segment.files_at(candidates))]
        parts = _read_lines(segment, candidates, _step_bytes(regex))
    for content, lines, starts in parts:
        if clock.has_expired():
            break
        found.append(_matching_rows(regex, content, lines, starts))
    return np.concatenate(found) if found else np.zeros(0, dtype=np.int64)


def _step_bytes(regex: LineRegex) -> int:
    return min(max(_WORK_PER_STEP // regex.cost, _MIN_STEP_BYTES), _MAX_STEP_BYTES)


def _matching_rows(regex: LineRegex, content: bytes | memoryview, lines: Positions, starts: Positions) -> Positions:
    places = np.fromiter(regex.places(content), dtype=np.int64)
    rows = np.searchsorted(starts, places, side="right") - 1
    return lines[distinct(rows)]


def _candidate_lines(segment: Segment, term: PatternTerm) -> Array | None:
    """Return the lines whose words allow a match; None if unknown."""
    if not term.clauses:
        return None
    first, *others = rarest_clauses(segment, term.clauses)
    lines = lines_with(segment, first)
    for places in others:
        if not len(lines) or count_postings(segment, places) > _MAX_POSTINGS_PER_CANDIDATE * len(lines):
            break
        lines = lines[is_among(lines, lines_with(segment, places))]
    return lines


def _read_lines(segment: Segment, lines: Array, step: int) -> Iterator[tuple[bytes | memoryview, Positions, Positions]]:
    """Yield the joined text of these lines in parts, with the lines and where each begins."""
    lines = lines.astype(np.int64)
    begins, ends = segment.offsets(lines), segment.offsets(lines + 1)
    lengths = ends - begins
    group = np.cumsum(lengths) // step
    for rows in np.split(np.arange(len(lines)), np.flatnonzero(np.diff(group)) + 1):
        if len(rows):
            content = segment.text.at(expand_runs(begins[rows], lengths[rows])).tobytes()
            yield content, lines[rows], np.cumsum(lengths[rows]) - lengths[rows]


def _read_all_lines(
    segment: Segment, gate: FileFilter, step: int
) -> Iterator[tuple[bytes | memoryview, Positions, Positions]]:
    """Yield the text of all accepted files in parts."""
    for first, after in _true_runs(gate.allows(np.arange(segment.files))):
        line, end = int(segment.file_lines[first]), int(segment.file_lines[after])
        while line < end:
            ahead = segment.line_starts.slice(line, end + 1)
            reach = min(int(ahead[0]) + step, int(ahead[-1]))
            # Same dtype as the array, or numpy would convert the whole array.
            upto = max(line + int(np.searchsorted(ahead, ahead.dtype.type(reach))), line + 1)
            starts = segment.line_starts.slice(line, upto).astype(np.int64)
            yield segment.content(line, upto), np.arange(line, upto), starts - starts[0]
            line = upto


def _true_runs(is_open: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return start and end of each run of accepted files."""
    edges = np.flatnonzero(np.diff(is_open, prepend=False, append=False)).tolist()
    return list(zip(edges[::2], edges[1::2], strict=True))


# --------------------------------------------------------------------------------------------------
# Phrase search, also across line ends: candidates come from the postings, then the text decides.

_NO_LINES = np.zeros(0, dtype=np.int64)
_CANDIDATES_PER_BATCH = 2_000  # candidates
_TEXT_SEPARATOR = "\0"  # occurs in no text, and is neither a blank nor part of a word


def find_phrase(segment: Segment, term: PhraseTerm, gate: FileFilter, clock: Deadline) -> Positions:
    """Return the lines in which the phrase begins."""
    places = [segment.place_of(fold_case(word).encode("utf-8", "replace")) for word in term.words]
    if None in places:
        return _NO_LINES
    lines = [lines_with(segment, np.array([place])) for place in places]
    ranks = _phrase_candidates(segment, lines)
    first = segment.lines_with_words.at(ranks)
    is_open = gate.allows(segment.files_at(first))
    return _confirm(segment, ranks[is_open], term, clock)


def _phrase_candidates(segment: Segment, lines: Sequence[Array]) -> Positions:
    """Return candidates as positions among the lines with words.

    Among these, each word of a phrase is in the line of the word before it, or in the next one.
    """
    worded = segment.lines_with_words.load()
    rarest = min(range(len(lines)), key=lambda word: len(lines[word]))
    ranks = np.searchsorted(worded, lines[rarest])
    starts = distinct(np.sort(np.concatenate([ranks - back for back in range(rarest + 1)])))
    starts = starts[starts >= 0]
    for word in sorted(range(len(lines)), key=lambda word: len(lines[word])):
        last = worded[np.minimum(starts + word, len(worded) - 1)]
        starts = starts[has_between(lines[word], worded[starts], last)]
    return starts


def _confirm(segment: Segment, ranks: Positions, term: PhraseTerm, clock: Deadline) -> Positions:
    firsts = segment.lines_with_words.at(ranks).astype(np.int64)
    lasts = segment.lines_with_words.at(
        np.minimum(ranks + len(term.words) - 1, len(segment.lines_with_words) - 1)
    ).astype(np.int64)
    ends = segment.file_lines[segment.files_at(firsts) + 1].astype(np.int64)
    afters = np.minimum(lasts + 1, ends)
    found = [_NO_LINES]
    for start in range(0, len(firsts), _CANDIDATES_PER_BATCH):
        if clock.has_expired():
            break
        part = slice(start, start + _CANDIDATES_PER_BATCH)
        found.append(firsts[part][_texts_with_phrase(segment.contents(firsts[part], afters[part]), term)])
    return np.concatenate(found)


def _texts_with_phrase(texts: Sequence[str], term: PhraseTerm) -> Positions:
    """Return which texts have the phrase begin in their first line; all are searched at once."""
    joined = _TEXT_SEPARATOR.join(texts)
    sizes = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts)) + len(_TEXT_SEPARATOR)
    heads = np.fromiter((text.find("\n") for text in texts), dtype=np.int64, count=len(texts))
    starts = np.cumsum(sizes) - sizes
    matches = phrase_regex(term.words).finditer(joined if term.case_sensitive else fold_case(joined))
    places = np.fromiter((match.start() for match in matches), dtype=np.int64)
    rows = np.searchsorted(starts, places, side="right") - 1
    return distinct(rows[places - starts[rows] < heads[rows]])


# --------------------------------------------------------------------------------------------------
# Matches of one term: lines of a segment, with occurrences and score for each file.

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class TermMatches:
    """`lines` (ascending) include those of filtered files; `files` (ascending) do not."""

    lines: Array
    files: Positions
    occurrences: Positions
    scores: FloatArray


@dataclass(frozen=True, slots=True)
class SegmentTarget:
    """A segment to search, with its file filter."""

    live: LiveSegment
    file_filter: FileFilter

    @property
    def segment(self) -> Segment:
        return self.live.segment


def match_term(
    term: WordTerm | PatternTerm | PhraseTerm, places: Sequence[SegmentTarget], files: int, clock: Deadline
) -> tuple[list[TermMatches], list[str]]:
    """Return the matches in each segment, and the words that passed the test."""
    if isinstance(term, WordTerm):
        passed = [words_matching(place.segment, term.test) for place in places]
        weights = _inverse_file_frequency(places, passed, files)
        marks = [_match_words(*it, clock) for it in zip(places, passed, weights, strict=True)]
        return marks, [] if term.test.kind == "is" else list(_word_texts(places, passed))
    found = [
        find_phrase(it.segment, term, it.file_filter, clock)
        if isinstance(term, PhraseTerm)
        else scan_lines(it.segment, term, it.file_filter, clock)
        for it in places
    ]
    return _score_lines(places, found, files), []


def _word_texts(places: Sequence[SegmentTarget], passed: Sequence[Positions]) -> Iterator[str]:
    for place, words in zip(places, passed, strict=True):
        alive = words[place.live.word_files[words] > 0]
        yield from (place.segment.word(word).decode() for word in alive[:MAX_LISTED_WORDS].tolist())


# --- words ---


def _inverse_file_frequency(
    places: Sequence[SegmentTarget], passed: Sequence[Positions], files: int
) -> list[FloatArray]:
    """Return ln(files / files with it) of each word."""
    counts = [place.live.word_files[words].astype(np.int64) for place, words in zip(places, passed, strict=True)]
    if sum(map(bool, map(len, counts))) > 1:
        counts = _sum_over_segments(places, passed, counts)
    return [np.log(max(files, 1) / np.maximum(count, 1)) for count in counts]


def _sum_over_segments(
    places: Sequence[SegmentTarget], passed: Sequence[Positions], counts: Sequence[Positions]
) -> list[Positions]:
    """Return the file counts of words that occur in several segments, summed over all of them."""
    names = [[place.segment.word(word) for word in words.tolist()] for place, words in zip(places, passed, strict=True)]
    total: Counter[bytes] = Counter()
    for words, count in zip(names, counts, strict=True):
        total.update(dict(zip(words, count.tolist(), strict=True)))
    return [np.array([total[word] for word in words], dtype=np.int64) for words in names]


def _match_words(place: SegmentTarget, words: Positions, weights: FloatArray, clock: Deadline) -> TermMatches:
    if len(words) == 1:
        lines = place.segment.lines_of(int(words[0]))
        files, counts = count_lines_per_file(place.segment, lines)
        return _apply_filter(place, lines, files, counts, counts * weights[0])
    return _match_many_words(place, words, weights, clock)


def _match_many_words(place: SegmentTarget, words: Positions, weights: FloatArray, clock: Deadline) -> TermMatches:
    segment = place.segment
    occurrences = np.zeros(segment.files, dtype=np.int64)
    scores = np.zeros(segment.files)
    looked = 0
    lines: Array = np.zeros(0, dtype=np.uint32)
    for batch in posting_batches(segment, words):
        if not len(batch) or clock.has_expired():
            break
        lines, counts = postings(segment, batch)
        files = segment.files_at(lines)
        occurrences += np.bincount(files, minlength=segment.files)
        scores += np.bincount(files, np.repeat(weights[looked : looked + len(batch)], counts), segment.files)
        looked += len(batch)
    found = np.flatnonzero(occurrences)
    every = distinct(np.sort(lines)) if len(lines) == occurrences.sum() else lines_with(segment, words[:looked])
    return _apply_filter(place, every, found, occurrences[found], scores[found])


def _apply_filter(
    place: SegmentTarget, lines: Array, files: Positions, occurrences: Positions, scores: FloatArray
) -> TermMatches:
    is_open = place.file_filter.allows(files)
    files, occurrences = files[is_open], occurrences[is_open]
    return TermMatches(lines, files, occurrences, scores[is_open] / place.segment.file_words[files])


def count_lines_per_file(segment: Segment, lines: Array) -> tuple[Positions, Positions]:
    """Return the files of these lines, ascending, and the number of lines in each."""
    if len(lines) > segment.files:
        counts = np.diff(np.searchsorted(lines, segment.file_lines))
        files = np.flatnonzero(counts)
        return files, counts[files]
    of_lines = segment.files_at(lines)
    starts = run_starts(of_lines)
    return of_lines[starts], run_lengths(starts, len(of_lines))


# --- lines ---


def _score_lines(places: Sequence[SegmentTarget], found: Sequence[Positions], files: int) -> list[TermMatches]:
    """Score lines as if they shared one word. A file without any word counts as if it had one."""
    counts = [count_lines_per_file(place.segment, lines) for place, lines in zip(places, found, strict=True)]
    rarity = np.log(max(files, 1) / max(sum(len(it[0]) for it in counts), 1))
    return [
        TermMatches(
            lines, term_files, line_counts, line_counts * rarity / np.maximum(place.segment.file_words[term_files], 1)
        )
        for place, lines, (term_files, line_counts) in zip(places, found, counts, strict=True)
    ]


def find_matching_lines(state: LineIndexState, query: LineQuery, inside: NDArray[np.int64] | None) -> LineMatches:
    """Run the query; `inside` are the record keys of its scope, None for everything."""
    places = [SegmentTarget(part, FileFilter(part, inside, query.path_filter)) for part in state.parts]
    clock = Deadline(query.deadline_s)
    by_term: list[list[TermMatches]] = []
    words: dict[str, None] = {}
    for term in query.terms:
        marks, passed = match_term(term, places, state.files, clock)
        by_term.append(marks)
        words |= dict.fromkeys(passed)
    parts = [
        _SegmentResult.of(place.segment, marks, query)
        for place, marks in zip(places, zip(*by_term, strict=True), strict=True)
    ]
    return LineMatches(
        files=_best_files(parts, query.limit),
        total_files=sum(len(part.files) for part in parts),
        total_occurrences=sum(int(part.occurrences.sum()) for part in parts),
        words=tuple(islice(sorted(words), MAX_LISTED_WORDS)),
        index_files=state.files,
        index_words=state.words,
        cut=f"stopped after {query.deadline_s:g} s, before the end; narrow the search" if clock.is_over else "",
    )


@dataclass(frozen=True, slots=True)
class _SegmentResult:
    """The matching files of a segment, ascending."""

    segment: Segment
    marks: Sequence[TermMatches]
    files: Positions
    scores: NDArray[np.float64]
    occurrences: Positions
    matched_lines: Positions

    @classmethod
    def of(cls, segment: Segment, marks: Sequence[TermMatches], query: LineQuery) -> _SegmentResult:
        if len(marks) == 1:
            files, occurrences, scores = marks[0].files, marks[0].occurrences, marks[0].scores
            matched = np.ones(len(files), dtype=np.int64)
        else:
            combined = np.concatenate([it.files for it in marks])
            files = distinct(np.sort(combined))
            rows = np.searchsorted(files, combined)
            occurrences = _sums(rows, [it.occurrences for it in marks]).astype(np.int64)
            scores = _sums(rows, [it.scores for it in marks])
            matched = np.bincount(rows)
        part = cls(segment, marks, files, scores, occurrences, matched)
        if query.match_all:
            part = part._select(np.flatnonzero(matched == len(marks)))
        return part._score_by_lines() if query.rank_by_count else part

    def _select(self, rows: Positions) -> _SegmentResult:
        return _SegmentResult(
            self.segment,
            self.marks,
            self.files[rows],
            self.scores[rows],
            self.occurrences[rows],
            self.matched_lines[rows],
        )

    def _score_by_lines(self) -> _SegmentResult:
        return _SegmentResult(
            self.segment, self.marks, self.files, self.occurrences.astype(float), self.occurrences, self.matched_lines
        )

    def best_files(self, limit: int) -> list[FileLines]:
        scores = np.round(self.scores, SCORE_DIGITS)
        rows = np.arange(len(scores))
        if 0 < limit < len(rows):
            least = np.partition(scores, len(scores) - limit)[len(scores) - limit]
            rows = np.flatnonzero(scores >= least)
        # Files are ordered by path, and the sort is stable.
        rows = rows[np.argsort(-scores[rows], kind="stable")]
        return self._file_lines(rows[:limit] if limit else rows)

    def _file_lines(self, rows: Positions) -> list[FileLines]:
        files = self.files[rows]
        first, after = self.segment.file_lines[files], self.segment.file_lines[files + 1]
        lines = _merge_lines([_lines_per_file(marks, first, after) for marks in self.marks])
        scores = np.round(self.scores[rows], SCORE_DIGITS).tolist()
        occurrences, matched = self.occurrences[rows].tolist(), self.matched_lines[rows].tolist()
        shown: list[FileLines] = []
        for row, file in enumerate(files.tolist()):
            path, collection = self.segment.name(file)
            shown.append(FileLines(collection, path, scores[row], lines[row], occurrences[row], matched[row]))
        return shown


def _sums(rows: Positions, values: Sequence[Array]) -> NDArray[np.float64]:
    """Return the sum of the values of each row."""
    return np.bincount(rows, np.concatenate(values)).astype(np.float64)


def _lines_per_file(marks: TermMatches, first: Array, after: Array) -> list[tuple[int, ...]]:
    """Return the matching lines of each file, counted from 1."""
    lows, highs = np.searchsorted(marks.lines, first), np.searchsorted(marks.lines, after)
    counts = highs - lows
    lines = (marks.lines[expand_runs(lows, counts)] - np.repeat(first, counts) + 1).tolist()
    ends = np.cumsum(counts).tolist()
    return [tuple(lines[end - count : end]) for end, count in zip(ends, counts.tolist(), strict=True)]


def _merge_lines(of_terms: Sequence[list[tuple[int, ...]]]) -> list[tuple[int, ...]]:
    """Return the lines of all terms together, for each file."""
    if len(of_terms) == 1:
        return of_terms[0]
    return [tuple(sorted(set().union(*lines))) for lines in zip(*of_terms, strict=True)]


def _best_files(parts: Sequence[_SegmentResult], limit: int) -> tuple[FileLines, ...]:
    found = [part.best_files(limit) for part in parts if len(part.files)]
    if len(found) == 1:
        return tuple(found[0])
    combined = [file for files in found for file in files]
    return tuple(nsmallest(limit or len(combined), combined, key=lambda it: (-it.score, it.path, it.collection)))
