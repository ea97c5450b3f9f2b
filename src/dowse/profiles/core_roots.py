"""The native tools over several roots, each with an index of its own: one server asks all of them, or the one named."""

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
from dowse.profiles.core import Core
from dowse.profiles.core_compact import DEFAULT_TOKENS, Shape, fit, room_of, without_empty
from dowse.profiles.core_text import running_text
from dowse.profiles.tool import Param, Profile, Reply, Tool
from dowse.search.merge import merge_answers

if TYPE_CHECKING:
    from dowse.live.jobs import Jobs
    from dowse.live.upkeep import Upkeep

Replies = list[tuple["Root", Reply]]
Problems = list[tuple["Root", DowseError]]
# The parameter that bounds the length of an answer, and the least of it for each root: less is no budget for `why`.
_LEAST_SHARES = {"budget_tokens": 150, "nodes": 1, "limit": 1}
_ROOT = Annotated[str | None, Param("Only this root, by name or path")]
# What of an answer tells that a root has anything to say; a root that has not is named only.
_FOUND = {"grep": "total_files", "symbols": "total", "calls": "definitions", "why": "definition", "related": "subject"}
# What `limit` counts in the answer of a tool.
_LIMITED = {"grep": "files", "symbols": "definitions"}


@dataclass(frozen=True, slots=True)
class Root:
    """One root that is served, under a name that no other has."""

    name: str
    path: Path
    engine: Callable[[], Engine]
    jobs: Jobs
    upkeep: Upkeep

    def tools(self) -> dict[str, Tool]:
        return {it.name: it for it in Core(self.engine, self.jobs, self.upkeep).profile().tools}


