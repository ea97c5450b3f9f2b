"""What kind of query it is: identifier, path, keywords, question or passage."""

from __future__ import annotations

import re
from typing import Literal

from dowse.text.tokenize import STOP_WORDS

QueryKind = Literal["identifier", "path", "keywords", "question", "passage"]
QueryIntent = Literal["factual", "navigational", "exploratory"]
QuerySubject = Literal["change", "decision", "usage", "task", "explanation", "workings", "report"]

# A longer text is not a question but an example to find similar passages for. Text beyond this limit is not examined.
PASSAGE_CHARS = 300
PASSAGE_WORDS = 40
# A sentence without a question mark is still a question by meaning. Lists of keywords contain no function words.
_SENTENCE_WORDS = 8
_SENTENCE_SMALL_WORDS = 2

_NAME_PATTERN = (
    r"[a-z][A-Z]|[A-Z]{2}[a-z]{2}"  # camelCase, HTTPServer, but not the plural APIs
    r"|[^\W_]_[^\W_]|\w::\w|\w->\w|\w\(\)"  # snake_case, a::b, a->b, call()
    r"|[^\W\d]{2}\.[^\W\d_]{2}"  # os.path, but neither e.g. nor 3.5
)
_NAME_INSIDE = re.compile(_NAME_PATTERN)
_NAME_ALONE = re.compile(rf"{_NAME_PATTERN}|^(?:--?|[@$#])[^\W\d]|^__\w+__$|^[A-Z]+-?\d[\w-]*$")
_QUOTED_TEXT = re.compile(r'`[^`]+`|"[^"]+"|“[^”]+”')
_VERSION_NUMBER = re.compile(r"\bv?\d+\.\d+")
_WIKILINK = re.compile(r"\[\[[^\]]+\]\]")
_LINE_NUMBER = re.compile(r"(?::\d+){1,2}$")
_PATH_LIKE = re.compile(r"^(?:\.{0,2}|~|[A-Za-z]:)[/\\]|[/\\].*[/\\]|[/\\]$|\*\.\w")
_FILE_SUFFIX = re.compile(
    r"[\w*)\]-]\.(?:bash|c|cc|cfg|cpp|cs|css|csv|docx?|go|h|hpp|html?|ini|ipynb|java|jsx?|json|kt|lock|log|lua|md|mdx"
    r"|pdf|php|pptx?|proto|pyi?|rb|rs|rst|scala|sh|sql|svg|swift|tex|toml|tsx?|txt|vue|xlsx?|xml|ya?ml)$",
    re.IGNORECASE,
)
# Question marks in various scripts, and questions in Chinese, Japanese and Korean without one.
_QUESTION_ENDS = ("?", "？", "؟", ";", "⸮", "՞", "፧", "吗", "嗎", "呢", "ですか", "ますか")
_QUESTION_STARTS = ("为什么", "為什麼", "怎么", "怎麼", "如何", "什么", "什麼", "なぜ", "どう", "어떻게", "왜", "무엇")
_CLOSING_PUNCTUATION = " \t\r\n.!。\"')]}”»」"
_QUESTION_WORDS = frozenset(
    [
        "what", "how", "why", "when", "where", "which", "who", "whom", "whose", "is", "are", "can", "could",
        "does", "do", "did", "should", "explain", "describe"
    ]
)  # fmt: skip
_PLACE_WORDS = frozenset(
    [
        "section", "sections", "chapter", "chapters", "page", "pages", "guide", "guides", "tutorial", "tutorials",
        "manual", "documentation", "doc", "docs", "article", "overview", "readme"
    ]
)  # fmt: skip
# The subject of a question, by its beginning and its verbs. Single words say little: "how does it decide" and "how to
# search commits" are about neither decisions nor commits.
_CHANGE_VERB = (
    r"(?:chang|add|remov|introduc|fix|drop|deprecat|renam|mov|replac|merg|revert|updat|delet|rewr[io]t|refactor|bump"
    r"|touch|break|broke|land|releas|ship)\w*"
)
_CHANGE_QUESTION = re.compile(
    r"(?:in |by |since )?(?:which|what|whose) commits?\b|since when\b"
    r"|what (?:has |was |is |have )?(?:recently )?changed\b"
    r"|(?:who|when) (?:\w+ ){0,12}?" + _CHANGE_VERB + r"\b|who (?:wrote|made|did|is behind)\b"
    r"|why (?:did|was|were|has|have|had)\b|why (?:\w+ ){0,12}?" + _CHANGE_VERB + r"\b"
    r"|(?:the )?(?:last|latest|recent) (?:changes?|commits?)\b|(?:the )?history of\b"
)  # fmt: skip
_DECISION_VERB = r"(?:decid|decision|agree|settl|chose|choose|prefer|conclu)\w*"
_DECISION_QUESTION = re.compile(
    r"\b(?:we|i|team|you|us) (?:\w+ )?(?:" + _DECISION_VERB + r"|(?:remember|recall|note)d?\b)"
    r"|\b(?:is|was|were|been|got) (?:decided|agreed|settled)\b"
    r"|\b(?:our|team's) (?:\w+ )?"
    r"(?:decisions?|agreements?|conventions?|preferences?|choices?|polic(?:y|ies)|rules?|notes?)\b"
    r"|^(?:the )?(?:decisions?|agreements?) (?:on|about|for|regarding|to)\b"
)
_USAGE_QUESTION = re.compile(
    r"(?:how (?:to|do i|do we|do you|can|could|should|much|many|long|often)|what|which|can|could|may|should|is it"
    r"|is there|are there|do i|does|i|my|the)\b"
    r"|.*\b(?:install\w*|set ?up|troubleshoot\w*|recommend\w*|best practices?|getting started|tutorials?|guides?"
    r"|guidelines?|quick ?start|documentation|docs|examples? of|prerequisites?|requirements?|costs?|comparison"
    r"|benchmarks?|step by step)\b"
)
_HOW_TO = ("how do i ", "how do we ", "how do you ")
# An imperative such as "return a file from an endpoint"; the article distinguishes it from a noun phrase. A leading
# participle ("combining a list") or function word ("where the cache is") is not an imperative.
_IMPERATIVE = re.compile(r"(?!\w+(?:ing|ed)\b)([a-z]{2,}) (?:an?|the|my|our|this|these|multiple|several|custom) \w")


