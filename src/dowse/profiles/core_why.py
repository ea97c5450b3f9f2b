"""The native tools that cross kinds: why something is as it is, and what has to do with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from dowse.engine import Engine
from dowse.lookup.related.question import DEFAULT_LIMIT, MOST_LIMIT
from dowse.lookup.why.question import DEFAULT_BUDGET, LEAST_BUDGET, MOST_BUDGET
from dowse.profiles.tool import Param, Reply, Tool
from dowse.profiles.why_shapes import related_reply, why_reply

Collection = Annotated[str | None, Param("")]


class WhyTools:
    """Bound to the engine of one server."""

    def __init__(self, engine: Callable[[], Engine]) -> None:
        self._engine = engine

    def tools(self) -> tuple[Tool, ...]:
        return (Tool(self.why, "Explain a line or symbol", brief=True), Tool(self.related, "Related items", brief=True))

    def why(
        self,
        target: Annotated[str, Param("")],
        budget_tokens: Annotated[int, Param("", ge=LEAST_BUDGET, le=MOST_BUDGET)] = DEFAULT_BUDGET,
        collection: Collection = None,
    ) -> Reply:
        """All about a line (src/app.py:12), file or symbol (Repo.save): definition, callers, tests, commits, documents,
        memories. Ask before changing code."""
        engine = self._engine()
        answer = engine.why(target, budget_tokens, collection)
        return why_reply(answer, engine.completeness(answer.seen), budget_tokens)

    def related(
        self,
        target: Annotated[str, Param("")],
        kinds: Annotated[list[str] | None, Param("")] = None,
        limit: Annotated[int, Param("", ge=1, le=MOST_LIMIT)] = DEFAULT_LIMIT,
        collection: Collection = None,
    ) -> Reply:
        """Items linked to a file, symbol, commit, memory or chunk_id, both ways. `kinds`: calls, import, touches,
        mentions …"""
        engine = self._engine()
        answer = engine.related(target, tuple(kinds or ()), limit, collection)
        return related_reply(answer, engine.completeness(answer.seen), max(1.0, limit / DEFAULT_LIMIT))