class CoreOfRoots:
    """The tools, bound to several roots. Each has one parameter more: which of them is asked."""

    def __init__(self, roots: Sequence[Root]) -> None:
        self._roots = tuple(roots)
        self._tools = {root.name: root.tools() for root in roots}

    def profile(self) -> Profile:
        first = self._roots[0]
        core = Core(self._any_engine, first.jobs, first.upkeep, self._search_all).profile()
        # Without their names, which `status` has: a front answers the handshake before it knows them.
        told = f"{core.instructions}\n- Several roots are served, which `status` names. Pass `root` to ask only one."
        return replace(core, instructions=told, tools=tuple(self._over_roots(it) for it in core.tools))

    def _over_roots(self, tool: Tool) -> Tool:
        """The tool with its own signature and one parameter more, from which its schema follows."""
        ways: Mapping[str, Callable[[Mapping[str, object]], Reply]] = {
            "search": lambda given: tool.call(**given),
            "fetch": self._fetch,
            "remember": self._remember,
            "index": self._index,
            "status": self._status,
        }
        way = ways.get(tool.name) or (lambda given: self._ask_all(tool, given))

        def call(*, root: str | None = None, **given: object) -> Reply:
            return way(given) if root is None else self._ask_one(self._named(root), tool.name, given)

        signature = inspect.signature(tool.call)
        added = inspect.Parameter("root", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=_ROOT)
        call.__signature__ = signature.replace(parameters=[*signature.parameters.values(), added])  # type: ignore[attr-defined]
        call.__annotations__ = {**get_type_hints(tool.call, include_extras=True), "root": _ROOT}
        call.__name__, call.__doc__ = tool.name, tool.call.__doc__
        return replace(tool, call=call)

    # --- one root ---

    def _named(self, root: str) -> Root:
        for it in self._roots:
            if root in (it.name, str(it.path)) or Path(root).expanduser() == it.path:
                return it
        known = ", ".join(it.name for it in self._roots)
        raise BadInput(f"no root is called {root[:200]!r} here; name one of {known}")

    def _ask_one(self, root: Root, tool: str, given: Mapping[str, object]) -> Reply:
        reply = self._tools[root.name][tool].call(**given)
        return _named_reply(root, reply)

    # --- all of them ---

    def _any_engine(self) -> Engine:
        opened, problems = self._opened()
        if not opened:
            raise problems[0][1]
        return opened[0][1]

    def _opened(self) -> tuple[list[tuple[Root, Engine]], Problems]:
        """A root that is not to be asked, or not yet, does not keep the others from answering."""
        opened: list[tuple[Root, Engine]] = []
        problems: Problems = []
        for it in self._roots:
            try:
                opened.append((it, it.engine()))
            except DowseError as error:
                problems.append((it, error))
        return opened, problems

    def _search_all(self, query: Query) -> Answer:
        opened, problems = self._opened()
        merged = search_roots(query, {root.name: engine for root, engine in opened})
        # Of the first one, the tool itself says what is under way.
        running = [(root, running_text(root.jobs)) for root, _ in opened[1:]]
        told = [f"{root.name}: {it}" for root, it in (*running, *problems) if str(it)]
        return replace(merged, completeness=_with_notes(merged.completeness, told))

    def _ask_all(self, tool: Tool, given: Mapping[str, object]) -> Reply:
        """What every root answers, in their order; a root that can not have what is asked for is left out."""
        replies, problems = self._replies(tool.name, self._shared(tool, given))
        if not replies:
            raise problems[0][1]
        key = _FOUND.get(tool.name)
        telling = [it for it in replies if key is None or it[1].data.get(key)]
        found = telling or replies
        silent = [root.name for root, _ in replies if root not in [it for it, _ in found]]
        shown = self._limited(tool, given, found)
        hidden = {root.name: reply.data[str(key)] for root, reply in found if root not in [it for it, _ in shown]}
        blocks = [f"# {root.name} ({root.path})\n{_text(reply)}" for root, reply in shown]
        blocks += [f"found, and not shown: {_counted(hidden)} (raise `limit` or pass `root`)\n"] if hidden else []
        blocks += [f"nothing found in {', '.join(silent)}\n"] if silent else []
        blocks += [f"{root.name}: {error}\n" for root, error in problems]
        return Reply(
            {
                "roots": [_named_reply(*it).data for it in shown],
                **({"not_shown": hidden} if hidden else {}),
                "nothing_in": silent,
                "problems": [{"root": root.name, "error": str(error)} for root, error in problems],
            },
            "\n".join(blocks),
        )

    def _limited(self, tool: Tool, given: Mapping[str, object], replies: Replies) -> Replies:
        """As many rows as `limit` allows, of all roots together, by turns; a root that gets none is left out."""
        if tool.name not in _LIMITED:
            return replies
        counts = [len(list(reply.data[_LIMITED[tool.name]])) for _, reply in replies]  # type: ignore[call-overload]
        most = int(str(given.get("limit", inspect.signature(tool.call).parameters["limit"].default)))
        shares = _share_out(most, counts)
        budget = next(self._shared(tool, given))
        limited: Replies = []
        for (root, reply), count, share in zip(replies, counts, shares, strict=True):
            if share < count:
                reply = self._tools[root.name][tool.name].call(**{**budget, "limit": max(share, 1)})
            if share or not count:
                limited.append((root, reply))
        return limited

    def _replies(self, tool: str, given: Iterator[dict[str, object]]) -> tuple[Replies, Problems]:
        replies: Replies = []
        problems: Problems = []
        for root in self._roots:
            try:
                replies.append((root, self._tools[root.name][tool].call(**next(given))))
            except DowseError as error:
                problems.append((root, error))
        return replies, problems

    def _shared(self, tool: Tool, given: Mapping[str, object]) -> Iterator[dict[str, object]]:
        """The arguments for each root; the length of an answer is for all of them together."""
        parameters = inspect.signature(tool.call).parameters
        name = next((it for it in _LEAST_SHARES if it in parameters), None)
        if name is not None:
            each = int(str(given.get(name, parameters[name].default))) // len(self._roots)
            given = {**given, name: max(each, _LEAST_SHARES[name])}
        while True:
            yield dict(given)

    def _fetch(self, given: Mapping[str, object]) -> Reply:
        """From the one root that has it: ids and paths repeat, and a guess would show the wrong file."""
        replies, problems = self._replies("fetch", iter([dict(given)] * len(self._roots)))
        if not replies:
            raise problems[0][1]
        if any(reply.data != replies[0][1].data for _, reply in replies):
            names = ", ".join(root.name for root, _ in replies)
            raise BadInput(f"{str(given['id'])[:200]!r} is in several roots ({names}); say which one with `root`")
        return _named_reply(*replies[0])

    def _remember(self, given: Mapping[str, object]) -> Reply:
        names = ", ".join(it.name for it in self._roots)
        raise BadInput(f"a note belongs to one root; say which one with `root`: {names}")

    def _index(self, given: Mapping[str, object]) -> Reply:
        """A job to stop is in the queue of one root."""
        replies, problems = self._replies("index", iter([dict(given)] * len(self._roots)))
        if problems and (not replies or given.get("cancel") is None):
            raise problems[0][1]
        return _fit_roots(replies, [])

    def _status(self, given: Mapping[str, object]) -> Reply:
        replies, problems = self._replies("status", iter([dict(given)] * len(self._roots)))
        if not replies:
            raise problems[0][1]
        return _fit_roots(replies, problems)


