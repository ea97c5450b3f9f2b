"""Settings, directory scopes, size limits and texts that the codesearch tools share."""

from __future__ import annotations

import json
import threading
import time
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import Any

from dowse.engine import Engine
from dowse.errors import BadInput
from dowse.live.job import Job, JobContext
from dowse.live.jobs import JobQueue
from dowse.model import EVERYTHING, FRESHNESS_UNKNOWN, Collection, DiskFreshness, Scope, SyncReport
from dowse.tools.core_render import report_json
from dowse.tools.render import PathCondition, comparable_path, extension_condition, split_commas
from dowse.tools.tool import ToolReply, optional_pending_json

# --------------------------------------------------------------------------------------------------
# The directory that a query covers: its indexed files and their full paths.


@dataclass(frozen=True, slots=True)
class DirectoryScope:
    """A directory and the collections in it.

    - `all_roots`: the roots of all collections, by name.
    - `roots`: the roots of the collections in `scope`.
    - `subpath`: the directory relative to its root, if it is not a root.
    """

    directory: Path
    all_roots: Mapping[str, str]
    roots: Mapping[str, str]
    scope: Scope
    subpath: str = ""

    def full_path(self, collection: str, path: str) -> str:
        return f"{self.all_roots[collection].rstrip('/')}/{path}"

    def contains(self, path: str) -> bool:
        """Return whether a path in a collection lies in the directory."""
        return not self.subpath or path.startswith(f"{self.subpath}/")

    def without_roots(self, excluded: Sequence[str]) -> DirectoryScope:
        """Drop the collections whose root path contains an excluded text."""
        texts = [comparable_path(it) for it in excluded if it]
        remaining = {
            name: root
            for name, root in self.roots.items()
            if not any(it in comparable_path(root) + "/" for it in texts)
        }
        if len(remaining) == len(self.roots):
            return self
        return replace(self, roots=remaining, scope=_collections_scope(remaining, self.all_roots))

    def path_filter(
        self, *, extension: PathCondition | None = None, having: str = "", excluded: Sequence[str] = ()
    ) -> PathCondition | None:
        """Return a filter for paths in a collection; None if every path passes."""
        texts = [comparable_path(it) for it in excluded if it]
        substring = comparable_path(having)
        if extension is None and not texts and not substring:
            return self.contains if self.subpath else None

        def is_kept(path: str) -> bool:
            if not self.contains(path) or (extension is not None and not extension(path)):
                return False
            full = list(self._full_paths(path))
            return any(substring in it for it in full) and not any(text in it for text in texts for it in full)

        return is_kept

    def _full_paths(self, path: str) -> Iterator[str]:
        return (comparable_path(f"{root.rstrip('/')}/{path}") for root in self.roots.values())


def build_directory_scope(directory: Path, collections: Sequence[Collection]) -> DirectoryScope:
    """Return the collections at and below the directory, or the subtree of the collection that contains it."""
    all_roots = {it.name: it.root for it in collections}
    below = {it.name: it.root for it in collections if _is_at_or_below(Path(it.root), directory)}
    enclosing = [it for it in collections if it.name not in below and _is_at_or_below(directory, Path(it.root))]
    if not enclosing:
        return DirectoryScope(directory, all_roots, below, _collections_scope(below, all_roots))
    nearest = max(enclosing, key=lambda it: len(it.root))
    if below:
        raise BadInput(f"{directory} is inside {nearest.root} and contains other roots; pass one of them")
    only_root = {nearest.name: nearest.root}
    subpath = directory.relative_to(nearest.root).as_posix()
    return DirectoryScope(directory, all_roots, only_root, _collections_scope(only_root, all_roots), subpath)


def _collections_scope(roots: Mapping[str, str], all_roots: Mapping[str, str]) -> Scope:
    """Return no filter if it would select everything, because that is faster. The name "" selects no collection."""
    return EVERYTHING if roots.keys() == all_roots.keys() else Scope(collections=tuple(roots) or ("",))