def classify_subject(text: str) -> QuerySubject:
    """Return the subject of a question: a change, a decision, usage, a task, an explanation or the workings of code.

    A long text is a report.
    """
    form = classify_query(text)
    if form == "passage":
        return "report"
    if form in ("identifier", "path"):
        return "workings"
    asked = " ".join(text.lower().split())
    if _DECISION_QUESTION.search(asked):
        return "decision"
    if _CHANGE_QUESTION.match(asked):
        return "change"
    if asked.startswith(("how does ", "how do ")) and not asked.startswith(_HOW_TO):
        return "explanation"
    if _USAGE_QUESTION.match(asked):
        return "usage"
    return "task" if _is_task(asked) else "workings"


def _is_task(asked: str) -> bool:
    task = _IMPERATIVE.match(asked)
    return task is not None and task[1] not in STOP_WORDS and task[1] not in _QUESTION_WORDS


def classify_query(text: str) -> QueryKind:
    """Return the first matching form: passage, path, identifier, question, else keywords."""
    if len(text) > PASSAGE_CHARS:
        return "passage"
    words = text.split()
    if len(words) > PASSAGE_WORDS:
        return "passage"
    if len(words) == 1 and _is_path(words[0]):
        return "path"
    if words and all(_looks_like_name(word.strip("`\"'“”"), _NAME_ALONE) for word in words):
        return "identifier"
    return "question" if _is_question(text, words) else "keywords"


def classify_intent(text: str) -> QueryIntent:
    """Return the intent: factual for a named thing, navigational for a place in documents, else exploratory."""
    if classify_query(text) in ("identifier", "path"):
        return "factual"
    text = text[:PASSAGE_CHARS]
    words = text.split()
    if (
        any(_looks_like_name(word, _NAME_INSIDE) for word in words)
        or _QUOTED_TEXT.search(text)
        or _VERSION_NUMBER.search(text)
    ):
        return "factual"
    if _WIKILINK.search(text) or not _PLACE_WORDS.isdisjoint(_normalize_words(words)):
        return "navigational"
    return "exploratory"


def _looks_like_name(word: str, pattern: re.Pattern[str]) -> bool:
    if word.isalpha() and word[1:].islower():
        return False  # fast path for most words
    return bool(pattern.search(word))


def _is_path(word: str) -> bool:
    word = _LINE_NUMBER.sub("", word.strip("`\"'"))
    if "://" in word:
        return False
    return bool(_FILE_SUFFIX.search(word) or _PATH_LIKE.search(word))


def _is_question(text: str, words: list[str]) -> bool:
    if text.rstrip(_CLOSING_PUNCTUATION).endswith(_QUESTION_ENDS) or text.lstrip().startswith(_QUESTION_STARTS):
        return True
    plain = _normalize_words(words)
    if len(plain) >= 3 and plain[0] in _QUESTION_WORDS:
        return True
    return len(plain) >= _SENTENCE_WORDS and sum(word in STOP_WORDS for word in plain) >= _SENTENCE_SMALL_WORDS


def _normalize_words(words: list[str]) -> list[str]:
    return [word.strip("?!.,:;()").lower() for word in words]
