"""Ranking signals for code beyond word matches: definitions, file names, and the roles of files (tests, examples,
shims, build output)."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import PurePosixPath

from dowse.model import TEST_ROLE, Hit, StoredChunk
from dowse.search.run import SearchRun
from dowse.search.stages.base import rescore, sort_by_score
from dowse.search.stages.dedup import find_built_copies, find_older_versions
from dowse.store.types import DefinedName
from dowse.text.code_names import defined_names, share_stem, split_name_parts
from dowse.text.references import mentioned_paths
from dowse.text.tokenize import STOP_WORDS, camel_parts, headline, split_words

CODE_KINDS = ("code",)
_MAX_QUERY_CHARS = 3_000
_MAX_QUERY_WORDS = 40
_LONG_QUERY_WORDS = 16
_TEST_PATHS = re.compile(
    r"(^|/)(tests?|testing|__tests__|specs?|fixtures?)(/|$)|(^|/)(test_|conftest)[^/]*$|[._](test|spec)\.[a-z]+$"
)
_PERIPHERAL_PATHS = re.compile(
    r"(^|/)(examples?|compat|_compat|legacy|deprecated|benchmarks?|vendor|dist|build|locale)(/|$)"
    r"|(^|/)migrations/\d|\.d\.[cm]?ts$|\.cjs$"
)
# Build and project files, and API listings: they name much and define nothing.
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
# Matches in the first line only. A test client or a test runner is not a test.
_ABOUT_TESTS = re.compile(
    r"[^\n]*\b(?:tests|tested|unit[ -]?tests?|test (?:cases?|suites?|files?|for|of|that))\b", re.IGNORECASE
)
# Definitions of data are often named by ordinary words, so their names say little about a passage.
_DATA_SYMBOL_KINDS = frozenset(
    {"field", "property", "variable", "const", "constant", "enumMember", "column", "event", "parameter"}
)
_CASE_INSENSITIVE_LANGUAGES = frozenset({"sql"})  # languages with case-insensitive names
_ENTRY_FILES = re.compile(r"(^|/)(__init__\.py|index\.[jt]sx?|mod\.rs)$")


@dataclass(frozen=True, slots=True)
class _CodeQuery:
    """The words and names of the query, and facts about the candidates that depend on it."""

    words: tuple[str, ...]
    names: frozenset[str]
    copies: frozenset[str]
    files: frozenset[str]
    defined: Mapping[int, tuple[DefinedName, ...]]  # parsed definitions by candidate key
    is_about_tests: bool
    is_about_project: bool


@dataclass(frozen=True, slots=True)
class CodePriors:
    """Multiplies the scores of the given kinds by priors; the factors were tuned on public code search sets.

    - `defines`: added if the chunk defines a name that consists of query words.
    - `exact`: added if the chunk defines a name that the query contains verbatim.
    - `stem`: added times the share of the file name's words that the query contains.
    - `peripheral`: factor for tests (unless the query is about tests), examples, vendored code and similar.
    - `entry_file`: factor for files such as `__init__.py` that only re-export names.
    - `project`: factor for project files, unless the query names the file or is about the project.
    - `copy`: factor for files built from another candidate, and for older versions of one.
    - `named`: factor for a file that the query names by path or module.
    - `headline_only`: use only the first line of the query.
    """

    kinds: tuple[str, ...] = CODE_KINDS
    defines: float = 0.5
    exact: float = 4.5
    stem: float = 1.0
    peripheral: float = 0.3
    entry_file: float = 0.5
    project: float = 0.5
    copy: float = 0.3
    named: float = 2.0
    headline_only: bool = False

    def __call__(self, hits: list[Hit], run: SearchRun) -> list[Hit]:
        paths = {hit.stored.record.path for hit in hits if hit.stored.record.kind in self.kinds}
        text = (headline(run.query.text) if self.headline_only else run.query.text)[:_MAX_QUERY_CHARS]
        copies = find_built_copies(paths) | find_older_versions(paths, text)
        files = mentioned_paths(run.query.text, paths)
        defined = run.view.definitions_in_chunks(
            [hit.stored.key for hit in hits if hit.stored.record.kind in self.kinds]
        )
        is_about_tests = _ABOUT_TESTS.match(text.lstrip()) is not None
        is_about_project = _ABOUT_PROJECT.search(text) is not None
        asked = _CodeQuery(
            query_content_words(text), query_identifiers(text), copies, files, defined, is_about_tests, is_about_project
        )
        return sort_by_score([self._apply_prior(hit, asked) for hit in hits])

    def _apply_prior(self, hit: Hit, asked: _CodeQuery) -> Hit:
        record = hit.stored.record
        if record.kind not in self.kinds:
            is_list = not asked.is_about_project and record.kind == "doc" and _API_LISTS.search(record.path)
            return rescore(hit, hit.score * self.project, prior=self.project) if is_list else hit
        written = defined_names(hit.stored.chunk.text)
        parsed = asked.defined.get(hit.stored.key, ())
        defined = (
            *written,
            *(it.name for it in parsed if it.kind not in _DATA_SYMBOL_KINDS and it.name not in written),
        )
        is_exact = not asked.names.isdisjoint(defined) or (
            bool(asked.names and parsed) and _defines_name(parsed, asked.names, record.facets.get("language", ""))
        )
        prior = self._path_factor(hit.stored, asked) * (1 + self._name_bonus(defined, is_exact, asked))
        if not written and _ENTRY_FILES.search(record.path):
            prior *= self.entry_file
        return rescore(hit, hit.score * prior, prior=prior)

    def _name_bonus(self, defined: Collection[str], is_exact: bool, asked: _CodeQuery) -> float:
        return self.exact * is_exact + self.defines * _definition_match(defined, asked.words)

    def _path_factor(self, stored: StoredChunk, asked: _CodeQuery) -> float:
        path = stored.record.path
        factor = 1 + self.stem * _share_of_parts_asked(_file_name_parts(path), asked.words)
        if path in asked.copies:
            factor *= self.copy
        if path in asked.files:
            factor *= self.named
        is_test = not asked.is_about_tests and (stored.chunk.role == TEST_ROLE or _TEST_PATHS.search(path))
        if is_test or _PERIPHERAL_PATHS.search(path):
            factor *= self.peripheral
        if not asked.is_about_project and path not in asked.files and _PROJECT_FILES.search(path):
            factor *= self.project
        return factor


@lru_cache(maxsize=50_000)
def _file_name_parts(path: str) -> tuple[str, ...]:
    """Return the words of a file's name, or of its directory for files such as `__init__.py`."""
    place = PurePosixPath(path)
    return split_name_parts(place.parent.name if _ENTRY_FILES.search(path) else place.stem)