def _fit_roots(replies: Replies, problems: Problems) -> Reply:
    """What every root says of itself; where that does not fit, shorter lists of each, then only the names of the last
    roots, then only their number."""
    shapes = [dict(_named_reply(*it).data) for it in replies]
    failed: list[Shape] = [{"root": root.name, "error": str(error)} for root, error in problems]
    rows = max((len(it) for shape in shapes for it in shape.values() if isinstance(it, list)), default=0)
    most = max(len(shapes), len(failed))
    levels = [(0, named, 0) for named in range(most)]
    levels += [(whole, most, 0) for whole in range(len(shapes))]
    levels += [(len(shapes), most, it) for it in range(rows + 1)]

    def make(level: int) -> Reply:
        whole, named, rows = levels[level]
        names = [it["root"] for it in shapes[whole:]]
        hidden = {"roots": max(0, len(names) - named), "problems": max(0, len(failed) - named)}
        more = {"names": names[:named], **{key: it for key, it in hidden.items() if it}, "see": "pass `root`"}
        shape = {
            "roots": [_with_short_lists(it, rows) for it in shapes[:whole]],
            "problems": failed[:named],
            "more": more if names or any(hidden.values()) else {},
        }
        shape = {"roots": [], **without_empty(shape)}
        return Reply(shape, json.dumps(shape, ensure_ascii=False))

    return fit(make, len(levels) - 1, room_of(DEFAULT_TOKENS))


def _with_short_lists(shape: Shape, rows: int) -> Shape:
    """With so many rows of each list; the others are counted, with those that were left out before."""
    long = {name: it for name, it in shape.items() if isinstance(it, list) and len(it) > rows}
    if not long:
        return shape
    more = dict(shape.get("more", {}))
    more |= {name: more.get(name, 0) + len(it) - rows for name, it in long.items()}
    kept = {name: it[:rows] for name, it in long.items()}
    return without_empty({**shape, **kept, "more": more})


def _share_out(most: int, counts: Sequence[int]) -> list[int]:
    """How many each gets of what it has: one after another in turn, until all is given."""
    shares = [0] * len(counts)
    while most and shares != list(counts):
        for place, count in enumerate(counts):
            if most and shares[place] < count:
                shares[place] += 1
                most -= 1
    return shares


def _counted(found: Mapping[str, object]) -> str:
    return ", ".join(f"{name} ({count:,})" for name, count in found.items())


def _named_reply(root: Root, reply: Reply) -> Reply:
    return replace(reply, data={**reply.data, "root": root.name})


def _with_notes(completeness: Completeness, notes: Sequence[str]) -> Completeness:
    return replace(completeness, notes=(*completeness.notes, *notes))


def search_roots(query: Query, engines: Mapping[str, Engine]) -> Answer:
    """One answer of several roots, by their names."""
    answers = {name: engine.search(query) for name, engine in engines.items()}
    return merge_answers(query, answers, {name: _folders(engine) for name, engine in engines.items()})


def _folders(engine: Engine) -> dict[str, str]:
    return {it.name: it.root for it in (*engine.collections(), *engine.histories())}


def _text(reply: Reply) -> str:
    text = json.dumps(reply.data, ensure_ascii=False) if reply.text is None else reply.text
    return text if text.endswith("\n") else f"{text}\n"


def root_names(paths: Sequence[Path]) -> list[str]:
    """What each is called: its last part, or all of its path where two have the same."""
    last = [it.name or str(it) for it in paths]
    return [name if last.count(name) == 1 else str(path) for name, path in zip(last, paths, strict=True)]