def resolve_server_directory(argument: str, server_dir: Path) -> Path:
    """Resolve a directory argument, following symlinks; it must be the server's directory or below."""
    if not argument.strip():
        return server_dir
    try:
        directory = (server_dir / argument.replace("\\", "/")).resolve()
        is_directory = directory.is_dir()
    except (OSError, RuntimeError, ValueError) as error:
        raise BadInput(f"dir {argument[:100]!r} cannot be used: {error.args[-1]}") from None
    if not _is_at_or_below(directory, server_dir):
        raise BadInput(
            f"Server started with --dir {server_dir.as_posix()}. For other directories, start another server "
            "or use the command line."
        )
    if not is_directory:
        raise BadInput(f"dir {argument[:100]!r} is not a directory below {server_dir.as_posix()}")
    return directory


def _is_at_or_below(path: Path, directory: Path) -> bool:
    return path == directory or directory in path.parents


# --------------------------------------------------------------------------------------------------
# Cut answers to the response size limit. The least useful data goes first, rows go whole, and the summary says what was
# cut.

Json = dict[str, Any]

TRUNCATION_HINT = (
    "Narrow the query with dir, ext, file, kind, class, excludeDir or exclude (commits: from, to, author or message), "
    "lower maxResults, or set countOnly."
)
_MAX_LINES_PER_FILE = 10
_MAX_MATCHED_TOKENS = 20
_MAX_TEXT_CHARS = 200


def to_compact_json(data: object) -> str:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))


def json_bytes(data: object) -> int:
    return len(to_compact_json(data).encode("utf-8", "surrogatepass"))


def cap_response(data: Mapping[str, Any], max_bytes: int) -> Json:
    """Return the data unchanged if it fits (0: no limit), else cut it step by step until it does."""
    size = json_bytes(data)
    if not max_bytes or size <= max_bytes:
        return dict(data)
    reduced: Json = json.loads(to_compact_json(data))
    reduced.setdefault("summary", {}).update(responseTruncated=True, originalResponseBytes=size, hint=TRUNCATION_HINT)
    for reason, cut in _CUT_STEPS:
        if cut(reduced):
            _add_reason(reduced, reason)
        if json_bytes(reduced) <= max_bytes:
            return reduced
    _cut_arrays(reduced, max_bytes)
    if json_bytes(reduced) > max_bytes and _cut_texts(reduced):
        _add_reason(reduced, f"texts cut to {_MAX_TEXT_CHARS} characters")
    return reduced


def _add_reason(data: Json, reason: str) -> None:
    summary = data["summary"]
    before = summary.get("truncationReason", "")
    summary["truncationReason"] = f"{before}; {reason}" if before else reason


# --- first: all data of one kind ---


def _file_rows(data: Json) -> list[Json]:
    rows = data.get("files")
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def _cut_lines(data: Json) -> bool:
    changed = False
    for row in _file_rows(data):
        changed |= row.pop("lineContent", None) is not None
        if len(row.get("lines", ())) > _MAX_LINES_PER_FILE:
            row["lines"] = row["lines"][:_MAX_LINES_PER_FILE]
            changed = True
    return changed


def _cut_tokens(data: Json) -> bool:
    tokens = data["summary"].get("matchedTokens", ())
    if len(tokens) > _MAX_MATCHED_TOKENS:
        data["summary"]["matchedTokens"] = tokens[:_MAX_MATCHED_TOKENS]
    return len(tokens) > _MAX_MATCHED_TOKENS


def _drop_lines(data: Json) -> bool:
    dropped = [row.pop("lines", None) for row in _file_rows(data)]
    return any(it is not None for it in dropped)


_CUT_STEPS: tuple[tuple[str, Callable[[Json], bool]], ...] = (
    (f"lineContent removed and lines capped to {_MAX_LINES_PER_FILE} per file", _cut_lines),
    (f"matchedTokens capped to {_MAX_MATCHED_TOKENS}", _cut_tokens),
    ("lines removed", _drop_lines),
)


# --- then: rows, from the end ---


