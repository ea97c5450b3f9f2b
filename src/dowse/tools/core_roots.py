"""The native tools over several roots, each with its own index. A call goes to all roots or to the named one."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, get_type_hints

from dowse.engine import Engine
from dowse.errors import BadInput, DowseError
from dowse.model import Answer, Completeness, Query
from dowse.search.merge import merge_answers
from dowse.tools.core import CoreTools
from dowse.tools.core_render import (
    DEFAULT_REPLY_TOKENS,
    ReplyShape,
    budget_chars,
    drop_empty,
    fit_reply,
    running_job_text,
)
from dowse.tools.tool import Param, Tool, ToolReply, ToolSet

if TYPE_CHECKING:
    from dowse.live.jobs import JobQueue
    from dowse.live.maintenance import Maintenance

Replies = list[tuple["ServedRoot", ToolReply]]
Problems = list[tuple["ServedRoot", DowseError]]
# The parameter that bounds an answer's length, and its minimum per root; `why` rejects a smaller budget.
_MIN_PER_ROOT = {"budget_tokens": 150, "nodes": 1, "limit": 1}
_ROOT_PARAM = Annotated[str | None, Param("Only this root, by name or path")]
# The key of an answer that is empty if the root found nothing; then the root is only named.
_RESULT_KEYS = {
    "grep": "total_files",
    "symbols": "total",
    "calls": "definitions",
    "why": "definition",
    "related": "subject",
}
# The rows that `limit` counts in a tool's answer.
_LIMITED_ROWS = {"grep": "files", "symbols": "definitions"}


@dataclass(frozen=True, slots=True)
class ServedRoot:
    """One served root, under a unique name."""

    name: str
    path: Path
    engine: Callable[[], Engine]
    jobs: JobQueue
    maintenance: Maintenance

    def tools(self) -> dict[str, Tool]:
        return {it.name: it for it in CoreTools(self.engine, self.jobs, self.maintenance).profile().tools}


class MultiRootCore:
    """The native tools, bound to several roots. Each tool gets a parameter `root` to choose one."""

    def __init__(self, roots: Sequence[ServedRoot]) -> None:
        self._roots = tuple(roots)
        self._tools = {root.name: root.tools() for root in roots}

    def profile(self) -> ToolSet:
        first = self._roots[0]
        core = CoreTools(self._any_engine, first.jobs, first.maintenance, self._search_all).profile()
        # Without the names of the roots, which `status` lists: a front process answers the handshake before it knows
        # them.
        instructions = (
            f"{core.instructions}\n- Several roots are served; `status` lists them. Pass `root` to query only one."
        )
        return replace(core, instructions=instructions, tools=tuple(self._wrap_tool(it) for it in core.tools))

    def _wrap_tool(self, tool: Tool) -> Tool:
        """Return the tool with its own signature plus `root`; the schema is derived from it."""
        handlers: Mapping[str, Callable[[Mapping[str, object]], ToolReply]] = {
            "search": lambda arguments: tool.call(**arguments),
            "fetch": self._fetch,
            "remember": self._remember,
            "index": self._index,
            "status": self._status,
        }
        handler = handlers.get(tool.name) or (lambda arguments: self._call_all(tool, arguments))

        def call(*, root: str | None = None, **arguments: object) -> ToolReply:
            return handler(arguments) if root is None else self._call_root(self._find_root(root), tool.name, arguments)

        signature = inspect.signature(tool.call)
        root_parameter = inspect.Parameter("root", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=_ROOT_PARAM)
        call.__signature__ = signature.replace(parameters=[*signature.parameters.values(), root_parameter])  # type: ignore[attr-defined]
        call.__annotations__ = {**get_type_hints(tool.call, include_extras=True), "root": _ROOT_PARAM}
        call.__name__, call.__doc__ = tool.name, tool.call.__doc__
        return replace(tool, call=call)

    # --- one root ---

    def _find_root(self, root: str) -> ServedRoot:
        for served in self._roots:
            if root in (served.name, str(served.path)) or Path(root).expanduser() == served.path:
                return served
        names = ", ".join(served.name for served in self._roots)
        raise BadInput(f"no root named {root[:200]!r}; choose one of {names}")

    def _call_root(self, root: ServedRoot, tool: str, arguments: Mapping[str, object]) -> ToolReply:
        reply = self._tools[root.name][tool].call(**arguments)
        return _with_root_name(root, reply)

    # --- all of them ---

    def _any_engine(self) -> Engine:
        opened, problems = self._open_engines()
        if not opened:
            raise problems[0][1]
        return opened[0][1]

    def _open_engines(self) -> tuple[list[tuple[ServedRoot, Engine]], Problems]:
        """Open the engine of each root. A root that fails, or is not ready, does not keep the others from answering."""
        opened: list[tuple[ServedRoot, Engine]] = []
        problems: Problems = []
        for root in self._roots:
            try:
                opened.append((root, root.engine()))
            except DowseError as error:
                problems.append((root, error))
        return opened, problems

    def _search_all(self, query: Query) -> Answer:
        opened, problems = self._open_engines()
        merged = search_roots(query, {root.name: engine for root, engine in opened})
        # The tool itself reports the running job of the first root.
        running = [(root, running_job_text(root.jobs)) for root, _ in opened[1:]]
        notes = [f"{root.name}: {it}" for root, it in (*running, *problems) if str(it)]
        return replace(merged, completeness=_with_notes(merged.completeness, notes))

    def _call_all(self, tool: Tool, arguments: Mapping[str, object]) -> ToolReply:
        """Return the answers of all roots, in order. Roots that found nothing are only named; failures are listed."""
        replies, problems = self._collect_replies(tool.name, self._split_budget(tool, arguments))
        if not replies:
            raise problems[0][1]
        key = _RESULT_KEYS.get(tool.name)
        with_results = [it for it in replies if key is None or it[1].data.get(key)]
        found = with_results or replies
        without_results = [root.name for root, _ in replies if root not in [it for it, _ in found]]
        shown = self._apply_limit(tool, arguments, found)
        hidden = {root.name: reply.data[str(key)] for root, reply in found if root not in [it for it, _ in shown]}
        blocks = [f"# {root.name} ({root.path})\n{_reply_text(reply)}" for root, reply in shown]
        blocks += [f"found but not shown: {_format_counts(hidden)} (raise `limit` or pass `root`)\n"] if hidden else []
        blocks += [f"nothing found in {', '.join(without_results)}\n"] if without_results else []
        blocks += [f"{root.name}: {error}\n" for root, error in problems]
        return ToolReply(
            {
                "roots": [_with_root_name(*it).data for it in shown],
                **({"not_shown": hidden} if hidden else {}),
                "nothing_in": without_results,
                "problems": [{"root": root.name, "error": str(error)} for root, error in problems],
            },
            "\n".join(blocks),
        )

    def _apply_limit(self, tool: Tool, arguments: Mapping[str, object], replies: Replies) -> Replies:
        """Share `limit` among the roots in turn, and leave out a root that gets no rows."""
        if tool.name not in _LIMITED_ROWS:
            return replies
        counts = [len(list(reply.data[_LIMITED_ROWS[tool.name]])) for _, reply in replies]  # type: ignore[call-overload]
        limit = int(str(arguments.get("limit", inspect.signature(tool.call).parameters["limit"].default)))
        shares = _distribute(limit, counts)
        budget = next(self._split_budget(tool, arguments))
        limited: Replies = []
        for (root, reply), count, share in zip(replies, counts, shares, strict=True):
            if share < count:
                reply = self._tools[root.name][tool.name].call(**{**budget, "limit": max(share, 1)})
            if share or not count:
                limited.append((root, reply))
        return limited

    def _collect_replies(self, tool: str, arguments: Iterator[dict[str, object]]) -> tuple[Replies, Problems]:
        replies: Replies = []
        problems: Problems = []
        for root in self._roots:
            try:
                replies.append((root, self._tools[root.name][tool].call(**next(arguments))))
            except DowseError as error:
                problems.append((root, error))
        return replies, problems

    def _split_budget(self, tool: Tool, arguments: Mapping[str, object]) -> Iterator[dict[str, object]]:
        """Yield the arguments for each root, with the length budget split evenly."""
        parameters = inspect.signature(tool.call).parameters
        name = next((it for it in _MIN_PER_ROOT if it in parameters), None)
        if name is not None:
            per_root = int(str(arguments.get(name, parameters[name].default))) // len(self._roots)
            arguments = {**arguments, name: max(per_root, _MIN_PER_ROOT[name])}
        while True:
            yield dict(arguments)

    def _fetch(self, arguments: Mapping[str, object]) -> ToolReply:
        """Fetch from the one root that has it. Ids and paths repeat across roots, and a guess could show the wrong
        file."""
        replies, problems = self._collect_replies("fetch", iter([dict(arguments)] * len(self._roots)))
        if not replies:
            raise problems[0][1]
        if any(reply.data != replies[0][1].data for _, reply in replies):
            names = ", ".join(root.name for root, _ in replies)
            raise BadInput(f"{str(arguments['id'])[:200]!r} is in several roots ({names}); choose one with `root`")
        return _with_root_name(*replies[0])

    def _remember(self, arguments: Mapping[str, object]) -> ToolReply:
        names = ", ".join(it.name for it in self._roots)
        raise BadInput(f"a note belongs to one root; choose one with `root`: {names}")

    def _index(self, arguments: Mapping[str, object]) -> ToolReply:
        """Index all roots. With `cancel`, only the root whose queue has the job succeeds."""
        replies, problems = self._collect_replies("index", iter([dict(arguments)] * len(self._roots)))
        if problems and (not replies or arguments.get("cancel") is None):
            raise problems[0][1]
        return _fit_roots(replies, [])

    def _status(self, arguments: Mapping[str, object]) -> ToolReply:
        replies, problems = self._collect_replies("status", iter([dict(arguments)] * len(self._roots)))
        if not replies:
            raise problems[0][1]
        return _fit_roots(replies, problems)


def _fit_roots(replies: Replies, problems: Problems) -> ToolReply:
    """Return the status of every root. If it does not fit, shorten the lists, then only name the last roots, then only
    count them."""
    shapes = [dict(_with_root_name(*it).data) for it in replies]
    failed: list[ReplyShape] = [{"root": root.name, "error": str(error)} for root, error in problems]
    rows = max((len(it) for shape in shapes for it in shape.values() if isinstance(it, list)), default=0)
    most = max(len(shapes), len(failed))
    levels = [(0, named, 0) for named in range(most)]
    levels += [(whole, most, 0) for whole in range(len(shapes))]
    levels += [(len(shapes), most, it) for it in range(rows + 1)]

    def make(level: int) -> ToolReply:
        whole, named, rows = levels[level]
        names = [it["root"] for it in shapes[whole:]]
        hidden = {"roots": max(0, len(names) - named), "problems": max(0, len(failed) - named)}
        more = {"names": names[:named], **{key: it for key, it in hidden.items() if it}, "see": "pass `root`"}
        shape = {
            "roots": [_shorten_lists(it, rows) for it in shapes[:whole]],
            "problems": failed[:named],
            "more": more if names or any(hidden.values()) else {},
        }
        shape = {"roots": [], **drop_empty(shape)}
        return ToolReply(shape, json.dumps(shape, ensure_ascii=False))

    return fit_reply(make, len(levels) - 1, budget_chars(DEFAULT_REPLY_TOKENS))


def _shorten_lists(shape: ReplyShape, rows: int) -> ReplyShape:
    """Keep `rows` rows of each list, and add the others to the counts of rows left out before."""
    long_lists = {name: it for name, it in shape.items() if isinstance(it, list) and len(it) > rows}
    if not long_lists:
        return shape
    more = dict(shape.get("more", {}))
    more |= {name: more.get(name, 0) + len(it) - rows for name, it in long_lists.items()}
    shortened = {name: it[:rows] for name, it in long_lists.items()}
    return drop_empty({**shape, **shortened, "more": more})


def _distribute(most: int, counts: Sequence[int]) -> list[int]:
    """Distribute `most` one by one in turn, at most `count` to each."""
    shares = [0] * len(counts)
    while most and shares != list(counts):
        for position, count in enumerate(counts):
            if most and shares[position] < count:
                shares[position] += 1
                most -= 1
    return shares


def _format_counts(found: Mapping[str, object]) -> str:
    return ", ".join(f"{name} ({count:,})" for name, count in found.items())


def _with_root_name(root: ServedRoot, reply: ToolReply) -> ToolReply:
    return replace(reply, data={**reply.data, "root": root.name})


def _with_notes(completeness: Completeness, notes: Sequence[str]) -> Completeness:
    return replace(completeness, notes=(*completeness.notes, *notes))


def search_roots(query: Query, engines: Mapping[str, Engine]) -> Answer:
    """Search several roots, given by name, and merge the answers."""
    answers = {name: engine.search(query) for name, engine in engines.items()}
    return merge_answers(query, answers, {name: _collection_roots(engine) for name, engine in engines.items()})


def _collection_roots(engine: Engine) -> dict[str, str]:
    return {it.name: it.root for it in (*engine.collections(), *engine.histories.collections())}


def _reply_text(reply: ToolReply) -> str:
    text = json.dumps(reply.data, ensure_ascii=False) if reply.text is None else reply.text
    return text if text.endswith("\n") else f"{text}\n"


def name_roots(paths: Sequence[Path]) -> list[str]:
    """Name each root by the last part of its path, or by the whole path if that part is not unique."""
    last = [it.name or str(it) for it in paths]
    return [name if last.count(name) == 1 else str(path) for name, path in zip(last, paths, strict=True)]
