"""Split text and identifiers into terms, and parse query terms."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal, NamedTuple

# --------------------------------------------------------------------------------------------------
# Parts of words: camelCase pieces of identifiers, and character pairs of scripts without spaces.
#
# The full-text index splits text only at spaces and punctuation. These parts go into a separate column. Queries are
# split by the same functions, so both sides agree.

_WORD_RUN = re.compile(r"\w+")
_CAMEL = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
# Kana, Han with extensions and compatibility forms, and Hangul are written without spaces between words.
_CJK = re.compile(
    r"[\u3041-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]+"
)
_ASCII_BLANK_TABLE = "".join(letter if letter == "_" or letter.isalnum() else " " for letter in map(chr, range(128)))
_HAS_CAMEL = re.compile(r"[a-z][A-Z]|[A-Z]{2}[a-z]|[A-Za-z][0-9]|[0-9][A-Za-z]")


def split_words(text: str) -> Iterator[str]:
    """Yield runs of letters, digits and underscores, unchanged."""
    return (found.group() for found in _WORD_RUN.finditer(text))


def camel_parts(word: str) -> list[str]:
    """Split an identifier: `getUserName` → get, User, Name. A word with one part, or one split at `_` anyway, gives
    nothing."""
    if not _HAS_CAMEL.search(word):
        return []
    parts = _CAMEL.findall(word)
    return parts if len(parts) > 1 else []


def cjk_runs(word: str) -> list[str]:
    return _CJK.findall(word)


def character_pairs(run: str) -> list[str]:
    """Return overlapping character pairs, and the last character alone so that a prefix search finds it."""
    return [run[i : i + 2] for i in range(len(run))]


def subtokens(text: str) -> str:
    """Return the additional words for the full-text index as one string."""
    found = (
        text.translate(_ASCII_BLANK_TABLE).split() if text.isascii() else _WORD_RUN.findall(text)
    )  # `translate` is 3 times faster
    return " ".join(filter(None, map(_word_subtokens, found)))


@lru_cache(maxsize=20_000)  # most words of a text have occurred before
def _word_subtokens(word: str) -> str:
    if word.isascii():
        return " ".join(camel_parts(word))
    runs = cjk_runs(word)
    if not runs:
        return " ".join(camel_parts(word))
    between = (part for part in _CJK.split(word) if part.strip("_"))
    return " ".join((*(pair for run in runs for pair in character_pairs(run)), *between))


def last_simple_name(text: str) -> str:
    """Return the last simple name in lower case: `Some.Generic<Of>` → generic."""
    found = _WORD_RUN.findall(text.partition("<")[0].partition("[")[0])
    return (found[-1] if found else text).lower()


_QUOTED_PHRASE = re.compile(r'"([^"]+)"|“([^”]+)”')
MAX_QUERY_CHARS = 10_000
MAX_TERMS = 256
MAX_HEADLINE_CHARS = 200
MAX_PHRASE_QUERY_CHARS = 200  # in longer queries, quoted phrases are not required

# Stop words. A query of stop words only keeps them.
STOP_WORDS = frozenset(
    [
        "a",
        "about",
        "an",
        "and",
        "are",
        "as",
        "at",
        "be",
        "been",
        "but",
        "by",
        "can",
        "could",
        "did",
        "do",
        "does",
        "for",
        "from",
        "had",
        "has",
        "have",
        "how",
        "i",
        "if",
        "in",
        "into",
        "is",
        "it",
        "its",
        "me",
        "my",
        "no",
        "not",
        "of",
        "on",
        "or",
        "our",
        "should",
        "so",
        "some",
        "such",
        "than",
        "that",
        "the",
        "their",
        "them",
        "then",
        "there",
        "these",
        "they",
        "this",
        "to",
        "us",
        "was",
        "we",
        "were",
        "what",
        "when",
        "where",
        "which",
        "who",
        "why",
        "will",
        "with",
        "would",
        "you",
        "your",
    ]
)


@dataclass(frozen=True, slots=True)
class QueryTerm:
    """Adjacent words; with `prefix`, the last one matches as a prefix."""

    words: tuple[str, ...]
    prefix: bool = False


@dataclass(frozen=True, slots=True)
class QueryTerms:
    """Parsed query: all `required` terms must match. `optional` terms affect the rank; one must match if none is
    required."""

    required: tuple[QueryTerm, ...] = ()
    optional: tuple[QueryTerm, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.required or self.optional)


def parse_query(text: str) -> QueryTerms:
    # Compose accents, because a separate combining accent would split the word.
    text = unicodedata.normalize("NFC", text[:MAX_QUERY_CHARS])
    required = _unique_terms(term for phrase in quoted_phrases(text) for term in _phrase_terms(phrase))
    if len(text) > MAX_PHRASE_QUERY_CHARS:
        # A long text quotes others; its quotes are not requirements.
        required = []
    unquoted = _QUOTED_PHRASE.sub(" ", text) if required else text
    all_terms = _unique_terms(term for word in split_words(unquoted) for term in _expand_word(word))
    optional = [term for term in all_terms if term not in required]
    content_terms = [term for term in optional if not _is_stop_word(term)]
    return QueryTerms(tuple(required), tuple((content_terms or ([] if required else optional))[:MAX_TERMS]))


def quoted_phrases(text: str) -> list[str]:
    """Return the quoted phrases as written."""
    return [first or second for first, second in _QUOTED_PHRASE.findall(text)]


def headline(text: str) -> str:
    """Return the first line of a multi-line text, which states the subject of a bug report; else an empty string."""
    first, _, rest = text[:MAX_QUERY_CHARS].strip().partition("\n")
    return first if rest.strip() and len(first) <= MAX_HEADLINE_CHARS else ""


def _phrase_terms(phrase: str) -> list[QueryTerm]:
    """Return a quoted phrase as terms. Scripts without spaces become runs of character pairs."""
    terms: list[QueryTerm] = []
    plain: list[str] = []
    for word in split_words(phrase):
        runs = cjk_runs(word)
        if runs:
            terms += [QueryTerm(tuple(character_pairs(run)[:-1]) or (run,), prefix=len(run) == 1) for run in runs]
        else:
            plain.append(word.lower())
    return ([QueryTerm(tuple(plain))] if plain else []) + terms


def _expand_word(word: str) -> list[QueryTerm]:
    """Return the word and its parts in the subtoken column."""
    runs = cjk_runs(word)
    if runs:
        cjk = [QueryTerm((pair,)) for run in runs for pair in character_pairs(run) if len(pair) == 2]
        single = [QueryTerm((run,), prefix=True) for run in runs if len(run) == 1]
        return [*single, *cjk, *(QueryTerm((part.lower(),)) for part in split_words(_remove_runs(word, runs)))]
    return [QueryTerm((word.lower(),)), *(QueryTerm((part.lower(),)) for part in camel_parts(word))]


def _remove_runs(word: str, runs: list[str]) -> str:
    for run in runs:
        word = word.replace(run, " ")
    return word


def _is_stop_word(term: QueryTerm) -> bool:
    return len(term.words) == 1 and term.words[0] in STOP_WORDS


def _unique_terms(terms: Iterable[QueryTerm]) -> list[QueryTerm]:
    return list(dict.fromkeys(terms))


# --------------------------------------------------------------------------------------------------
# Regexes for lines that begin a definition, by file suffix.
#
# A parser would need the whole file and far more time.

_MAX_DEFINITION_LINE_CHARS: Final = 300

_NOT_KEYWORD = (
    r"(?!(?:if|else|for|foreach|while|do|switch|case|catch|return|throw|new|await|yield|delete|using|lock)\b)"
)
_DEFINITION_MODIFIERS = (
    r"(?:(?:public|private|protected|internal|static|final|abstract|sealed|override|virtual|async|readonly|partial|open"
    r"|default|synchronized|native|extern|unsafe|const|constexpr|inline|export|declare|data|inner|implicit|case"
    r"|lazy|suspend|operator|infix|fileprivate|mutating|required|convenience|unsafe|pub(?:\([^)]*\))?)\s+)*"
)
_TYPE_DEFINITION = (
    r"(?:class|interface|enum(?:\s+class)?|struct|record|trait|object|protocol|extension|actor|union)\s+(\w+)"
)

_PYTHON_DEFINITION = r"(?:(?:async\s+)?def\s+(\w+)\s*[(\[]|class\s+(\w+)\s*[(:\[])"
_JAVASCRIPT_DEFINITION = (
    rf"{_DEFINITION_MODIFIERS}(?:function\s*\*?|class|interface|enum|namespace|type)\s+([A-Za-z_$][\w$]*)"
    rf"|{_DEFINITION_MODIFIERS}(?:const|let|var)\s+([\w$]+)\s*(?::[^=]+)?=\s*(?:async\s+)?"
    r"(?:function\b|class\b|[\w$]+\s*=>|\([^()]*\)\s*(?::[^=]+)?=>)"
    rf"|(?<=\s){_DEFINITION_MODIFIERS}(?:(?:get|set|\*)\s+)?{_NOT_KEYWORD}([\w$#]+)\s*\((?:(?!=>|function\b)[^\"'`;])*\)"
    r"\s*(?::[^;{=]+)?\{\s*$"
)
_CURLY_DEFINITION = (
    rf"{_DEFINITION_MODIFIERS}{_TYPE_DEFINITION}"
    rf"|(?<=\s){_DEFINITION_MODIFIERS}{_NOT_KEYWORD}(?:[\w.<>\[\],?]+\s+)+{_NOT_KEYWORD}(\w+)\s*\([^;=]*$"
    rf"|(?<=\s)(?:public|private|protected|internal)\s+(\w+)\s*\([^;=]*$"
)
_C_DEFINITION = (
    rf"(?:template\s*<[^>]*>\s*)?(?:typedef\s+)?{_DEFINITION_MODIFIERS}(?:class|struct|enum(?:\s+class)?|union|namespace)\s+(\w+)"
    r"[^;()]*$"
    rf"|{_NOT_KEYWORD}(?:[\w:<>,*&]+\s+)+[*&]*{_NOT_KEYWORD}((?:\w+::)*~?\w+)\s*\([^;=\"]*$"
)
_GO_DEFINITION = r"func\s+(?:\(\s*(?:\w+\s+)?\*?(\w+)[^)]*\)\s*)?(\w+)|type\s+(\w+)"
_RUST_DEFINITION = (
    r"(?:pub(?:\([^)]*\))?\s+)?(?:default\s+)?(?:async\s+|unsafe\s+|const\s+|extern\s+(?:\"[^\"]*\"\s+)?)*"
    r"(?:fn|struct|enum|trait|mod|union|type)\s+(\w+)"
    r"|(?:unsafe\s+)?impl(?:\s*<[^{]*?>)?\s+(?:[\w:<>, '&]+\s+for\s+)?(?:\w+::)*(\w+)"
)
_RUBY_DEFINITION = r"def\s+(?:self\.)?([\w?!=]+)|(?:class|module)\s+(?:\w+::)*(\w+)"
_PHP_DEFINITION = rf"{_DEFINITION_MODIFIERS}(?:function\s+&?(\w+)|(?:class|interface|trait|enum)\s+(\w+))"
_KOTLIN_DEFINITION = (
    rf"{_DEFINITION_MODIFIERS}fun\s+(?:<[^>]*>\s*)?(?:\w+\.)?(\w+)"
    rf"|{_DEFINITION_MODIFIERS}(?:enum\s+|annotation\s+)?(?:class|interface|object)\s+(\w+)"
)
_SCALA_DEFINITION = rf"{_DEFINITION_MODIFIERS}(?:def\s+(\w+)|(?:class|object|trait|enum)\s+(\w+))"
_SWIFT_DEFINITION = rf"{_DEFINITION_MODIFIERS}(?:func\s+(\w+)|(init)\s*[?(<]|{_TYPE_DEFINITION})"
_BASH_DEFINITION = r"(?:function\s+([\w:-]+)|([\w:-]+)\s*\(\)\s*\{?)"
_SQL_DEFINITION = (
    r"(?:create|alter)\s+(?:or\s+\w+\s+)?(?:procedure|proc|function|view|table|trigger)\s+"
    r"(?:[\w\[\]\"]+\.)*[\[\"]?(\w+)"
)

_SUFFIXES_BY_DEFINITION: Final = {
    _PYTHON_DEFINITION: "py pyi pyw",
    _JAVASCRIPT_DEFINITION: "js jsx mjs cjs ts tsx mts cts",
    _CURLY_DEFINITION: "java cs groovy dart",
    _C_DEFINITION: "c h cc cpp cxx hh hpp hxx m mm",
    _GO_DEFINITION: "go",
    _RUST_DEFINITION: "rs",
    _RUBY_DEFINITION: "rb rake",
    _PHP_DEFINITION: "php",
    _KOTLIN_DEFINITION: "kt kts",
    _SCALA_DEFINITION: "scala sc",
    _SWIFT_DEFINITION: "swift",
    _BASH_DEFINITION: "sh bash zsh",
    _SQL_DEFINITION: "sql tsql ddl prc pks pkb pkg pck pls plsql plb tps tpb fnc",
}
_DEFINITION_REGEX_BY_SUFFIX: Final = {
    f".{suffix}": re.compile(rf"\s*(?:{pattern})", re.IGNORECASE if pattern is _SQL_DEFINITION else 0)
    for pattern, suffixes in _SUFFIXES_BY_DEFINITION.items()
    for suffix in suffixes.split()
}


def definition_regex(path: str) -> re.Pattern[str] | None:
    """Return the regex for lines that begin a definition in this file, or None if the language is unknown."""
    return _DEFINITION_REGEX_BY_SUFFIX.get(path[path.rfind(".") :].lower())


def begins_definition(pattern: re.Pattern[str], changed: str) -> bool:
    """Return whether a line of a hunk, after its marker, begins a definition."""
    return pattern.match(changed, 1, _MAX_DEFINITION_LINE_CHARS) is not None


def defined_name(pattern: re.Pattern[str], line: str) -> str:
    """Return the name that the line defines, qualified if the line names its owner; empty if it defines nothing."""
    found = pattern.match(line, 0, _MAX_DEFINITION_LINE_CHARS)
    return ".".join(filter(None, found.groups())).replace("::", ".") if found else ""


def is_identifiable_in_commits(path: str, name: str, lines: Iterable[str]) -> bool:
    """Return whether commits can attribute changes to this definition: one of its lines must begin it."""
    pattern = definition_regex(path)
    return pattern is not None and any(defined_name(pattern, it).rpartition(".")[2] == name for it in lines)


# --------------------------------------------------------------------------------------------------
# Words of a line and case folding, shared by the index, queries and tests.

WORD = re.compile(r"\w+")
"""Letters, digits and `_` of any script."""

WordTestKind = Literal["is", "holds", "begins", "ends", "matches"]


class WordTest(NamedTuple):
    """A condition on a word: it equals, contains, starts with or ends with `text`, or matches it as a regex."""

    kind: WordTestKind
    text: str


def fold_case(text: str) -> str:
    """Fold case letter by letter, so that the fold of a substring is a substring of the fold."""
    return text.lower() if text.isascii() else "".join(map(_fold_letter, text))


@lru_cache(maxsize=10_000)
def _fold_letter(letter: str) -> str:
    """Fold like case-insensitive regexes: `ẞ` becomes `ß`, not `ss`. `İ` has no single-letter form and stays."""
    for form in (letter.casefold(), letter.lower()):
        if len(form) == 1:
            return form
    return letter


def folded_words(line: str) -> list[str]:
    return WORD.findall(fold_case(line))


def word_tests(literal: str) -> tuple[WordTest, ...]:
    """Return conditions on the words of any line that contains the literal.

    A word is known completely only if the literal extends beyond it on both sides.
    """
    return tuple(_word_test(literal, match) for match in WORD.finditer(literal))


def _word_test(literal: str, match: re.Match[str]) -> WordTest:
    starts, ends = match.start() > 0, match.end() < len(literal)
    how: WordTestKind = "is" if starts and ends else "begins" if starts else "ends" if ends else "holds"
    return WordTest(how, fold_case(match[0]))


def phrase_regex(words: Sequence[str]) -> re.Pattern[str]:
    """Compile a regex for whole words separated by whitespace. It is unambiguous, so it cannot backtrack."""
    first, *others = map(re.escape, words)
    # Check the preceding character by a lookbehind after the first word: a regex that starts with a literal is much
    # faster.
    return re.compile(rf"{first}(?<!\w{first})" + "".join(rf"\s+{word}" for word in others) + r"(?!\w)")
