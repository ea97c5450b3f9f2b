"""`search_grep` of the code search contract: lines by words, parts of words, regexes of words, or phrases."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any

from dowse.engine import Engine
from dowse.errors import BadInput
from dowse.lookup.grep.question import Excerpt, FileLines, GrepAnswer, Lines, Manner
from dowse.model import IN_FILES
from dowse.profiles.codesearch_desk import Desk
from dowse.profiles.codesearch_territory import Territory
from dowse.profiles.codesearch_words import CountOnly, Dir, Exclude, ExcludeDir, Ext, MaxResults, listed, one_of
from dowse.profiles.tool import Param, Reply

_SHORT_CHARS = 4
_SHORT = "Short substring query (<4 chars) may return broad results"
_MAX_CONTEXT = 1000
# Enough for any answer that is read; what lies beyond is cut for its size anyway.
_MAX_EXCERPT_LINES = 100_000
_MODES = ("or", "and")


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked of lines, by the tool or on the command line; `around`: how many lines before and after each are
    shown, None if not even the line itself is."""

    terms: tuple[str, ...]
    manner: Manner
    every: bool = False
    directory: str = ""
    ext: str = ""
    excluded: tuple[str, ...] = ()
    limit: int = 50
    around: tuple[int, int] | None = None
    count_only: bool = False


class GrepTool:
    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def search_grep(
        self,
        terms: Annotated[str, Param("What to look for; several terms with commas between them. Case is ignored")],
        dir: Dir = "",
        ext: Ext = "",
        mode: Annotated[str, Param("Files with any of the terms, or with all", choices=_MODES)] = "or",
        regex: Annotated[bool, Param("Each term is a regex that a whole word has to match: I.*Cache")] = False,
        phrase: Annotated[
            bool, Param("All of it is one phrase; with punctuation in it, exactly these characters")
        ] = False,
        substring: Annotated[
            bool | None,
            Param("Terms may be parts of words. Default: true, but false with regex or phrase"),
        ] = None,
        showLines: Annotated[bool, Param("Give the text of the lines too")] = False,
        contextLines: Annotated[int, Param("So many lines around each as well", ge=0, le=_MAX_CONTEXT)] = 0,
        maxResults: MaxResults = 50,
        excludeDir: ExcludeDir = (),
        exclude: Exclude = (),
        countOnly: CountOnly = False,
    ) -> Reply:
        """Find files by what is in them, best first (TF-IDF), with the lines. Much quicker than reading files: use it
        for names and literals; use search_definitions for where something is defined and search_callers for who uses
        it."""
        around = contextLines if showLines or contextLines else None
        return self.found(
            Asked(
                terms_of(terms, phrase=phrase),
                manner_of(regex=regex, phrase=phrase, substring=substring),
                every=one_of("mode", mode, _MODES) == "and",
                directory=dir,
                ext=ext,
                excluded=(*excludeDir, *exclude),
                limit=maxResults,
                around=None if around is None else (around, around),
                count_only=countOnly,
            )
        )

    def found(self, asked: Asked) -> Reply:
        started, engine = self._desk.now(), self._desk.ready()
        territory = self._desk.territory(asked.directory, asked.excluded)
        answer = engine.grep(
            Lines(
                asked.terms,
                asked.manner,
                every=asked.every,
                scope=replace(territory.scope, kinds=IN_FILES),
                wanted=territory.keep(extension=self._desk.extension(asked.ext), excluded=asked.excluded),
                limit=1 if asked.count_only else asked.limit,
            )
        )
        rows = [] if asked.count_only else _rows(engine, territory, answer, asked)
        summary = self._summary(started, answer, asked)
        return self._desk.reply({"summary": summary} if asked.count_only else {"files": rows, "summary": summary})

    def _summary(self, started: float, answer: GrepAnswer, asked: Asked) -> dict[str, Any]:
        extra: dict[str, Any] = {"matchedTokens": list(answer.words)} if asked.manner == "substring" else {}
        is_short = asked.manner == "substring" and any(len(it) < _SHORT_CHARS for it in asked.terms)
        warnings = [it for it in (_SHORT if is_short else "", answer.cut) if it]
        return self._desk.summary(
            started,
            answer.seen,
            totalFiles=answer.total_files,
            totalOccurrences=answer.total_occurrences,
            termsSearched=list(answer.searched),
            searchMode=_mode(asked),
            indexFiles=answer.index_files,
            indexTokens=answer.index_words,
            indexLoadTimeMs=0,
            **extra,
            **({"warnings": warnings} if warnings else {}),
        )


# --- the question ---


def manner_of(*, regex: bool, phrase: bool, substring: bool | None) -> Manner:
    if substring and (regex or phrase):
        raise BadInput("substring is mutually exclusive with regex and phrase")
    if regex and phrase:
        raise BadInput("regex is mutually exclusive with phrase")
    if regex:
        return "word-regex"
    if phrase:
        return "phrase"
    return "word" if substring is False else "substring"


def terms_of(terms: str, *, phrase: bool) -> tuple[str, ...]:
    found = (terms.strip(),) if phrase and terms.strip() else () if phrase else listed(terms)
    if not found:
        raise BadInput("No search terms provided")
    return tuple(dict.fromkeys(it.lower() for it in found))


def _mode(asked: Asked) -> str:
    how = "and" if asked.every else "or"
    names: dict[str, str] = {"word-regex": "regex", "phrase": "phrase", "substring": f"substring-{how}"}
    return names.get(asked.manner, how)


# --- the answer ---


def _rows(engine: Engine, territory: Territory, answer: GrepAnswer, asked: Asked) -> list[dict[str, Any]]:
    rows, shown = [], 0
    for found in answer.files:
        row = _row(territory, found, asked.manner, len(answer.searched))
        if asked.around is not None and shown < _MAX_EXCERPT_LINES:
            excerpts = _excerpts(engine, found, asked.around)
            row["lineContent"] = [_excerpt_json(it) for it in excerpts]
            shown += sum(len(it.lines) for it in excerpts)
        rows.append(row)
    return rows


def _row(territory: Territory, found: FileLines, manner: Manner, terms: int) -> dict[str, Any]:
    row: dict[str, Any] = {"path": territory.full(found.collection, found.path)}
    if manner != "phrase":
        row["score"] = round(found.score, 4)
    row["occurrences"] = found.occurrences
    if manner != "phrase":
        row["termsMatched"] = f"{found.terms_matched}/{terms}"
    row["lines"] = list(found.lines)
    return row


def _excerpts(engine: Engine, found: FileLines, around: tuple[int, int]) -> list[Excerpt]:
    records = engine.record(found.path, found.collection)
    return engine.excerpts(records[0], found.lines, *around) if records else []


def _excerpt_json(excerpt: Excerpt) -> dict[str, Any]:
    return {
        "startLine": excerpt.start_line,
        "lines": list(excerpt.lines),
        "matchIndices": list(excerpt.matches),
    }
