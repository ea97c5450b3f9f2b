"""The native tool that keeps notes, and memories as JSON and as lines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Annotated, Literal

from dowse.engine import Engine
from dowse.engine.memories import Written
from dowse.errors import BadInput
from dowse.lookup.memories.standing import Standing
from dowse.memories.staleness import Staleness
from dowse.model import Facet, Record, Scope
from dowse.profiles.core_asking import asked_tags
from dowse.profiles.tool import Param, Reply, Tool
from dowse.text.times import ago, iso

Mode = Literal["create", "append", "replace", "forget"]
MemoryType = Literal["plan", "journal", "fact", "observation", "reflection"]
_DONE = {"create": "created", "append": "appended", "replace": "replaced", "forget": "forgotten"}
_NS = 1_000_000_000


class MemoryTools:
    """Bound to the engine of one server."""

    def __init__(self, engine: Callable[[], Engine]) -> None:
        self._engine = engine

    def tools(self) -> tuple[Tool, ...]:
        return (Tool(self.remember, "Save a note", read_only=False, idempotent=False, brief=True),)

    def remember(
        self,
        name: Annotated[str, Param("")],
        content: Annotated[str, Param("")] = "",
        mode: Annotated[Mode, Param("")] = "create",
        type: Annotated[MemoryType | None, Param("")] = None,
        tags: Annotated[list[str] | None, Param("")] = None,
        anchors: Annotated[list[str] | None, Param("")] = None,
        valid_from: Annotated[str, Param("")] = "",
        valid_until: Annotated[str, Param("")] = "",
    ) -> Reply:
        """Save a Markdown note for later sessions. `anchors`: path, path#Symbol, path:LINE or commit:HASH; the note is
        marked stale when they change."""
        written = keep(
            self._engine(), name, content, mode, type or "", tags or (), anchors or (), valid_from, valid_until
        )
        return Reply(written_json(mode, written), written_text(mode, written))


def keep(
    engine: Engine,
    name: str,
    content: str,
    mode: str,
    type: str,
    tags: Sequence[str],
    anchors: Sequence[str],
    valid_from: str,
    valid_until: str,
) -> Written:
    """Do what the mode says; raises BadInput for what has no meaning in it."""
    if mode != "forget":
        check_words(content)
    if mode == "create":
        facts = {"type": type or "journal", "valid_from": valid_from, "valid_until": valid_until}
        return engine.remember(name, content, tags=tags, anchors=anchors, **facts)
    if type or tags or anchors or valid_from or valid_until:
        raise BadInput(
            "type, tags, anchors and validity are given when a memory is created; edit its file to change them"
        )
    if mode == "forget":
        if content:
            raise BadInput("nothing is written when a memory is forgotten; leave the content out")
        return engine.forget(name)
    return engine.add_to_memory(name, content) if mode == "append" else engine.revise(name, content)


def check_words(content: str) -> None:
    if not content.strip():
        raise BadInput("there is nothing to remember in that; say what shall be kept")


def written_json(mode: str, written: Written) -> dict[str, object]:
    data: dict[str, object] = {"status": _DONE[mode], "name": written.name, "path": str(written.path)}
    return {**data, "note": written.note} if written.note else data


def written_text(mode: str, written: Written) -> str:
    return f"{_DONE[mode]} {written.name} ({written.path}){f'; {written.note}' if written.note else ''}"


# --- the list ---


def memories_scope(types: Sequence[str] = (), tags: Sequence[str] = ()) -> Scope:
    return Scope(kinds=("memory",), tags=asked_tags(tags), facets=tuple(Facet("type", it) for it in types))


def memory_json(engine: Engine, record: Record, standing: Standing, stale: Sequence[Staleness]) -> dict[str, object]:
    facets = record.facets
    return {
        "name": record.path,
        "collection": record.collection,
        "title": record.title,
        "type": facets.get("type", ""),
        "status": facets.get("status", ""),
        "tags": list(record.tags),
        "created_at": iso(record.moment_ns / _NS),
        "valid_from": facets.get("valid_from", ""),
        "valid_until": facets.get("valid_until", ""),
        "anchors": list(engine.anchors(record)),
        "superseded_by": list(standing.superseded_by),
        "stale": [stale_json(it) for it in stale],
        "problem": facets.get("front_matter_problem", ""),
    }


def stale_json(stale: Staleness) -> dict[str, object]:
    commit = stale.commit
    told = {"hash": commit.path, "title": commit.title, "at": iso(commit.moment_ns / _NS)} if commit else None
    return {"anchor": stale.anchor, "why": stale.why, "commit": told}


def memory_lines(record: Record, caveats: Iterable[str], now: float) -> list[str]:
    """What it is on one line, and what a reader should know below it."""
    tags = " ".join(f"#{it}" for it in record.tags)
    parts = (record.path, record.facets.get("type", ""), ago(record.moment_ns / _NS, now), tags)
    return ["  ".join(filter(None, parts)), *(f"    {it}" for it in caveats)]


def caveats(record: Record, standing: Standing, stale: Sequence[Staleness]) -> Iterator[str]:
    """Why what it says may not count any more; nothing where it does."""
    if standing.superseded_by:
        yield f"superseded by {', '.join(standing.superseded_by)}"
    if standing.archived:
        yield "archived"
    if standing.not_before:
        yield f"not valid before {standing.not_before}"
    if standing.not_after:
        yield f"not valid any more: it was until {standing.not_after}"
    for each in stale:
        yield f"stale: {each.why}" + (f" ({each.commit.title})" if each.commit else "")
    if problem := record.facets.get("front_matter_problem"):
        yield problem
