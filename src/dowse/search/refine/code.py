"""What tells a good place in code beside the words: it defines what is asked for, its file is named after it,
and it is not a test, an example, a shim or built output."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import PurePosixPath

from dowse.model import TEST_ROLE, Hit, Stored
from dowse.search.refine.copies import built_copies, older_versions
from dowse.search.refine.stage import by_score, rescored
from dowse.search.run import Run
from dowse.store.definitions import Named
from dowse.text.defined import alike, defined_names, name_parts
from dowse.text.mentions import mentioned
from dowse.text.names import camel_parts, words
from dowse.text.terms import STOP_WORDS, headline

CODE = ("code",)
_ASKED_CHARS = 3_000
_ASKED_WORDS = 40
_LONG_WORDS = 16
_TESTS = re.compile(
    r"(^|/)(tests?|testing|__tests__|specs?|fixtures?)(/|$)|(^|/)(test_|conftest)[^/]*$|[._](test|spec)\.[a-z]+$"
)
_ASIDE = re.compile(
    r"(^|/)(examples?|compat|_compat|legacy|deprecated|benchmarks?|vendor|dist|build|locale)(/|$)"
    r"|(^|/)migrations/\d|\.d\.[cm]?ts$|\.cjs$"
)
# What a project is built with, and lists of what it offers: they name much and define nothing.
_PROJECT_FILES = re.compile(
    r"(^|/)(\.[^/]+|pyproject\.toml|setup\.cfg|tox\.ini|package(-lock)?\.json|[jt]sconfig[^/]*\.json|bower\.json"
    r"|composer\.json|cargo\.toml|go\.(mod|work)|gemfile|pom\.xml|(build|settings)\.gradle(\.kts)?"
    r"|(mkdocs|codecov)\.ya?ml|[^/]*\.([a-z]+proj|props|targets|slnx?|nuspec|gemspec|lock|api))$"
    r"|(^|/)\.(github|gitlab|circleci)/",
    re.IGNORECASE,
)
_API_LISTS = re.compile(r"(^|/)(publicapi\.[^/]*|api/[^/]*|[^/]*\.(approved|verified))\.txt$", re.IGNORECASE)
_ABOUT_PROJECT = re.compile(
    r"\b(?:depend\w*|versions?|packages?|packag\w+|build\w*|built|compil\w+|config\w*|scripts?|licen[cs]e|lint\w*|publish\w*"
    r"|releas\w+|install\w*|workflows?|pipelines?|ci|project|workspace|toolchain|modules?|api)\b",
    re.IGNORECASE,
)
# In the first line; a test client or a test runner is no test.
_ABOUT_TESTS = re.compile(
    r"[^\n]*\b(?:tests|tested|unit[ -]?tests?|test (?:cases?|suites?|files?|for|of|that))\b", re.IGNORECASE
)
# What holds a value has a word of prose for a name too often to say what a place is about.
_DATA = frozenset({"field", "property", "variable", "const", "constant", "enumMember", "column", "event", "parameter"})
_CASELESS = frozenset({"sql"})  # languages in which names differ by more than case
_ENTRANCE = re.compile(r"(^|/)(__init__\.py|index\.[jt]sx?|mod\.rs)$")


@dataclass(frozen=True, slots=True)
class _Asked:
    """What the query asks for, and which of the candidates are copies of others."""

    words: tuple[str, ...]
    names: frozenset[str]
    copies: frozenset[str]
    files: frozenset[str]
    defined: Mapping[int, tuple[Named, ...]]  # by the key of a candidate, as the parsers found them
    is_about_tests: bool
    is_about_project: bool


@dataclass(frozen=True, slots=True)
class CodePriors:
    """Multiplies the scores of the given kinds; the factors were chosen on public code search sets.

    `defines`: added for a chunk that defines a name made of words asked for, and `exact` for one that is written in
    the query as it is. `stem`: added times the share of the file name's words that are asked for. `aside` and
    `entrance`: factors for tests (unless the query asks about tests) and the like, and for what in files such as
    `__init__.py` only passes names on.
    `project`: factor for files that only describe the project, unless the query names one or asks about such things.
    `copy`: factor for what is built from another candidate, or an older version of it. `named`: factor for a file
    that the query names by its path or module. `of_headline`: only what the query's first line says was asked for.
    """

    kinds: tuple[str, ...] = CODE
    defines: float = 0.5
    exact: float = 4.5
    stem: float = 1.0
    aside: float = 0.3
    entrance: float = 0.5
    project: float = 0.5
    copy: float = 0.3
    named: float = 2.0
    of_headline: bool = False

    def __call__(self, hits: list[Hit], run: Run) -> list[Hit]:
        paths = {hit.stored.record.path for hit in hits if hit.stored.record.kind in self.kinds}
        text = (headline(run.query.text) if self.of_headline else run.query.text)[:_ASKED_CHARS]
        copies = built_copies(paths) | older_versions(paths, text)
        files = mentioned(run.query.text, paths)
        defined = run.store.defined_in([hit.stored.key for hit in hits if hit.stored.record.kind in self.kinds])
        is_about_tests = _ABOUT_TESTS.match(text.lstrip()) is not None
        is_about_project = _ABOUT_PROJECT.search(text) is not None
        asked = _Asked(asked_words(text), written_names(text), copies, files, defined, is_about_tests, is_about_project)
        return by_score([self._rescored(hit, asked) for hit in hits])

    def _rescored(self, hit: Hit, asked: _Asked) -> Hit:
        record = hit.stored.record
        if record.kind not in self.kinds:
            is_list = not asked.is_about_project and record.kind == "doc" and _API_LISTS.search(record.path)
            return rescored(hit, hit.score * self.project, prior=self.project) if is_list else hit
        written = defined_names(hit.stored.chunk.text)
        parsed = asked.defined.get(hit.stored.key, ())
        defined = (*written, *(it.name for it in parsed if it.kind not in _DATA and it.name not in written))
        is_exact = not asked.names.isdisjoint(defined) or (
            bool(asked.names and parsed) and _is_named(parsed, asked.names, record.facets.get("language", ""))
        )
        prior = self._of_place(hit.stored, asked) * (1 + self._of_names(defined, is_exact, asked))
        if not written and _ENTRANCE.search(record.path):
            prior *= self.entrance
        return rescored(hit, hit.score * prior, prior=prior)

    def _of_names(self, defined: Collection[str], is_exact: bool, asked: _Asked) -> float:
        return self.exact * is_exact + self.defines * _defines(defined, asked.words)

    def _of_place(self, stored: Stored, asked: _Asked) -> float:
        path = stored.record.path
        factor = 1 + self.stem * _share(_stem_parts(path), asked.words)
        if path in asked.copies:
            factor *= self.copy
        if path in asked.files:
            factor *= self.named
        is_test = not asked.is_about_tests and (stored.chunk.role == TEST_ROLE or _TESTS.search(path))
        if is_test or _ASIDE.search(path):
            factor *= self.aside
        if not asked.is_about_project and path not in asked.files and _PROJECT_FILES.search(path):
            factor *= self.project
        return factor


@lru_cache(maxsize=50_000)
def _stem_parts(path: str) -> tuple[str, ...]:
    """The words of a file's name; what a folder opens with is named after the folder."""
    place = PurePosixPath(path)
    return name_parts(place.parent.name if _ENTRANCE.search(path) else place.stem)


