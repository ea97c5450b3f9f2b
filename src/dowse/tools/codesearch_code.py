"""The codesearch tools for definitions and callers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Annotated, Any, Literal, cast

from dowse.callgraph.facts import CallEdge, CallNode, CallQuery, CallTree
from dowse.errors import BadInput
from dowse.lookup.find import NameQuery
from dowse.lookup.symbols import DefinitionBody, SymbolAnswer
from dowse.model import FunctionMetrics, Record, Symbol
from dowse.store.types import Definition, SymbolQuery
from dowse.tools.codesearch_context import DirectoryScope, ToolContext
from dowse.tools.render import (
    MAX_INT32,
    ExcludeDirArg,
    ExtArg,
    MaxResultsArg,
    PathCondition,
    comparable_path,
    parse_choice,
    split_commas,
)
from dowse.tools.tool import Param, ToolReply

# --------------------------------------------------------------------------------------------------
# A definition, its metrics and its source as JSON of the code search contract.

# Metric names of the contract, and Dowse's names for them.
METRIC_NAMES = {
    "cyclomaticComplexity": "cyclomatic",
    "cognitiveComplexity": "cognitive",
    "maxNestingDepth": "nesting",
    "paramCount": "parameters",
    "returnCount": "returns",
    "callCount": "calls",
    "lambdaCount": "lambdas",
}

_OMITTED = "total body lines budget exceeded"
_CHANGED = "The file has changed since it was indexed; these lines may be outdated"
_UNREADABLE = "failed to read file"


def definition_row(definition: Definition, dir_scope: DirectoryScope, *, stats: bool = False) -> dict[str, Any]:
    symbol = definition.symbol
    row: dict[str, Any] = {
        "name": symbol.name,
        "kind": symbol.kind,
        "file": dir_scope.full_path(definition.record.collection, definition.record.path),
        "lines": f"{symbol.start_line}-{symbol.end_line}",
    }
    optional = {
        "modifiers": list(symbol.modifiers),
        "attributes": list(symbol.attributes),
        "baseTypes": list(symbol.bases),
        "signature": symbol.signature,
        "parent": definition.parent,
    }
    row.update({key: value for key, value in optional.items() if value})
    if stats and symbol.stats is not None:
        row["codeStats"] = _metrics_json(symbol, symbol.stats)
    return row


def _metrics_json(symbol: Symbol, stats: FunctionMetrics) -> dict[str, int]:
    lines = symbol.end_line - symbol.start_line + 1
    return {"lines": lines, **{name: getattr(stats, ours) for name, ours in METRIC_NAMES.items()}}


def body_row(body: DefinitionBody) -> dict[str, Any]:
    if body.problem:
        return {"bodyError": _UNREADABLE, "bodyErrorReason": body.problem}
    if body.omitted:
        return {"bodyOmitted": _OMITTED}
    row: dict[str, Any] = {"bodyStartLine": body.start_line, "body": list(body.lines)}
    if body.truncated:
        row["bodyTruncated"] = True
    if body.changed:
        row["bodyWarning"] = _CHANGED
    return row


DEFINITION_KINDS = (
    "class", "interface", "method", "property", "field", "enum", "struct", "record", "constructor", "delegate",
    "event", "enumMember", "function", "typeAlias", "variable", "storedProcedure", "table", "view", "sqlFunction",
    "userDefinedType", "column", "sqlIndex",
)  # fmt: skip
_SORT_KEYS = (*METRIC_NAMES, "lines")
_MAX_MATCHED_FILES = 500  # that a partial path may match with containsLine

MinMetric = Annotated[int | None, Param("Minimum value of this metric", ge=0, le=MAX_INT32)]


@dataclass(frozen=True, slots=True)
class DefinitionDetail:
    """Parts of a definition to show besides its location; 0 lines means no limit."""

    stats: bool
    bodies: bool
    body_lines: int
    all_lines: int


class DefinitionsTool:
    def __init__(self, context: ToolContext) -> None:
        self._context = context

    def search_definitions(
        self,
        name: Annotated[str, Param("Substring of the name; comma-separated for any of several")] = "",
        kind: Annotated[str, Param("Kind of definition", choices=DEFINITION_KINDS)] = "",
        attribute: Annotated[str, Param("Full name of an attribute or decorator it has")] = "",
        baseType: Annotated[str, Param("Full name of a type it extends or implements")] = "",
        file: Annotated[str, Param("Substring of the path; / and \\ are equal")] = "",
        parent: Annotated[str, Param("Substring of the name of the class that defines it")] = "",
        containsLine: Annotated[
            int | None, Param("Find the definitions around this line, innermost first; needs file", ge=1, le=MAX_INT32)
        ] = None,
        regex: Annotated[bool, Param("name is a regex that matches anywhere in a name; case is ignored")] = False,
        maxResults: MaxResultsArg = 100,
        excludeDir: ExcludeDirArg = (),
        includeBody: Annotated[bool, Param("Include the source of each definition")] = False,
        maxBodyLines: Annotated[int, Param("Maximum lines per body (0 = no limit)", ge=0, le=MAX_INT32)] = 100,
        maxTotalBodyLines: Annotated[
            int, Param("Maximum lines of all bodies (0 = no limit)", ge=0, le=MAX_INT32)
        ] = 500,
        audit: Annotated[bool, Param("Instead, list large files without definitions")] = False,
        auditMinBytes: Annotated[int, Param("Minimum size of a large file, in bytes", ge=0, le=MAX_INT32)] = 500,
        includeCodeStats: Annotated[bool, Param("Include complexity metrics of functions")] = False,
        sortBy: Annotated[str, Param("Sort by this metric, largest first", choices=_SORT_KEYS)] = "",
        minComplexity: MinMetric = None,
        minCognitive: MinMetric = None,
        minNesting: MinMetric = None,
        minParams: MinMetric = None,
        minReturns: MinMetric = None,
        minCalls: MinMetric = None,
    ) -> ToolReply:
        """Find where classes, methods, functions, properties, tables and other symbols are defined: by name, kind, base
        type, attribute, parent, file, or a line they contain; optionally with their source. All filters must match."""
        started = self._context.now()
        minimums = _metric_minimums(
            cyclomatic=minComplexity,
            cognitive=minCognitive,
            nesting=minNesting,
            parameters=minParams,
            returns=minReturns,
            calls=minCalls,
        )
        sort = parse_choice("sortBy", sortBy, _SORT_KEYS) if sortBy.strip() else ""
        kinds = _parse_kind(kind.strip())
        if containsLine is not None and not file.strip():
            raise BadInput("containsLine requires file: pass the path or a part of it")
        self._context.ready()
        if audit:
            return self._audit_reply(auditMinBytes)
        dir_scope = self._context.directory_scope("", excludeDir)
        shown = DefinitionDetail(
            includeCodeStats or bool(sort or minimums), includeBody, maxBodyLines, maxTotalBodyLines
        )
        path_filter = dir_scope.path_filter(
            extension=self._context.extension(""), having=file.strip(), excluded=excludeDir
        )
        if containsLine is not None:
            return self._containing_reply(started, dir_scope, path_filter, file.strip(), containsLine, shown)
        query = SymbolQuery(
            names=(name.strip(),) if regex and name.strip() else split_commas(name),
            matching="regex" if regex else "part",
            kinds=kinds,
            attribute=attribute.strip(),
            base=baseType.strip(),
            parent=parent.strip(),
            scope=dir_scope.scope,
            path_filter=path_filter,
            min_metrics=minimums,
            order=METRIC_NAMES.get(sort, sort),
            limit=maxResults,
        )
        return self._matching_reply(started, dir_scope, query, shown, sort)

    # --- three kinds of answers ---

    def _matching_reply(
        self, started: float, dir_scope: DirectoryScope, query: SymbolQuery, shown: DefinitionDetail, sort: str
    ) -> ToolReply:
        answer = self._context.engine().symbols(query)
        rows, lines = self._rows(answer.definitions, dir_scope, shown)
        extra: dict[str, Any] = {"sortedBy": sort} if sort else {}
        if shown.bodies:
            extra["totalBodyLinesReturned"] = lines
        if query.min_metrics:
            extra |= {
                "statsFiltersApplied": True,
                "beforeStatsFilter": answer.before_stats,
                "afterStatsFilter": answer.total,
            }
        if shown.stats and rows and not any("codeStats" in row for row in rows):
            extra["codeStatsAvailable"] = False
        return self._context.reply({"definitions": rows, "summary": self._summary(started, answer, len(rows), extra)})

    def _containing_reply(
        self,
        started: float,
        dir_scope: DirectoryScope,
        path_filter: PathCondition | None,
        file: str,
        line: int,
        shown: DefinitionDetail,
    ) -> ToolReply:
        engine = self._context.engine()
        name = comparable_path(file).strip("/").rpartition("/")[2] or "/"
        name_query = NameQuery(
            (name,), "path", ignore_case=True, entry_type="files", path_filter=path_filter, limit=_MAX_MATCHED_FILES
        )
        files = engine.find(replace(name_query, collections=dir_scope.scope.collections))
        found = [it for entry in files.entries for it in engine.code.definitions_at(entry.path, line, entry.collection)]
        rows, _ = self._rows(found, dir_scope, shown)
        extra: dict[str, Any] = {}
        if files.total > _MAX_MATCHED_FILES:
            extra["warnings"] = [
                f"Only {_MAX_MATCHED_FILES} of {files.total:,} files were searched: pass a longer part of the path"
            ]
        summary = self._context.summary(
            started, files.disk_freshness, totalResults=len(rows), returned=len(rows), **extra
        )
        return self._context.reply(
            {"containingDefinitions": rows, "query": {"file": file, "line": line}, "summary": summary}
        )

    def _audit_reply(self, min_bytes: int) -> ToolReply:
        audit = self._context.engine().code.audit(min_bytes)
        dir_scope = self._context.directory_scope()
        suspicious = [it for it in audit.files_without_definitions if it.collection in dir_scope.roots]
        counts = {
            "totalFiles": audit.files,
            "filesWithDefinitions": audit.with_definitions,
            "filesWithoutDefinitions": audit.files - audit.with_definitions,
            "readErrors": audit.unreadable,
            "lossyUtf8Files": audit.lossy,
            "suspiciousFiles": len(suspicious),
            "suspiciousThresholdBytes": min_bytes,
        }
        rows = [
            {
                "file": dir_scope.full_path(it.collection, it.path),
                "bytes": it.size,
                **({"reason": it.reason} if it.reason else {}),
            }
            for it in suspicious
        ]
        return self._context.reply({"audit": counts, "suspiciousFiles": rows})

    def _summary(self, started: float, answer: SymbolAnswer, returned: int, extra: dict[str, Any]) -> dict[str, Any]:
        return self._context.summary(
            started,
            answer.disk_freshness,
            totalResults=answer.total,
            returned=returned,
            indexFiles=answer.index_files,
            totalDefinitions=answer.index_definitions,
            **extra,
        )

    def _rows(
        self, definitions: Sequence[Definition], dir_scope: DirectoryScope, shown: DefinitionDetail
    ) -> tuple[list[dict[str, Any]], int]:
        """Return the rows, and the number of source lines in them."""
        rows = [definition_row(it, dir_scope, stats=shown.stats) for it in definitions]
        if not shown.bodies:
            return rows, 0
        bodies = self._context.engine().code.bodies(
            definitions, max_lines=shown.body_lines, total_lines=shown.all_lines
        )
        for row, body in zip(rows, bodies, strict=True):
            row.update(body_row(body))
        return rows, sum(len(it.lines) for it in bodies)


def _parse_kind(kind: str) -> tuple[str, ...]:
    """Ignore case for the contract's kinds; the engine knows more kinds and rejects unknown ones."""
    return ({it.lower(): it for it in DEFINITION_KINDS}.get(kind.lower(), kind),) if kind else ()


