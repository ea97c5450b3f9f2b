"""What says the same again is shown once: pieces of one commit, translations, copies; and what only quotes the question
comes behind what answers it."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import NamedTuple

from dowse.model import Hit, Scored
from dowse.search.confidence import share_held, stems_of
from dowse.search.families import families_of, family_of
from dowse.search.refine.stage import by_score, rescored
from dowse.search.run import Run

_LOOKED_AT = 4  # candidates for each that is wanted
_SAME = 0.8  # of the lines of two passages together
_FEWEST_LINES = 3  # of a copy: shorter texts are alike by chance
_FEWEST_WORDS = 4  # fewer stand in a row by chance
_SAYING = 0.5  # of the question's words are in the rest of a passage that says something about it
_QUOTING = 0.25  # what is left of the score of a passage that does not
_QUOTES = "\"'`“”„«»‘’"

_DOCUMENT = re.compile(r"\.(?:md|mdx|markdown|mkd|rst|txt|adoc|html?)$", re.IGNORECASE)
# Directories, and endings of names, that tell a language: only where the same document is found in another one, too.
_LANGUAGES = frozenset(
    [
        "am", "ar", "az", "be", "bg", "bn", "bs", "ca", "cs", "cy", "da", "de", "el", "em", "en", "eo", "es", "et",
        "eu", "fa", "fi", "fr", "ga", "gl", "gu", "he", "hi", "hr", "hu", "hy", "id", "is", "it", "ja", "ka", "kk",
        "km", "kn", "ko", "lt", "lv", "mk", "ml", "mn", "mr", "ms", "my", "nb", "ne", "nl", "nn", "no", "pa", "pl",
        "pt", "ro", "ru", "si", "sk", "sl", "sq", "sr", "sv", "sw", "ta", "te", "th", "tl", "tr", "uk", "ur", "uz",
        "vi", "zh"
    ]
)  # fmt: skip
_REGION = re.compile(r"[-_][a-z]{2,4}$", re.IGNORECASE)
_ENDING = re.compile(r"[._-]([a-z]{2}(?:[-_][a-z]{2,4})?)(?=\.[a-z]+$)", re.IGNORECASE)
_DEFAULT = frozenset(("", "en"))
# What English questions hold and those of other languages hardly do.
_ENGLISH = frozenset(
    [
        "the", "how", "what", "where", "when", "why", "which", "who", "are", "does", "did", "and", "for", "with",
        "from", "this", "that", "can"
    ]
)  # fmt: skip

_SPREAD = frozenset({"code"})
_NEXT_OF_FILE = 0.93

Places = Mapping[int, tuple[str, str, int]]


class Version(NamedTuple):
    """A document in one language: its path without what tells the language, and that, empty where nothing does."""

    page: str
    language: str


def version_of(path: str) -> Version:
    *folders, name = path.split("/")
    for at, folder in enumerate(folders):
        if _is_language(folder):
            return Version("/".join([*folders[:at], *folders[at + 1 :], name]), _plain(folder))
    ending = _ENDING.search(name)
    if ending and _is_language(ending[1]):
        return Version("/".join([*folders, _ENDING.sub("", name)]), _plain(ending[1]))
    return Version(path, "")


def _is_language(part: str) -> bool:
    return part[:2].lower() in _LANGUAGES and (len(part) == 2 or bool(_REGION.fullmatch(part[2:])))


def _plain(language: str) -> str:
    language = language.lower()
    return "en" if language.startswith("en") else language


# --- before anything is loaded ----------------------------------------------------------------


def first_of_each(fused: list[Scored], wanted: int, run: Run) -> list[Scored]:
    """The candidates, with each record of a limited family once, and each document in one language, which takes the
    place of the best of all. What stands for others has their number in its evidence."""
    head, tail = fused[: wanted * _LOOKED_AT], fused[wanted * _LOOKED_AT :]
    places = run.store.places([it.key for it in head])
    stands_in = _within_records(head, places, run) | _in_one_language(head, places, run)
    kept: dict[int, Scored] = {}
    for scored in head:
        key, name = stands_in.get(scored.key, (scored.key, ""))
        if name:
            run.evidence[key][name] = run.evidence[key].get(name, 0) + 1
        kept.setdefault(key, Scored(key, scored.score))
    if folded := len(head) - len(kept):
        run.notes.append(f"{folded} that say the same again were folded into others")
    return [*_with_other_files(list(kept.values()), places, run), *tail]


def _with_other_files(head: list[Scored], places: Places, run: Run) -> list[Scored]:
    """Where code may be found, each further passage of a file counts a little less: a page of one file tells less than
    one of several. A strong loss would spoil answers that are several passages of one file."""
    if run.findable().isdisjoint(_SPREAD):
        return head
    taken: Counter[tuple[str, str]] = Counter()
    counted: list[Scored] = []
    for key, score in head:
        place = places.get(key, ("", "", 0))[:2]
        counted.append(Scored(key, score * _NEXT_OF_FILE ** taken[place]))
        taken[place] += 1
    return sorted(counted, key=lambda it: -it.score)


def _within_records(head: list[Scored], places: Places, run: Run) -> dict[int, tuple[int, str]]:
    """For each further passage of a record of a limited family, the best of that record."""
    families = families_of(run.findable())
    if all(it.share >= 1 for it in families):
        return {}
    alone = families[0] if len(families) == 1 else None
    first: dict[tuple[str, str], int] = {}
    others: dict[int, tuple[int, str]] = {}
    for key, _ in head:
        if key in places and (alone or family_of(run.kinds.get(key, ""))).share < 1:
            best = first.setdefault(places[key][:2], key)
            if best != key:
                others[key] = best, "passages"
    return others


def _in_one_language(head: list[Scored], places: Places, run: Run) -> dict[int, tuple[int, str]]:
    """For each passage of a translation, the best one of the same document in the language that is shown: English for
    an English question where it is found, else the one that is found first."""
    pages: defaultdict[tuple[str, str], dict[str, list[int]]] = defaultdict(dict)
    for key, _ in head:
        collection, path, _ = places.get(key, ("", "", 0))
        if _DOCUMENT.search(path):
            page, language = version_of(path)
            pages[collection, page].setdefault(language, []).append(key)
    english = not _ENGLISH.isdisjoint(run.query.text.lower().split())
    others: dict[int, tuple[int, str]] = {}
    for languages in pages.values():
        if len(languages) > 1:
            shown = next((it for it in languages if english and it in _DEFAULT), next(iter(languages)))
            best = languages[shown][0]
            others |= {key: (best, "translations") for it, keys in languages.items() if it != shown for key in keys}
    return others


# --- stages -----------------------------------------------------------------------------------


def fold_copies(hits: list[Hit], run: Run) -> list[Hit]:
    """Passages of files that have most of their lines in common, once. Only those with the same longest line are
    compared: to compare all takes longer than to find them."""
    alike: defaultdict[str, list[int]] = defaultdict(list)
    copies: Counter[int] = Counter()
    kept: list[int] = []
    for place, hit in enumerate(hits):
        if family_of(hit.stored.record.kind).share >= 1:
            longest = max(hit.stored.chunk.text.splitlines(), key=len, default="").strip()
            original = next((it for it in alike[longest] if _is_copy(hit, hits[it])), None)
            if original is not None:
                copies[original] += 1
                continue
            alike[longest].append(place)
        kept.append(place)
    if not copies:
        return hits
    run.notes.append(f"{copies.total()} copies were folded into others")
    return [_with_copies(hits[place], copies[place]) for place in kept]


def _is_copy(hit: Hit, other: Hit) -> bool:
    mine, its = ({line.strip() for line in it.stored.chunk.text.splitlines()} - {""} for it in (hit, other))
    return len(mine) >= _FEWEST_LINES and len(mine & its) >= _SAME * len(mine | its)


def _with_copies(hit: Hit, copies: int) -> Hit:
    return rescored(hit, hit.score, duplicates=copies) if copies else hit


def answers_before_quotes(hits: list[Hit], run: Run) -> list[Hit]:
    """A passage that holds the question in quotation marks, and hardly any of its words elsewhere, only repeats it."""
    asked = " ".join(run.query.text.lower().split()).rstrip("?.!")
    if asked.count(" ") < _FEWEST_WORDS - 1:
        return hits
    stems = stems_of(asked)
    return by_score([_behind(hit) if _only_quotes(hit, asked, stems) else hit for hit in hits])


def _only_quotes(hit: Hit, asked: str, stems: list[str]) -> bool:
    text = hit.stored.chunk.text.lower().replace("\n", " ")
    if asked not in text:
        return False
    quoted = re.compile(rf"[{_QUOTES}]{re.escape(asked)}[?.!]?[{_QUOTES}]")
    rest, found = quoted.subn(" ", text)
    return found > 0 and asked not in rest and share_held(rest, stems) < _SAYING


def _behind(hit: Hit) -> Hit:
    return rescored(hit, hit.score * _QUOTING, quotes_question=1)
