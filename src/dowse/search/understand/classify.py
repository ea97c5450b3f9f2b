"""What sort of query a text is, told by its form alone: no model, no corpus, any script, any input."""

from __future__ import annotations

import re
from typing import Literal

from dowse.text.terms import STOP_WORDS

QueryKind = Literal["identifier", "path", "keywords", "question", "passage"]
Intent = Literal["factual", "navigational", "exploratory"]
Subject = Literal["change", "decision", "usage", "task", "explanation", "workings", "report"]

# A text as long as this is not a question any more but something to find the like of. Nothing behind is looked at.
PASSAGE_CHARS = 300
PASSAGE_WORDS = 40
# A sentence without a question mark still asks by its meaning; a list of keywords has no small words between.
_SENTENCE_WORDS = 8
_SENTENCE_SMALL_WORDS = 2

_NAMED = (
    r"[a-z][A-Z]|[A-Z]{2}[a-z]{2}"  # camelCase, HTTPServer; but not the plural APIs
    r"|[^\W_]_[^\W_]|\w::\w|\w->\w|\w\(\)"  # snake_case, a::b, a->b, call()
    r"|[^\W\d]{2}\.[^\W\d_]{2}"  # os.path, but not e.g. nor 3.5
)
_NAME_INSIDE = re.compile(_NAMED)
_NAME_ALONE = re.compile(rf"{_NAMED}|^(?:--?|[@$#])[^\W\d]|^__\w+__$|^[A-Z]+-?\d[\w-]*$")
_QUOTED = re.compile(r'`[^`]+`|"[^"]+"|“[^”]+”')
_VERSION = re.compile(r"\bv?\d+\.\d+")
_WIKILINK = re.compile(r"\[\[[^\]]+\]\]")
_LINE_NUMBER = re.compile(r"(?::\d+){1,2}$")
_PLACE = re.compile(r"^(?:\.{0,2}|~|[A-Za-z]:)[/\\]|[/\\].*[/\\]|[/\\]$|\*\.\w")
_SUFFIX = re.compile(
    r"[\w*)\]-]\.(?:bash|c|cc|cfg|cpp|cs|css|csv|docx?|go|h|hpp|html?|ini|ipynb|java|jsx?|json|kt|lock|log|lua|md|mdx"
    r"|pdf|php|pptx?|proto|pyi?|rb|rs|rst|scala|sh|sql|svg|swift|tex|toml|tsx?|txt|vue|xlsx?|xml|ya?ml)$",
    re.IGNORECASE,
)
# Question marks of the world's scripts, and how Chinese, Japanese and Korean ask without one.
_QUESTION_ENDS = ("?", "？", "؟", ";", "⸮", "՞", "፧", "吗", "嗎", "呢", "ですか", "ますか")
_QUESTION_STARTS = ("为什么", "為什麼", "怎么", "怎麼", "如何", "什么", "什麼", "なぜ", "どう", "어떻게", "왜", "무엇")
_CLOSING = " \t\r\n.!。\"')]}”»」"
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
# What a question is about, told by how it begins and by who did what in it. A word alone tells little: "how does it
# decide" and "how to search commits" are about neither decisions nor commits.
_CHANGED = (
    r"(?:chang|add|remov|introduc|fix|drop|deprecat|renam|mov|replac|merg|revert|updat|delet|rewr[io]t|refactor|bump"
    r"|touch|break|broke|land|releas|ship)\w*"
)
_OF_CHANGE = re.compile(
    r"(?:in |by |since )?(?:which|what|whose) commits?\b|since when\b"
    r"|what (?:has |was |is |have )?(?:recently )?changed\b"
    r"|(?:who|when) (?:\w+ ){0,12}?" + _CHANGED + r"\b|who (?:wrote|made|did|is behind)\b"
    r"|why (?:did|was|were|has|have|had)\b|why (?:\w+ ){0,12}?" + _CHANGED + r"\b"
    r"|(?:the )?(?:last|latest|recent) (?:changes?|commits?)\b|(?:the )?history of\b"
)  # fmt: skip
_DECIDED = r"(?:decid|decision|agree|settl|chose|choose|prefer|conclu)\w*"
_OF_DECISION = re.compile(
    r"\b(?:we|i|team|you|us) (?:\w+ )?(?:" + _DECIDED + r"|(?:remember|recall|note)d?\b)"
    r"|\b(?:is|was|were|been|got) (?:decided|agreed|settled)\b"
    r"|\b(?:our|team's) (?:\w+ )?"
    r"(?:decisions?|agreements?|conventions?|preferences?|choices?|polic(?:y|ies)|rules?|notes?)\b"
    r"|^(?:the )?(?:decisions?|agreements?) (?:on|about|for|regarding|to)\b"
)
_OF_USAGE = re.compile(
    r"(?:how (?:to|do i|do we|do you|can|could|should|much|many|long|often)|what|which|can|could|may|should|is it"
    r"|is there|are there|do i|does|i|my|the)\b"
    r"|.*\b(?:install\w*|set ?up|troubleshoot\w*|recommend\w*|best practices?|getting started|tutorials?|guides?"
    r"|guidelines?|quick ?start|documentation|docs|examples? of|prerequisites?|requirements?|costs?|comparison"
    r"|benchmarks?|step by step)\b"
)
_HOW_TO = ("how do i ", "how do we ", "how do you ")
# "return a file from an endpoint": a task in the imperative, told by an article where a noun phrase has none. A
# participle ("combining a list") or a small word ("where the cache is") in front of it commands nothing.
_TASK = re.compile(r"(?!\w+(?:ing|ed)\b)([a-z]{2,}) (?:an?|the|my|our|this|these|multiple|several|custom) \w")


