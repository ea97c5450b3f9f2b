"""What the tools and the command line make of a caller's words: a scope, a recipe, the lines to read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated

from dowse.engine import Engine
from dowse.engine.clock import SYSTEM_CLOCK
from dowse.errors import BadInput
from dowse.lookup.memories.tags import normal_tag
from dowse.lookup.read import Passage
from dowse.model import IN_FILES, Facet, Scope
from dowse.profiles.tool import Param
from dowse.text.times import parse_moment

# Said once, in the instructions: the words for these four tools would be the longest part of their schemas.
Globs = Annotated[list[str] | None, Param("")]
NotGlobs = Annotated[list[str] | None, Param("")]
Budget = Annotated[int, Param("", ge=50, le=100_000)]

_TOLD = 16  # digits of a hash
_WHOLE_FILES = ("auto", "hybrid", "lexical", "semantic", "late", "rerank")


def make_scope(
    kinds: Sequence[str] = (),
    paths: Sequence[str] = (),
    tags: Sequence[str] = (),
    since: str | None = None,
    until: str | None = None,
    excluded: Sequence[str] = (),
    authors: Sequence[str] = (),
    now: Callable[[], float] = SYSTEM_CLOCK.now,
) -> Scope:
    """`authors` are parts of names or addresses; only commits have one. Lengths of time count back from `now`."""
    moment = now()
    first = None if since is None else parse_moment(since, moment)
    last = None if until is None else parse_moment(until, moment)
    if first is not None and last is not None and first > last:
        raise BadInput(f"since {since} is later than until {until}, so that nothing lies between; swap them")
    return Scope(
        kinds=tuple(kinds),
        paths=tuple(paths),
        excluded=tuple(excluded),
        tags=asked_tags(tags),
        since=first,
        until=last,
        facets=tuple(Facet("author", it, whole=False) for it in authors),
    )


def asked_tags(tags: Sequence[str]) -> tuple[str, ...]:
    """`#Auth` is the tag auth, as answers show it."""
    found = tuple(normal_tag(it) for it in tags)
    if "" in found:
        raise BadInput("a tag is empty; name one, or leave it out")
    return found


def file_kinds(kinds: Sequence[str], files: bool) -> Sequence[str]:
    """Who wants each file once wants files, unless kinds are named."""
    return kinds or (IN_FILES if files else ())


def of_files(recipe: str) -> str:
    """The recipe that gives each file once."""
    if recipe not in _WHOLE_FILES:
        raise BadInput(f"whole files are ranked by the recipes {', '.join(_WHOLE_FILES)}, not by {recipe!r}")
    return f"{recipe}-files"


def read(
    engine: Engine,
    target: str,
    start_line: int | None,
    end_line: int | None,
    collection: str | None,
    chosen_with: str = "`collection`",
) -> Passage:
    """A chunk by its id, a record by its path or a commit by the beginning of its hash: the lines asked for, else the
    passage, else the whole. `chosen_with` is what the caller knows the parameter `collection` as."""
    chunks = engine.chunk(target, collection)
    records = [it.record for it in chunks] or engine.record(target, collection)
    records = records or engine.commits_like(target, collection)
    if not records:
        raise BadInput(f"nothing indexed has the id or path {target[:200]!r}; a search gives both")
    if len({it.path for it in records}) > 1:
        raise BadInput(f"the hashes of {', '.join(it.path[:_TOLD] for it in records)} begin so; give more of it")
    if len(records) > 1:
        names = ", ".join(it.collection for it in records)
        raise BadInput(f"{target!r} is in several collections ({names}); say which one with {chosen_with}")
    if chunks and start_line is None and end_line is None:
        return engine.passage(chunks[0])
    first = start_line or (chunks[0].chunk.start_line if chunks else 1)
    if end_line is not None and end_line < first:
        raise BadInput(f"end_line {end_line:,} is before start_line {first:,}; swap them")
    return engine.lines(records[0], first, end_line)
