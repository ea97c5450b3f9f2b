"""The native tools that cross kinds: why something is as it is, and what has to do with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from dowse.engine import Engine
from dowse.lookup.related.question import DEFAULT_LIMIT, MOST_LIMIT
from dowse.lookup.why.question import DEFAULT_BUDGET, LEAST_BUDGET, MOST_BUDGET
from dowse.profiles.tool import Param, Reply, Tool
from dowse.profiles.why_shapes import related_json, related_text, why_json, why_text

Collection = Annotated[str | None, Param("Which root, where several have this path or name")]


class WhyTools:
    """Bound to the engine of one server."""

    def __init__(self, engine: Callable[[], Engine]) -> None:
        self._engine = engine

    def tools(self) -> tuple[Tool, ...]:
        return (Tool(self.why, "Why something is as it is"), Tool(self.related, "What has to do with something"))

    def why(
        self,
        target: Annotated[
            str, Param("A place (src/app.py:12), a file, or a symbol (save, Repo.save, src/app.py#Repo.save)")
        ],
        budget_tokens: Annotated[int, Param("About how long the answer may be", ge=LEAST_BUDGET, le=MOST_BUDGET)] = (
            DEFAULT_BUDGET
        ),
        collection: Collection = None,
    ) -> Reply:
        """Everything known about a line or a symbol, in one call: its definition, who calls it and which tests do, the
        commits that shaped it, the documents and memories that speak of it; each with its evidence. Ask this before
        changing code you do not know."""
        engine = self._engine()
        answer = engine.why(target, budget_tokens, collection)
        completeness = engine.completeness(answer.seen)
        return Reply(why_json(answer, completeness), why_text(answer) + "\n")

    def related(
        self,
        target: Annotated[
            str, Param("A file, a symbol, a commit's hash or its beginning, a memory's name, or the id of a hit")
        ],
        kinds: Annotated[
            list[str] | None,
            Param("Only these kinds of links, e.g. calls, import, links_to, touches, changes, mentions, changes_with"),
        ] = None,
        limit: Annotated[int, Param("How many of each kind at most", ge=1, le=MOST_LIMIT)] = DEFAULT_LIMIT,
        collection: Collection = None,
    ) -> Reply:
        """The neighbours of anything, by typed links in both directions across code, documents, commits and memories:
        calls, imports, links, what commits touched and changed, what memories mention or are anchored to, which files
        change together."""
        engine = self._engine()
        answer = engine.related(target, tuple(kinds or ()), limit, collection)
        completeness = engine.completeness(answer.seen)
        return Reply(related_json(answer, completeness), related_text(answer, completeness) + "\n")