def _cut_arrays(data: Json, max_bytes: int) -> None:
    """Cut the files first, then the largest array, until the data fits or nothing is left to cut."""
    name: str | None = "files" if _file_rows(data) else _largest_array(data)
    while name is not None and json_bytes(data) > max_bytes:
        holder = data if name in data else data["summary"]
        before = len(holder[name])
        _add_reason(data, f"{name} capped")
        _cut_rows(data, holder, name, max_bytes)
        if "returned" in data["summary"] and holder is data:
            data["summary"]["returned"] = len(data[name])
        name = _largest_array(data) if len(holder[name]) < before else None


def _largest_array(data: Json) -> str | None:
    arrays = [(json_bytes(value), name) for name, value in _arrays(data)]
    return max(arrays)[1] if arrays else None


def _arrays(data: Json) -> Iterator[tuple[str, list[Any]]]:
    for holder in (data, data["summary"]):
        yield from ((name, value) for name, value in holder.items() if isinstance(value, list) and value)


def _cut_rows(data: Json, holder: Json, name: str, max_bytes: int) -> None:
    """Keep as many rows as fit. If not even the first fits, keep it with its largest array cut: half of a long method
    or call tree is better than none."""
    rows = holder[name]
    holder[name] = []
    room = max_bytes - json_bytes(data)
    ends = list(accumulate(json_bytes(row) + 1 for row in rows))
    fitting = bisect_right(ends, room + 1)  # no comma follows the last row
    holder[name] = rows[:fitting]
    if not fitting and isinstance(rows[0], dict):
        _cut_first(data, holder, name, rows[0], max_bytes)


def _cut_first(data: Json, holder: Json, name: str, row: Json, max_bytes: int) -> None:
    arrays = {key: value for key, value in row.items() if isinstance(value, list) and value}
    if not arrays:
        _cut_longest_text(data, holder, name, row, max_bytes)
        return
    largest = max(arrays, key=lambda key: json_bytes(arrays[key]))
    row["bodyTruncated" if largest == "body" else "cut"] = True if largest == "body" else "response size"
    holder[name] = [row]
    _cut_rows(data, row, largest, max_bytes)
    if json_bytes(data) > max_bytes:
        holder[name] = []


def _cut_longest_text(data: Json, holder: Json, name: str, row: Json, max_bytes: int) -> None:
    """Cut the longest text of a row, such as a patch: its beginning is better than nothing."""
    texts = {key: value for key, value in row.items() if isinstance(value, str)}
    longest = max(texts, key=lambda key: len(texts[key]), default=None)
    if longest is None:
        return
    row["cut"] = "response size"
    holder[name] = [row]
    excess = max(0, json_bytes(data) - max_bytes)
    row[longest] = texts[longest][: max(0, len(texts[longest]) - excess)]
    if json_bytes(data) > max_bytes:
        holder[name] = []


# --- last: long texts, such as an absurd name that is echoed ---


def _cut_texts(data: Json) -> bool:
    changed = False
    for key, value in data.items():
        if isinstance(value, dict):
            changed |= _cut_texts(value)
        elif isinstance(value, str) and len(value) > _MAX_TEXT_CHARS:
            data[key] = value[:_MAX_TEXT_CHARS] + "…"
            changed = True
    return changed


INDEX_BUILDING_TEXT = "Content index is currently being built in the background. Please retry in a few seconds."
ALREADY_BUILDING_TEXT = "Index is already being built in the background. Please wait for it to finish."

_INDEX_JOB = "index"
_MAIN_BRANCHES = ("main", "master")
_BYTES_PER_TOKEN = 4
_METRICS_BYTES = 64  # reserved for the two metrics


@dataclass(frozen=True, slots=True)
class CodeSearchOptions:
    """Options of a server. `extensions` are the files to search if a query names none; empty means all."""

    extensions: tuple[str, ...] = ()
    max_response_kb: int = 16
    metrics: bool = False