def _metric_minimums(**bounds: int | None) -> dict[str, int]:
    return {name: bound for name, bound in bounds.items() if bound is not None}


# --------------------------------------------------------------------------------------------------
# `search_callers` of the code search contract: trees of callers and callees.

CallDirection = Literal["up", "down"]

_DIRECTIONS = ("up", "down")
_TOP_LEVEL = "<top level>"
_SHOWN_CLASSES = 10


class CallersTool:
    def __init__(self, context: ToolContext) -> None:
        self._context = context

    def search_callers(
        self,
        method: Annotated[str, Param("Name of the method or function")],
        class_: Annotated[
            str, Param("Class that defines it. Strongly recommended: several classes may have a method of that name")
        ] = "",
        direction: Annotated[str, Param("up: who calls it; down: what it calls", choices=_DIRECTIONS)] = "up",
        depth: Annotated[int, Param("Number of levels, at most 10", ge=1, le=MAX_INT32)] = 3,
        ext: ExtArg = "",
        excludeDir: ExcludeDirArg = (),
        excludeFile: Annotated[
            Sequence[str], Param("Exclude files whose path contains any of these; case is ignored")
        ] = (),
        maxCallersPerLevel: Annotated[int, Param("Maximum branches per node (0 = no limit)", ge=0, le=MAX_INT32)] = 10,
        maxTotalNodes: Annotated[int, Param("Maximum nodes in total (0 = no limit)", ge=0, le=MAX_INT32)] = 200,
        resolveInterfaces: Annotated[
            bool, Param("Follow calls through an interface to its implementations, and back")
        ] = True,
    ) -> ToolReply:
        """Show who calls a method, and their callers, as a tree; or, with direction down, what it calls. Types are
        resolved through fields, parameters, locals and injected interfaces; `confidence` separates exact calls from
        possible ones."""
        started = self._context.now()
        if not method.strip():
            raise BadInput("method must not be empty; pass the name of a method or function")
        tree_direction = cast(CallDirection, parse_choice("direction", direction, _DIRECTIONS))
        engine = self._context.ready()
        excluded = (*excludeDir, *excludeFile)
        dir_scope = self._context.directory_scope("", excluded)
        query = CallQuery(
            method.strip(),
            owner=class_.strip(),
            direction=tree_direction,
            depth=depth,
            width=maxCallersPerLevel,
            nodes=maxTotalNodes,
            through_interfaces=resolveInterfaces,
            scope=dir_scope.scope,
            with_references=True,  # the contract has no other place for them
            path_filter=dir_scope.path_filter(extension=self._context.extension(ext), excluded=excluded),
        )
        return self._context.reply(self._data(started, engine.calls(query), dir_scope))

    def _data(self, started: float, tree: CallTree, dir_scope: DirectoryScope) -> dict[str, Any]:
        summary = self._context.summary(
            started,
            tree.disk_freshness,
            nodesVisited=tree.visited,
            totalNodes=tree.total,
            truncated=tree.truncated,
            unresolved=len(tree.unresolved),
        )
        data: dict[str, Any] = {
            "callTree": [_call_node_json(it, tree.query.direction, dir_scope) for it in tree.nodes],
            "query": _query_json(tree.query),
            "summary": summary,
        }
        if len(tree.owners) > 1 and not tree.query.owner:
            data["warning"] = _ambiguity_warning(tree.query.name, tree.owners)
        return data