def subject(text: str) -> Subject:
    """What a question is about: what was changed, what was agreed, how something is used or to be done, how it works,
    or where and by what it is done; a long text reports something."""
    form = classify(text)
    if form == "passage":
        return "report"
    if form in ("identifier", "path"):
        return "workings"
    asked = " ".join(text.lower().split())
    if _OF_DECISION.search(asked):
        return "decision"
    if _OF_CHANGE.match(asked):
        return "change"
    if asked.startswith(("how does ", "how do ")) and not asked.startswith(_HOW_TO):
        return "explanation"
    if _OF_USAGE.match(asked):
        return "usage"
    return "task" if _is_task(asked) else "workings"


def _is_task(asked: str) -> bool:
    task = _TASK.match(asked)
    return task is not None and task[1] not in STOP_WORDS and task[1] not in _QUESTION_WORDS


def classify(text: str) -> QueryKind:
    """The first that fits: a long text, a place in a file tree, a name in code, a question, else keywords."""
    if len(text) > PASSAGE_CHARS:
        return "passage"
    words = text.split()
    if len(words) > PASSAGE_WORDS:
        return "passage"
    if len(words) == 1 and _is_path(words[0]):
        return "path"
    if words and all(_names(word.strip("`\"'“”"), _NAME_ALONE) for word in words):
        return "identifier"
    return "question" if _is_question(text, words) else "keywords"


def intent(text: str) -> Intent:
    """What is wanted: something with a name, a place in the documents, or whatever there is about a matter."""
    if classify(text) in ("identifier", "path"):
        return "factual"
    text = text[:PASSAGE_CHARS]
    words = text.split()
    if any(_names(word, _NAME_INSIDE) for word in words) or _QUOTED.search(text) or _VERSION.search(text):
        return "factual"
    if _WIKILINK.search(text) or not _PLACE_WORDS.isdisjoint(_plain(words)):
        return "navigational"
    return "exploratory"


def _names(word: str, pattern: re.Pattern[str]) -> bool:
    if word.isalpha() and word[1:].islower():
        return False  # most words: a quick way out
    return bool(pattern.search(word))


def _is_path(word: str) -> bool:
    word = _LINE_NUMBER.sub("", word.strip("`\"'"))
    if "://" in word:
        return False
    return bool(_SUFFIX.search(word) or _PLACE.search(word))


def _is_question(text: str, words: list[str]) -> bool:
    if text.rstrip(_CLOSING).endswith(_QUESTION_ENDS) or text.lstrip().startswith(_QUESTION_STARTS):
        return True
    plain = _plain(words)
    if len(plain) >= 3 and plain[0] in _QUESTION_WORDS:
        return True
    return len(plain) >= _SENTENCE_WORDS and sum(word in STOP_WORDS for word in plain) >= _SENTENCE_SMALL_WORDS


def _plain(words: list[str]) -> list[str]:
    return [word.strip("?!.,:;()").lower() for word in words]