class ToolContext:
    """Context shared by the tools: one directory, its engine and its jobs."""

    def __init__(
        self,
        engine: Callable[[], Engine],
        jobs: JobQueue,
        directory: Path,
        options: CodeSearchOptions,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.engine = engine
        self.directory = directory
        self.options = options
        self.now = clock
        self._jobs = jobs
        self._lock = threading.Lock()
        self._was_built = False

    # --- the index ---

    def ready(self) -> Engine:
        """Return the engine; raise BadInput until the index is built."""
        if not self.is_built():
            raise BadInput(self._failure_text() or INDEX_BUILDING_TEXT)
        return self.engine()

    def is_built(self) -> bool:
        """Return whether the directory was ever fully indexed. The index stays searchable during updates."""
        if not self._was_built:
            enclosing = {self.directory, *self.directory.parents}
            self._was_built = any(it.synced_at and Path(it.root) in enclosing for it in self.engine().collections())
        return self._was_built

    def _failure_text(self) -> str:
        last = self._jobs.last(_INDEX_JOB)
        return f"Indexing failed: {last.error}. Run search_reindex to try again." if last and last.error else ""

    def start_indexing(self, directory: Path | None = None) -> Job:
        """Start a background job that updates the index of a directory; only one runs at a time."""
        with self._lock:
            if any(self._jobs.running(kind) for kind in (_INDEX_JOB, "reconcile")):
                raise BadInput(ALREADY_BUILDING_TEXT)
            return self._jobs.submit(
                _INDEX_JOB, lambda task: report_json(self._run_indexing(directory or self.directory, task))
            )

    def _run_indexing(self, directory: Path, task: JobContext) -> SyncReport:
        # A subdirectory would become a separate root if its directory was never indexed as a whole. Vectors are left to
        # other servers, because no tool here compares by meaning.
        root = directory if self.is_built() else self.directory
        return self.engine().index([root], vectors=False, progress=task.set_current(str(root)))

    def reindex(self, directory: Path) -> Mapping[str, object]:
        """Update the index of a directory, wait for it, and return the report."""
        job = self.start_indexing(directory)
        self._jobs.wait(job)
        if job.error:
            raise BadInput(job.error)
        return job.result or {}

    # --- queries ---

    def resolve_directory(self, directory: str) -> Path:
        return resolve_server_directory(directory, self.directory)

    def directory_scope(self, directory: str = "", excluded: Sequence[str] = ()) -> DirectoryScope:
        return build_directory_scope(self.resolve_directory(directory), self.engine().collections()).without_roots(
            excluded
        )

    def extension(self, ext: str) -> PathCondition | None:
        return extension_condition(split_commas(ext) or self.options.extensions)

    # --- answers ---

    def ms_since(self, started: float) -> float:
        return round((self.now() - started) * 1000, 2)

    def summary(self, started: float, seen: DiskFreshness = FRESHNESS_UNKNOWN, **values: object) -> dict[str, Any]:
        """Return the values with elapsed time, pending changes, and a warning on any branch but main and master."""
        summary: dict[str, Any] = {**values, "searchTimeMs": self.ms_since(started), **optional_pending_json(seen)}
        branch = self.engine().state.branch(self.directory)
        if branch is not None and branch not in _MAIN_BRANCHES:
            summary["branchWarning"] = f"The work tree is on branch '{branch}'; main or master may differ."
        return summary

    def reply(self, data: Mapping[str, Any]) -> ToolReply:
        metrics = self.options.metrics
        limit = self.options.max_response_kb * 1024
        reply_data = cap_response(data, max(1, limit - _METRICS_BYTES) if limit and metrics else limit)
        if metrics and isinstance(reply_data.get("summary"), dict):
            size = json_bytes(reply_data)
            figures = {"responseBytes": size, "estimatedTokens": size // _BYTES_PER_TOKEN}
            reply_data["summary"] = {**reply_data["summary"], **figures}
        return ToolReply(reply_data, to_compact_json(reply_data))


# --------------------------------------------------------------------------------------------------
# `search_help` of the code search contract: the tool for each task, and how to use it well.

# Task, tool, and arguments as a client writes them.
_TASKS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("Where is a class, method, table … defined?", "search_definitions", {"name": "OrderService", "kind": "class"}),
    (
        "Show me the source of a method.",
        "search_definitions",
        {"name": "Submit", "parent": "OrderService", "includeBody": True},
    ),
    (
        "Which method contains this line of a stack trace?",
        "search_definitions",
        {"file": "OrderService.cs", "containsLine": 42},
    ),
    ("What implements an interface?", "search_definitions", {"baseType": "IOrderRepository"}),
    ("What has an attribute or decorator?", "search_definitions", {"attribute": "Obsolete"}),
    (
        "Which methods are the most complex?",
        "search_definitions",
        {"kind": "method", "sortBy": "cognitiveComplexity", "maxResults": 20},
    ),
    ("Who calls a method?", "search_callers", {"method": "Submit", "class": "OrderService"}),
    ("What does a method call?", "search_callers", {"method": "Submit", "class": "OrderService", "direction": "down"}),
    ("Which files mention a name?", "search_grep", {"terms": "OrderService"}),
    ("Which files mention all of several names?", "search_grep", {"terms": "OrderService,ILogger", "mode": "and"}),
    (
        "Where does this exact text occur?",
        "search_grep",
        {"terms": "new OrderService(", "phrase": True, "showLines": True},
    ),
    ("How often does something occur?", "search_grep", {"terms": "TODO", "countOnly": True}),
    ("Where is a file with this name?", "search_fast", {"pattern": "OrderService"}),
    ("Which files are on disk, indexed or not?", "search_find", {"pattern": "appsettings", "ext": "json"}),
    ("Which commits changed a file?", "search_git_history", {"repo": ".", "file": "src/OrderService.cs"}),
    (
        "What did last month's commits change in it?",
        "search_git_diff",
        {"repo": ".", "file": "src/OrderService.cs", "from": "2026-10-01", "to": "2026-10-31"},
    ),
    ("Who knows this part of the code?", "search_git_authors", {"repo": ".", "path": "src/Orders"}),
    ("What changed on a day?", "search_git_activity", {"repo": ".", "date": "2026-11-02"}),
    (
        "Who wrote these lines, and in which commit?",
        "search_git_blame",
        {"repo": ".", "file": "src/OrderService.cs", "startLine": 40, "endLine": 50},
    ),
    ("Is this the main branch, and up to date?", "search_branch_status", {"repo": "."}),
)

_ADVICE = (
    ("Start with search_definitions for names of code", "it returns locations instead of every mention"),
    ("Pass class to search_callers", "methods of the same name in other classes stay out of the tree"),
    ("Put several names into one query, separated by commas", "one answer costs less than several"),
    ("Use countOnly first if many matches are likely", "the summary has the totals without the rows"),
    ("Narrow with dir, ext, file and excludeDir", "long answers are cut to the size the server allows"),
    ("Use includeBody instead of reading files", "only the definition is sent, not the file around it"),
    ("Read summary", "it says what was cut, why, and what the full totals are"),
)  # fmt: skip

_EXAMPLES = {
    "terms": ("OrderService", "OrderService,ILogger", "public async Task (with phrase)", "I.*Repository (with regex)"),
    "name": ("Order", "Order,Invoice", "^Get.*Async$ (with regex)"),
    "ext": ("cs", "cs,sql,ts"),
    "dir": ("src/Orders",),
    "excludeDir": (["bin", "obj"], ["/tests/"]),
    "file": ("OrderService.cs", "Orders\\OrderService.cs"),
    "sortBy": ("cyclomaticComplexity", "lines"),
    "class": ("OrderService",),
    "repo": (".", "libs/billing"),
    "from": ("2026-10-01",),
    "message": ("fix", "PR 1234"),
}


def help_json() -> dict[str, Any]:
    return {
        "tasks": [{"task": task, "tool": tool, "arguments": arguments} for task, tool, arguments in _TASKS],
        "bestPractices": [{"rule": rule, "why": why} for rule, why in _ADVICE],
        "parameterExamples": {name: list(examples) for name, examples in _EXAMPLES.items()},
    }