def query_content_words(text: str) -> tuple[str, ...]:
    """Return the content words of a query, with identifiers split into parts.

    Of a long text only the identifiers count, because its prose touches on many subjects.
    """
    found = [word for word in split_words(text[:_MAX_QUERY_CHARS]) if word.lower() not in STOP_WORDS]
    if len(found) > _LONG_QUERY_WORDS:
        found = [word for word in found if is_identifier(word)]
    parts = dict.fromkeys(part for word in found for part in split_name_parts(word) if len(part) > 1)
    return tuple(parts)[:_MAX_QUERY_WORDS]


def query_identifiers(text: str) -> frozenset[str]:
    """Return the identifiers of a query: its only word, or every word that cannot be prose."""
    found = list(split_words(text[:_MAX_QUERY_CHARS]))
    if len(found) == 1:
        return frozenset(found)
    return frozenset(word for word in found if is_identifier(word))


def _defines_name(parsed: Iterable[DefinedName], names: frozenset[str], language: str) -> bool:
    """Return whether a definition has one of these names. Names of data count only if they cannot be prose."""
    if language in _CASE_INSENSITIVE_LANGUAGES:
        folded = {name.lower() for name in names}
        return any(
            it.name.lower() in folded and (it.kind not in _DATA_SYMBOL_KINDS or is_identifier(it.name)) for it in parsed
        )
    return any(it.name in names and is_identifier(it.name) for it in parsed)


@lru_cache(maxsize=50_000)
def is_identifier(word: str) -> bool:
    """Return whether a word is written like an identifier (snake_case or camelCase), not like prose."""
    return "_" in word.strip("_") or bool(camel_parts(word))


def _definition_match(names: Iterable[str], asked: tuple[str, ...]) -> float:
    """Return 1 if a name consists only of query words, 0.5 if that is a single word of a longer query, else 0."""
    best = 0.0
    for name in names:
        parts = split_name_parts(name)
        if parts and _share_of_parts_asked(parts, asked) == 1.0:
            best = max(best, 1.0 if len(parts) > 1 or len(asked) <= _SHORT_QUERY_WORDS else 0.5)
    return best


def _share_of_parts_asked(parts: Sequence[str], asked: tuple[str, ...]) -> float:
    return sum(_is_part_asked(part, asked) for part in parts) / len(parts) if parts else 0.0


@lru_cache(maxsize=20_000)
def _is_part_asked(part: str, asked: tuple[str, ...]) -> bool:
    return any(share_stem(part, word) for word in asked)


_SHORT_QUERY_WORDS = 3