def _query_json(query: CallQuery) -> dict[str, Any]:
    return {
        "method": query.name,
        **({"class": query.owner} if query.owner else {}),
        "direction": query.direction,
        "depth": query.depth,
        "maxCallersPerLevel": query.width,
        "maxTotalNodes": query.nodes,
    }


def _ambiguity_warning(name: str, owners: Sequence[str]) -> str:
    classes = ", ".join(owners[:_SHOWN_CLASSES]) + (", ..." if len(owners) > _SHOWN_CLASSES else "")
    return (
        f"Method '{name}' is defined in {len(owners)} classes: {classes}. "
        "The tree mixes them; pass one of them as class."
    )


def _call_node_json(node: CallNode, direction: CallDirection, dir_scope: DirectoryScope) -> dict[str, Any]:
    row = _up_json(node.edge, dir_scope) if direction == "up" else _down_json(node.edge, dir_scope)
    row["confidence"] = node.edge.confidence
    if node.edge.how:
        row["how"] = node.edge.how
    if node.cut:
        row["cut"] = node.cut
    if node.branches:
        children = [_call_node_json(it, direction, dir_scope) for it in node.branches]
        row["callers" if direction == "up" else "callees"] = children
    return row


def _up_json(edge: CallEdge, dir_scope: DirectoryScope) -> dict[str, Any]:
    caller = edge.caller
    return {
        "method": caller.symbol.name if caller else _TOP_LEVEL,
        "line": caller.symbol.start_line if caller else edge.site.line,
        "callSite": edge.site.line,
        **_location_json(caller, edge.record, dir_scope),
    }


def _down_json(edge: CallEdge, dir_scope: DirectoryScope) -> dict[str, Any]:
    callee = edge.callee
    return {
        "method": callee.symbol.name if callee else edge.site.name,
        "line": callee.symbol.start_line if callee else edge.site.line,
        "callSiteLine": edge.site.line,
        **_location_json(callee, callee.record if callee else edge.record, dir_scope),
        **({"receiverType": edge.receiver} if edge.receiver else {}),
    }


def _location_json(definition: Definition | None, record: Record, dir_scope: DirectoryScope) -> dict[str, Any]:
    return {
        **({"class": definition.parent} if definition and definition.parent else {}),
        "file": PurePosixPath(record.path).name,
        "path": dir_scope.full_path(record.collection, record.path),
    }
