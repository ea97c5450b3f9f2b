"""Folding of redundant candidates (passages of one commit, translations, copies), and a penalty for passages that only
quote the question."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import NamedTuple

from dowse.model import Hit, ScoredChunk
from dowse.search.confidence import query_stems, text_stem_coverage
from dowse.search.run import SearchRun, group_of_kind, groups_of_kinds
from dowse.search.stages.base import rescore, sort_by_score

_EXAMINED_PER_HIT = 4  # candidates examined per requested hit
_MIN_COPY_SIMILARITY = 0.8  # minimum Jaccard similarity of the lines of two copies
_MIN_COPY_LINES = 3  # shorter texts are alike by chance
_MIN_QUOTED_WORDS = 4  # fewer consecutive words match by chance
_MIN_ANSWER_COVERAGE = (
    0.5  # share of the question's words outside the quotation, from which a passage counts as an answer
)
_QUOTE_FACTOR = 0.25  # score factor for a passage that only quotes the question
_QUOTATION_MARKS = "\"'`“”„«»‘’"

_DOCUMENT_PATH = re.compile(r"\.(?:md|mdx|markdown|mkd|rst|txt|adoc|html?)$", re.IGNORECASE)
# Directory names and file suffixes that denote a language. They count only if the same document exists in another
# language.
_LANGUAGES = frozenset(
    [
        "am", "ar", "az", "be", "bg", "bn", "bs", "ca", "cs", "cy", "da", "de", "el", "em", "en", "eo", "es", "et",
        "eu", "fa", "fi", "fr", "ga", "gl", "gu", "he", "hi", "hr", "hu", "hy", "id", "is", "it", "ja", "ka", "kk",
        "km", "kn", "ko", "lt", "lv", "mk", "ml", "mn", "mr", "ms", "my", "nb", "ne", "nl", "nn", "no", "pa", "pl",
        "pt", "ro", "ru", "si", "sk", "sl", "sq", "sr", "sv", "sw", "ta", "te", "th", "tl", "tr", "uk", "ur", "uz",
        "vi", "zh"
    ]
)  # fmt: skip
_LANGUAGE_REGION = re.compile(r"[-_][a-z]{2,4}$", re.IGNORECASE)
_LANGUAGE_SUFFIX = re.compile(r"[._-]([a-z]{2}(?:[-_][a-z]{2,4})?)(?=\.[a-z]+$)", re.IGNORECASE)
_DEFAULT_LANGUAGES = frozenset(("", "en"))
# Words that are common in English questions and rare in other languages.
_ENGLISH_WORDS = frozenset(
    [
        "the", "how", "what", "where", "when", "why", "which", "who", "are", "does", "did", "and", "for", "with",
        "from", "this", "that", "can"
    ]
)  # fmt: skip

_SPREAD_KINDS = frozenset({"code"})
_REPEATED_FILE_FACTOR = 0.93

ChunkPlaces = Mapping[int, tuple[str, str, int]]


class DocumentVersion(NamedTuple):
    """A document's path without its language marker, and the language (empty if there is no marker)."""

    page: str
    language: str


def parse_document_version(path: str) -> DocumentVersion:
    *folders, name = path.split("/")
    for at, folder in enumerate(folders):
        if _is_language(folder):
            return DocumentVersion("/".join([*folders[:at], *folders[at + 1 :], name]), _normalize_language(folder))
    ending = _LANGUAGE_SUFFIX.search(name)
    if ending and _is_language(ending[1]):
        return DocumentVersion("/".join([*folders, _LANGUAGE_SUFFIX.sub("", name)]), _normalize_language(ending[1]))
    return DocumentVersion(path, "")


def _is_language(part: str) -> bool:
    return part[:2].lower() in _LANGUAGES and (len(part) == 2 or bool(_LANGUAGE_REGION.fullmatch(part[2:])))


def _normalize_language(language: str) -> str:
    language = language.lower()
    return "en" if language.startswith("en") else language


# --- before loading ---------------------------------------------------------------------------


def drop_redundant_candidates(fused: list[ScoredChunk], wanted: int, run: SearchRun) -> list[ScoredChunk]:
    """Keep one candidate per record of a limited group and one language per document.

    The candidate that is kept takes the best place of those it stands for. Its evidence counts the folded ones.
    """
    head, tail = fused[: wanted * _EXAMINED_PER_HIT], fused[wanted * _EXAMINED_PER_HIT :]
    places = run.view.chunk_places([it.key for it in head])
    replacements = _fold_within_records(head, places, run) | _fold_translations(head, places, run)
    kept: dict[int, ScoredChunk] = {}
    for scored in head:
        key, name = replacements.get(scored.key, (scored.key, ""))
        if name:
            run.evidence[key][name] = run.evidence[key].get(name, 0) + 1
        kept.setdefault(key, ScoredChunk(key, scored.score))
    if folded := len(head) - len(kept):
        run.notes.append(f"redundant candidates folded: {folded}")
    return [*_discount_repeated_files(list(kept.values()), places, run), *tail]