def asked_words(text: str) -> tuple[str, ...]:
    """The words of a query and the parts of its identifiers, without those that say nothing.

    A long text says a little of everything: of it, only the identifiers count.
    """
    found = [word for word in words(text[:_ASKED_CHARS]) if word.lower() not in STOP_WORDS]
    if len(found) > _LONG_WORDS:
        found = [word for word in found if is_identifier(word)]
    parts = dict.fromkeys(part for word in found for part in name_parts(word) if len(part) > 1)
    return tuple(parts)[:_ASKED_WORDS]


def written_names(text: str) -> frozenset[str]:
    """Identifiers of the query: a single word is one, and what no prose would write is."""
    found = list(words(text[:_ASKED_CHARS]))
    if len(found) == 1:
        return frozenset(found)
    return frozenset(word for word in found if is_identifier(word))


def _is_named(parsed: Iterable[Named], names: frozenset[str], language: str) -> bool:
    """Whether one of the definitions has one of these names; what holds data counts if no prose would write it."""
    if language in _CASELESS:
        folded = {name.lower() for name in names}
        return any(it.name.lower() in folded and (it.kind not in _DATA or is_identifier(it.name)) for it in parsed)
    return any(it.name in names and is_identifier(it.name) for it in parsed)


@lru_cache(maxsize=50_000)
def is_identifier(word: str) -> bool:
    """Whether no prose would write it."""
    return "_" in word.strip("_") or bool(camel_parts(word))


def _defines(names: Iterable[str], asked: tuple[str, ...]) -> float:
    """1 if one of the names is made only of words asked for, or half if that is one word of many asked."""
    best = 0.0
    for name in names:
        parts = name_parts(name)
        if parts and _share(parts, asked) == 1.0:
            best = max(best, 1.0 if len(parts) > 1 or len(asked) <= _FEW_WORDS else 0.5)
    return best


def _share(parts: Sequence[str], asked: tuple[str, ...]) -> float:
    return sum(_is_asked(part, asked) for part in parts) / len(parts) if parts else 0.0


@lru_cache(maxsize=20_000)
def _is_asked(part: str, asked: tuple[str, ...]) -> bool:
    return any(alike(part, word) for word in asked)


_FEW_WORDS = 3
