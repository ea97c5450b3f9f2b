"""The codesearch tools for files and lines."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

from dowse.engine import Engine
from dowse.errors import BadInput
from dowse.ingest.sources.base import ListingScope
from dowse.lookup.find import ContentAnswer, FileMatches, NameQuery, split_patterns
from dowse.lookup.grep import Excerpt, GrepAnswer, GrepMode, GrepQuery
from dowse.model import FILE_KINDS, FRESHNESS_UNKNOWN, DiskFreshness
from dowse.store.types import FileLines
from dowse.tools.codesearch_context import INDEX_BUILDING_TEXT, DirectoryScope, ToolContext
from dowse.tools.render import (
    MAX_INT32,
    CountOnlyArg,
    DirArg,
    ExcludeArg,
    ExcludeDirArg,
    ExtArg,
    MaxResultsArg,
    parse_choice,
    split_commas,
)
from dowse.tools.tool import Param, ToolReply

RegexFlag = Annotated[bool, Param("The pattern is a regex that matches anywhere")]
IgnoreCaseFlag = Annotated[bool, Param("Ignore case")]
EntryType = Literal["", "files", "directories"]
FileRows = list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class FileNameRequest:
    """A search for file names, from a tool or the command line."""

    pattern: str
    directory: str = ""
    ext: str = ""
    regex: bool = False
    ignore_case: bool = False
    entry_type: EntryType = ""
    min_bytes: int = 0
    max_bytes: int | None = None
    listing_scope: ListingScope = ListingScope()  # noqa: RUF009 - frozen
    count_only: bool = False


class FileTools:
    def __init__(self, context: ToolContext) -> None:
        self._context = context

    # --- the tools ---

    def search_find(
        self,
        pattern: Annotated[str, Param("Substring of the file name; with contents, of a line")],
        dir: DirArg = "",
        ext: ExtArg = "",
        contents: Annotated[bool, Param("Search file contents instead of names")] = False,
        regex: RegexFlag = False,
        ignoreCase: IgnoreCaseFlag = False,
        maxDepth: Annotated[int, Param("Maximum levels below dir (0 = no limit)", ge=0, le=MAX_INT32)] = 0,
        countOnly: CountOnlyArg = False,
    ) -> ToolReply:
        """Find files on disk by name or content, without the index. Slow: prefer search_fast for names and search_grep
        for content."""
        listing_scope = ListingScope(max_depth=maxDepth)
        names = FileNameRequest(
            pattern, dir, ext, regex, ignoreCase, "files", listing_scope=listing_scope, count_only=countOnly
        )
        return self.contents(names) if contents else self.live(names)

    def search_fast(
        self,
        pattern: Annotated[str, Param("Substring of the name; comma-separated for any of several")],
        dir: DirArg = "",
        ext: ExtArg = "",
        regex: RegexFlag = False,
        ignoreCase: IgnoreCaseFlag = False,
        dirsOnly: Annotated[bool, Param("Only directories")] = False,
        filesOnly: Annotated[bool, Param("Only files")] = False,
        countOnly: CountOnlyArg = False,
    ) -> ToolReply:
        """Find files and directories by name in the index, best match first: exact names, then prefixes, then
        substrings."""
        if dirsOnly and filesOnly:
            raise BadInput("dirsOnly and filesOnly are mutually exclusive; pass one of them")
        only: EntryType = "directories" if dirsOnly else "files" if filesOnly else ""
        return self.find_indexed(FileNameRequest(pattern, dir, ext, regex, ignoreCase, only, count_only=countOnly))

    # --- helpers ---

    def live(self, names: FileNameRequest) -> ToolReply:
        started, dir_scope = self._context.now(), self._dir_scope(names)
        query = _name_query((names.pattern,), names, dir_scope)
        answer = self._context.engine().find(query, _scan_reach(names, dir_scope))
        rows = [{"path": dir_scope.full_path(it.collection, it.path)} for it in answer.entries]
        return self._reply(started, rows, names, totalMatches=answer.total, totalFilesScanned=answer.scanned)

    def contents(self, names: FileNameRequest) -> ToolReply:
        started, dir_scope = self._context.now(), self._dir_scope(names)
        query = _name_query((names.pattern,), names, dir_scope)
        answer = self._context.engine().code.find_contents(query, _scan_reach(names, dir_scope))
        figures = {"totalMatches": answer.total_files, "totalFilesScanned": answer.scanned, **_content_warnings(answer)}
        return self._reply(started, [_content_row(it, dir_scope) for it in answer.files], names, **figures)

    def find_indexed(self, names: FileNameRequest) -> ToolReply:
        started, dir_scope = self._context.now(), self._dir_scope(names)
        query = _name_query(split_patterns(names.pattern, "regex" if names.regex else "part"), names, dir_scope)
        # Before the first index is built, names are read from disk.
        listing_scope = None if self._context.is_built() else _scan_reach(names, dir_scope)
        answer = self._context.engine().find(query, listing_scope)
        rows = [
            {"path": dir_scope.full_path(it.collection, it.path), "size": it.size, "isDir": it.is_directory}
            for it in answer.entries
        ]
        return self._reply(
            started, rows, names, answer.disk_freshness, totalMatches=answer.total, totalIndexed=answer.scanned
        )

    def _dir_scope(self, names: FileNameRequest) -> DirectoryScope:
        dir_scope = self._context.directory_scope(names.directory)
        if not dir_scope.roots:
            raise BadInput(INDEX_BUILDING_TEXT)
        return dir_scope

    def _reply(
        self,
        started: float,
        rows: FileRows,
        names: FileNameRequest,
        seen: DiskFreshness = FRESHNESS_UNKNOWN,
        **figures: object,
    ) -> ToolReply:
        summary = self._context.summary(started, seen, **figures)
        return self._context.reply({"summary": summary} if names.count_only else {"files": rows, "summary": summary})


def _name_query(patterns: tuple[str, ...], names: FileNameRequest, dir_scope: DirectoryScope) -> NameQuery:
    if not any(it.strip() for it in patterns):
        raise BadInput("pattern must not be empty; pass a part of a name")
    return NameQuery(
        patterns,
        "regex" if names.regex else "part",
        ignore_case=names.ignore_case,
        extensions=split_commas(names.ext),
        entry_type=names.entry_type,
        min_bytes=names.min_bytes,
        max_bytes=names.max_bytes,
        collections=dir_scope.scope.collections,
        path_filter=dir_scope.contains,
        limit=0,
    )


def _scan_reach(names: FileNameRequest, dir_scope: DirectoryScope) -> ListingScope:
    listing_scope = names.listing_scope
    return ListingScope(
        dir_scope.subpath,
        include_hidden=listing_scope.include_hidden,
        include_ignored=listing_scope.include_ignored,
        max_depth=listing_scope.max_depth,
    )


def _content_row(file_matches: FileMatches, dir_scope: DirectoryScope) -> dict[str, Any]:
    return {
        "path": dir_scope.full_path(file_matches.entry.collection, file_matches.entry.path),
        "matches": [{"line": it.line, "text": it.text} for it in file_matches.matches],
    }


def _content_warnings(answer: ContentAnswer) -> dict[str, Any]:
    unreadable = f"{answer.unreadable:,} files are not text or could not be read" if answer.unreadable else ""
    warnings = [it for it in (answer.cut, unreadable) if it]
    return {"warnings": warnings} if warnings else {}


# --------------------------------------------------------------------------------------------------
# `search_grep` of the code search contract: lines by words, substrings, regexes of words, or phrases.

_SHORT_TERM_CHARS = 4
_SHORT_TERM_WARNING = "Short substring query (<4 chars) may return broad results"
_MAX_CONTEXT = 1000
# More than any client reads; the response size limit cuts the rest anyway.
_MAX_EXCERPT_LINES = 100_000
_MODES = ("or", "and")


@dataclass(frozen=True, slots=True)
class GrepRequest:
    """A search for lines, from the tool or the command line. `context_lines` are the numbers of lines before and
    after a match; None shows no lines at all."""

    terms: tuple[str, ...]
    mode: GrepMode
    match_all: bool = False
    directory: str = ""
    ext: str = ""
    excluded: tuple[str, ...] = ()
    limit: int = 50
    context_lines: tuple[int, int] | None = None
    count_only: bool = False


class GrepTool:
    def __init__(self, context: ToolContext) -> None:
        self._context = context

    def search_grep(
        self,
        terms: Annotated[str, Param("Terms to search for, comma-separated; case is ignored")],
        dir: DirArg = "",
        ext: ExtArg = "",
        mode: Annotated[str, Param("Files with any of the terms (or) or all of them (and)", choices=_MODES)] = "or",
        regex: Annotated[bool, Param("Each term is a regex that must match a whole word: I.*Cache")] = False,
        phrase: Annotated[bool, Param("terms is one phrase; with punctuation, it is matched literally")] = False,
        substring: Annotated[
            bool | None,
            Param("Terms may match parts of words. Default: true, but false with regex or phrase"),
        ] = None,
        showLines: Annotated[bool, Param("Include the text of the lines")] = False,
        contextLines: Annotated[int, Param("Number of context lines around each match", ge=0, le=_MAX_CONTEXT)] = 0,
        maxResults: MaxResultsArg = 50,
        excludeDir: ExcludeDirArg = (),
        exclude: ExcludeArg = (),
        countOnly: CountOnlyArg = False,
    ) -> ToolReply:
        """Find files by content, ranked by TF-IDF, with the matching lines. Much faster than reading files: use it for
        names and literals. Use search_definitions for where something is defined, and search_callers for who uses it.
        """
        context_lines = contextLines if showLines or contextLines else None
        return self.run(
            GrepRequest(
                parse_terms(terms, phrase=phrase),
                choose_grep_mode(regex=regex, phrase=phrase, substring=substring),
                match_all=parse_choice("mode", mode, _MODES) == "and",
                directory=dir,
                ext=ext,
                excluded=(*excludeDir, *exclude),
                limit=maxResults,
                context_lines=None if context_lines is None else (context_lines, context_lines),
                count_only=countOnly,
            )
        )

    def run(self, request: GrepRequest) -> ToolReply:
        started, engine = self._context.now(), self._context.ready()
        dir_scope = self._context.directory_scope(request.directory, request.excluded)
        answer = engine.grep(
            GrepQuery(
                request.terms,
                request.mode,
                match_all=request.match_all,
                scope=replace(dir_scope.scope, kinds=FILE_KINDS),
                path_filter=dir_scope.path_filter(
                    extension=self._context.extension(request.ext), excluded=request.excluded
                ),
                limit=1 if request.count_only else request.limit,
            )
        )
        rows = [] if request.count_only else _file_result_rows(engine, dir_scope, answer, request)
        summary = self._summary(started, answer, request)
        return self._context.reply({"summary": summary} if request.count_only else {"files": rows, "summary": summary})

    def _summary(self, started: float, answer: GrepAnswer, request: GrepRequest) -> dict[str, Any]:
        extra: dict[str, Any] = {"matchedTokens": list(answer.words)} if request.mode == "substring" else {}
        is_short = request.mode == "substring" and any(len(it) < _SHORT_TERM_CHARS for it in request.terms)
        warnings = [it for it in (_SHORT_TERM_WARNING if is_short else "", answer.cut) if it]
        return self._context.summary(
            started,
            answer.disk_freshness,
            totalFiles=answer.total_files,
            totalOccurrences=answer.total_occurrences,
            termsSearched=list(answer.searched),
            searchMode=_search_mode(request),
            indexFiles=answer.index_files,
            indexTokens=answer.index_words,
            indexLoadTimeMs=0,
            **extra,
            **({"warnings": warnings} if warnings else {}),
        )


# --- query ---


def choose_grep_mode(*, regex: bool, phrase: bool, substring: bool | None) -> GrepMode:
    if substring and (regex or phrase):
        raise BadInput("substring is mutually exclusive with regex and phrase")
    if regex and phrase:
        raise BadInput("regex is mutually exclusive with phrase")
    if regex:
        return "word-regex"
    if phrase:
        return "phrase"
    return "word" if substring is False else "substring"


def parse_terms(terms: str, *, phrase: bool) -> tuple[str, ...]:
    parsed = (terms.strip(),) if phrase and terms.strip() else () if phrase else split_commas(terms)
    if not parsed:
        raise BadInput("No search terms provided")
    return tuple(dict.fromkeys(it.lower() for it in parsed))


def _search_mode(request: GrepRequest) -> str:
    operator = "and" if request.match_all else "or"
    names: dict[str, str] = {"word-regex": "regex", "phrase": "phrase", "substring": f"substring-{operator}"}
    return names.get(request.mode, operator)


# --- answer ---


def _file_result_rows(
    engine: Engine, dir_scope: DirectoryScope, answer: GrepAnswer, request: GrepRequest
) -> list[dict[str, Any]]:
    rows, shown = [], 0
    for file_lines in answer.files:
        row = _file_result_row(dir_scope, file_lines, request.mode, len(answer.searched))
        if request.context_lines is not None and shown < _MAX_EXCERPT_LINES:
            excerpts = _excerpts(engine, file_lines, request.context_lines)
            row["lineContent"] = [_excerpt_json(it) for it in excerpts]
            shown += sum(len(it.lines) for it in excerpts)
        rows.append(row)
    return rows


def _file_result_row(dir_scope: DirectoryScope, file_lines: FileLines, mode: GrepMode, terms: int) -> dict[str, Any]:
    row: dict[str, Any] = {"path": dir_scope.full_path(file_lines.collection, file_lines.path)}
    if mode != "phrase":
        row["score"] = round(file_lines.score, 4)
    row["occurrences"] = file_lines.occurrences
    if mode != "phrase":
        row["termsMatched"] = f"{file_lines.terms_matched}/{terms}"
    row["lines"] = list(file_lines.lines)
    return row


def _excerpts(engine: Engine, file_lines: FileLines, around: tuple[int, int]) -> list[Excerpt]:
    records = engine.record(file_lines.path, file_lines.collection)
    return engine.code.excerpts(records[0], file_lines.lines, *around) if records else []


def _excerpt_json(excerpt: Excerpt) -> dict[str, Any]:
    return {
        "startLine": excerpt.start_line,
        "lines": list(excerpt.lines),
        "matchIndices": list(excerpt.matches),
    }
