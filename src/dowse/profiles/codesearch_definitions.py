"""`search_definitions` of the code search contract: where things are defined, what holds a line, what is odd."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

from dowse.errors import BadInput
from dowse.lookup.find import NameQuery
from dowse.lookup.symbols.question import Definition, SymbolAnswer, Wanted
from dowse.profiles.codesearch_definition_json import STATS, body_json, definition_json
from dowse.profiles.codesearch_desk import Desk
from dowse.profiles.codesearch_territory import Territory
from dowse.profiles.codesearch_words import MAX_NUMBER, ExcludeDir, Keep, MaxResults, listed, one_of, slashes
from dowse.profiles.tool import Param, Reply

KINDS = (
    "class", "interface", "method", "property", "field", "enum", "struct", "record", "constructor", "delegate",
    "event", "enumMember", "function", "typeAlias", "variable", "storedProcedure", "table", "view", "sqlFunction",
    "userDefinedType", "column", "sqlIndex",
)  # fmt: skip
_SORTS = (*STATS, "lines")
_MOST_FILES = 500  # that a part of a path may mean when a line is asked about

AtLeast = Annotated[int | None, Param("Only those with at least so many", ge=0, le=MAX_NUMBER)]
Lines = Annotated[int, Param("0 is any number", ge=0, le=MAX_NUMBER)]


@dataclass(frozen=True, slots=True)
class Shown:
    """What of a definition is shown beside its place; lines of 0 are any number."""

    stats: bool
    bodies: bool
    body_lines: int
    all_lines: int


class DefinitionsTool:
    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def search_definitions(
        self,
        name: Annotated[str, Param("Part of the name; several with commas between them: any of them")] = "",
        kind: Annotated[str, Param("What kind of definition", choices=KINDS)] = "",
        attribute: Annotated[str, Param("With this attribute or decorator, its whole name")] = "",
        baseType: Annotated[str, Param("That extends or implements this type, its whole name")] = "",
        file: Annotated[str, Param("Part of the path; / and \\ are the same")] = "",
        parent: Annotated[str, Param("Part of the name of the class it is defined in")] = "",
        containsLine: Annotated[
            int | None, Param("What the line of the file stands in, innermost first; needs file", ge=1, le=MAX_NUMBER)
        ] = None,
        regex: Annotated[bool, Param("name is a regex, found anywhere in the name; case is ignored")] = False,
        maxResults: MaxResults = 100,
        excludeDir: ExcludeDir = (),
        includeBody: Annotated[bool, Param("Give the source of each definition too")] = False,
        maxBodyLines: Annotated[int, Param("How many lines of each body at most; 0 is all", ge=0, le=MAX_NUMBER)] = 100,
        maxTotalBodyLines: Annotated[
            int, Param("How many lines of all bodies at most; 0 is all", ge=0, le=MAX_NUMBER)
        ] = 500,
        audit: Annotated[
            bool, Param("Instead: which files have no definitions though they are large enough to")
        ] = False,
        auditMinBytes: Annotated[int, Param("What is large enough", ge=0, le=MAX_NUMBER)] = 500,
        includeCodeStats: Annotated[bool, Param("Give figures of complexity for functions too")] = False,
        sortBy: Annotated[str, Param("The largest of these figures first", choices=_SORTS)] = "",
        minComplexity: AtLeast = None,
        minCognitive: AtLeast = None,
        minNesting: AtLeast = None,
        minParams: AtLeast = None,
        minReturns: AtLeast = None,
        minCalls: AtLeast = None,
    ) -> Reply:
        """Find where classes, methods, functions, properties, tables and the like are defined: by name, kind, base
        type, attribute, parent, file, or by a line they hold; with their source if asked for. All filters must hold."""
        started = self._desk.now()
        least = _least(
            cyclomatic=minComplexity,
            cognitive=minCognitive,
            nesting=minNesting,
            parameters=minParams,
            returns=minReturns,
            calls=minCalls,
        )
        sort = one_of("sortBy", sortBy, _SORTS) if sortBy.strip() else ""
        kinds = _kinds(kind.strip())
        if containsLine is not None and not file.strip():
            raise BadInput("containsLine requires file: name the file, or a part of its path")
        self._desk.ready()
        if audit:
            return self._audit(auditMinBytes)
        territory = self._desk.territory("", excludeDir)
        shown = Shown(includeCodeStats or bool(sort or least), includeBody, maxBodyLines, maxTotalBodyLines)
        keep = territory.keep(extension=self._desk.extension(""), having=file.strip(), excluded=excludeDir)
        if containsLine is not None:
            return self._containing(started, territory, keep, file.strip(), containsLine, shown)
        wanted = Wanted(
            names=(name.strip(),) if regex and name.strip() else listed(name),
            matching="regex" if regex else "part",
            kinds=kinds,
            attribute=attribute.strip(),
            base=baseType.strip(),
            parent=parent.strip(),
            scope=territory.scope,
            wanted=keep,
            least=least,
            order=STATS.get(sort, sort),
            limit=maxResults,
        )
        return self._found(started, territory, wanted, shown, sort)

    # --- three kinds of answers ---

    def _found(self, started: float, territory: Territory, wanted: Wanted, shown: Shown, sort: str) -> Reply:
        answer = self._desk.engine().symbols(wanted)
        rows, lines = self._rows(answer.definitions, territory, shown)
        extra: dict[str, Any] = {"sortedBy": sort} if sort else {}
        if shown.bodies:
            extra["totalBodyLinesReturned"] = lines
        if wanted.least:
            extra |= {
                "statsFiltersApplied": True,
                "beforeStatsFilter": answer.before_stats,
                "afterStatsFilter": answer.total,
            }
        if shown.stats and rows and not any("codeStats" in row for row in rows):
            extra["codeStatsAvailable"] = False
        return self._desk.reply({"definitions": rows, "summary": self._summary(started, answer, len(rows), extra)})

    def _containing(
        self, started: float, territory: Territory, keep: Keep | None, file: str, line: int, shown: Shown
    ) -> Reply:
        engine = self._desk.engine()
        name = slashes(file).strip("/").rpartition("/")[2] or "/"
        asked = NameQuery((name,), "path", ignore_case=True, only="files", wanted=keep, limit=_MOST_FILES)
        files = engine.find(replace(asked, collections=territory.scope.collections))
        found = [it for entry in files.entries for it in engine.containing(entry.path, line, entry.collection)]
        rows, _ = self._rows(found, territory, shown)
        extra: dict[str, Any] = {}
        if files.total > _MOST_FILES:
            extra["warnings"] = [
                f"Only {_MOST_FILES} of {files.total:,} files were looked at: name the file more exactly"
            ]
        summary = self._desk.summary(started, files.seen, totalResults=len(rows), returned=len(rows), **extra)
        return self._desk.reply(
            {"containingDefinitions": rows, "query": {"file": file, "line": line}, "summary": summary}
        )

    def _audit(self, least_bytes: int) -> Reply:
        audit = self._desk.engine().audit(least_bytes)
        territory = self._desk.territory()
        silent = [it for it in audit.silent if it.collection in territory.roots]
        counted = {
            "totalFiles": audit.files,
            "filesWithDefinitions": audit.with_definitions,
            "filesWithoutDefinitions": audit.files - audit.with_definitions,
            "readErrors": audit.unreadable,
            "lossyUtf8Files": audit.lossy,
            "suspiciousFiles": len(silent),
            "suspiciousThresholdBytes": least_bytes,
        }
        rows = [
            {
                "file": territory.full(it.collection, it.path),
                "bytes": it.size,
                **({"reason": it.reason} if it.reason else {}),
            }
            for it in silent
        ]
        return self._desk.reply({"audit": counted, "suspiciousFiles": rows})

    def _summary(self, started: float, answer: SymbolAnswer, returned: int, extra: dict[str, Any]) -> dict[str, Any]:
        return self._desk.summary(
            started,
            answer.seen,
            totalResults=answer.total,
            returned=returned,
            indexFiles=answer.index_files,
            totalDefinitions=answer.index_definitions,
            **extra,
        )

    def _rows(
        self, definitions: Sequence[Definition], territory: Territory, shown: Shown
    ) -> tuple[list[dict[str, Any]], int]:
        """The rows, and how many lines of source there are in them."""
        rows = [definition_json(it, territory, stats=shown.stats) for it in definitions]
        if not shown.bodies:
            return rows, 0
        bodies = self._desk.engine().bodies(definitions, max_lines=shown.body_lines, total_lines=shown.all_lines)
        for row, body in zip(rows, bodies, strict=True):
            row.update(body_json(body))
        return rows, sum(len(it.lines) for it in bodies)


def _kinds(kind: str) -> tuple[str, ...]:
    """Casing does not count for the contract's kinds; the engine knows of more, and refuses what it does not know."""
    return ({it.lower(): it for it in KINDS}.get(kind.lower(), kind),) if kind else ()


def _least(**bounds: int | None) -> dict[str, int]:
    return {name: bound for name, bound in bounds.items() if bound is not None}