def _discount_repeated_files(head: list[ScoredChunk], places: ChunkPlaces, run: SearchRun) -> list[ScoredChunk]:
    """Reduce the score of each further passage of a file if code is searchable, so that several files appear on a page.

    The factor is mild because an answer may need several passages of one file.
    """
    if run.searchable_kinds().isdisjoint(_SPREAD_KINDS):
        return head
    passages_of_file: Counter[tuple[str, str]] = Counter()
    rescaled: list[ScoredChunk] = []
    for key, score in head:
        place = places.get(key, ("", "", 0))[:2]
        rescaled.append(ScoredChunk(key, score * _REPEATED_FILE_FACTOR ** passages_of_file[place]))
        passages_of_file[place] += 1
    return sorted(rescaled, key=lambda it: -it.score)


def _fold_within_records(head: list[ScoredChunk], places: ChunkPlaces, run: SearchRun) -> dict[int, tuple[int, str]]:
    """Map each further passage of a record of a limited group to the best passage of that record."""
    groups = groups_of_kinds(run.searchable_kinds())
    if all(it.share >= 1 for it in groups):
        return {}
    only_group = groups[0] if len(groups) == 1 else None
    first: dict[tuple[str, str], int] = {}
    replacements: dict[int, tuple[int, str]] = {}
    for key, _ in head:
        if key in places and (only_group or group_of_kind(run.kinds.get(key, ""))).share < 1:
            best = first.setdefault(places[key][:2], key)
            if best != key:
                replacements[key] = best, "passages"
    return replacements


def _fold_translations(head: list[ScoredChunk], places: ChunkPlaces, run: SearchRun) -> dict[int, tuple[int, str]]:
    """Map each passage of a translation to the best passage of the document in the language that is shown.

    That is English for an English question if it was found, else the language found first.
    """
    pages: defaultdict[tuple[str, str], dict[str, list[int]]] = defaultdict(dict)
    for key, _ in head:
        collection, path, _ = places.get(key, ("", "", 0))
        if _DOCUMENT_PATH.search(path):
            page, language = parse_document_version(path)
            pages[collection, page].setdefault(language, []).append(key)
    english = not _ENGLISH_WORDS.isdisjoint(run.query.text.lower().split())
    replacements: dict[int, tuple[int, str]] = {}
    for languages in pages.values():
        if len(languages) > 1:
            shown = next((it for it in languages if english and it in _DEFAULT_LANGUAGES), next(iter(languages)))
            best = languages[shown][0]
            replacements |= {
                key: (best, "translations") for it, keys in languages.items() if it != shown for key in keys
            }
    return replacements


# --- stages -----------------------------------------------------------------------------------


def fold_copies(hits: list[Hit], run: SearchRun) -> list[Hit]:
    """Fold passages of files that share most of their lines.

    Only passages with the same longest line are compared: comparing all pairs would take longer than the search.
    """
    by_longest_line: defaultdict[str, list[int]] = defaultdict(list)
    copies: Counter[int] = Counter()
    kept: list[int] = []
    for index, hit in enumerate(hits):
        if group_of_kind(hit.stored.record.kind).share >= 1:
            longest = max(hit.stored.chunk.text.splitlines(), key=len, default="").strip()
            original = next((it for it in by_longest_line[longest] if _is_line_copy(hit, hits[it])), None)
            if original is not None:
                copies[original] += 1
                continue
            by_longest_line[longest].append(index)
        kept.append(index)
    if not copies:
        return hits
    run.notes.append(f"{copies.total()} copies folded")
    return [_add_copy_count(hits[index], copies[index]) for index in kept]


def _is_line_copy(hit: Hit, other: Hit) -> bool:
    lines, other_lines = ({line.strip() for line in it.stored.chunk.text.splitlines()} - {""} for it in (hit, other))
    return len(lines) >= _MIN_COPY_LINES and len(lines & other_lines) >= _MIN_COPY_SIMILARITY * len(lines | other_lines)


def _add_copy_count(hit: Hit, copies: int) -> Hit:
    return rescore(hit, hit.score, duplicates=copies) if copies else hit


def answers_before_quotes(hits: list[Hit], run: SearchRun) -> list[Hit]:
    """Demote passages that quote the question and contain hardly any of its words elsewhere."""
    question = " ".join(run.query.text.lower().split()).rstrip("?.!")
    if question.count(" ") < _MIN_QUOTED_WORDS - 1:
        return hits
    stems = query_stems(question)
    return sort_by_score([_demote_quote(hit) if _only_quotes_question(hit, question, stems) else hit for hit in hits])


def _only_quotes_question(hit: Hit, question: str, stems: list[str]) -> bool:
    text = hit.stored.chunk.text.lower().replace("\n", " ")
    if question not in text:
        return False
    quoted = re.compile(rf"[{_QUOTATION_MARKS}]{re.escape(question)}[?.!]?[{_QUOTATION_MARKS}]")
    rest, quotations = quoted.subn(" ", text)
    return quotations > 0 and question not in rest and text_stem_coverage(rest, stems) < _MIN_ANSWER_COVERAGE


def _demote_quote(hit: Hit) -> Hit:
    return rescore(hit, hit.score * _QUOTE_FACTOR, quotes_question=1)
