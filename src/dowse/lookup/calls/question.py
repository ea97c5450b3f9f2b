"""What can be asked of calls, and what is answered: trees of callers or of what is called."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from dowse.lookup.symbols.question import Definition
from dowse.model import EVERYTHING, NOT_LOOKED, Call, Record, Scope, Seen

Confidence = Literal["exact", "virtual", "possible"]
"""exact: names and types lead there; virtual: one of several a call through a base or an interface may reach;
possible: only the name says so."""

MAX_DEPTH = 10


@dataclass(frozen=True, slots=True)
class CallQuery:
    """Who calls it (`up`) or what it calls (`down`). `owner` is the class or the like it is defined in; `at` an exact
    place instead, as path and line: the innermost definition there. At most `width` branches at a node and `nodes`
    altogether; 0 is no limit. Beyond `width`, up to `counted` more are counted. After `deadline_s` what was found is
    given."""

    name: str
    owner: str = ""
    direction: Literal["up", "down"] = "up"
    depth: int = 3
    width: int = 10
    nodes: int = 200
    confidence: Confidence = "virtual"  # the least that is shown
    through_interfaces: bool = True
    scope: Scope = EVERYTHING
    wanted: Callable[[str], bool] | None = None  # by path, after the scope
    at: tuple[str, int] | None = None
    deadline_s: float = 5.0
    counted: int = 0
    with_references: bool = False  # whether what is passed on, returned or stored counts as called


@dataclass(frozen=True, slots=True)
class Edge:
    """A call from one definition to another. A call outside of any definition has no `caller`; one that leads to
    nothing known has no `callee`. `how` says in a few words what led there, `lines` are all of the caller's lines that
    call it so."""

    site: Call
    record: Record  # of the site
    caller: Definition | None
    callee: Definition | None
    receiver: str  # the type it is called on, as far as known
    confidence: Confidence
    how: str
    lines: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Node:
    """An end of an edge with the edges beyond it. `cut` says why there may be more: depth, width, nodes, sites
    (there were too many to look at), time or cycle (it stands further up already). `more` counts the branches that
    width or nodes left out, as far as they were counted."""

    edge: Edge
    branches: tuple[Node, ...] = ()
    cut: str = ""
    more: int = 0


@dataclass(frozen=True, slots=True)
class External:
    """Something of a library that is called: its full name, and the lines of the file that call it."""

    name: str
    record: Record
    lines: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class CallTree:
    """`roots` are the definitions asked about, `owners` all classes that define the name. `unresolved` are sites of
    that name (up) or in it (down) whose callee can not be told; they are listed, not guessed. `visited` counts the
    definitions whose callers or callees were looked for, `total` the nodes. `cut` and `more` are those of the roots,
    as in `Node`.

    `references` are places that pass a root on, return or store it (up), or what the roots treat so (down). Where
    nobody is sure to call the roots, `possible` are some calls of their name on something unknown, and `more_possible`
    counts the others. `external` is what the roots call of libraries (down)."""

    query: CallQuery
    roots: tuple[Definition, ...]
    nodes: tuple[Node, ...]
    owners: tuple[str, ...]
    unresolved: tuple[Edge, ...]
    visited: int
    total: int
    truncated: bool
    cut: str = ""
    seen: Seen = NOT_LOOKED
    more: int = 0
    references: tuple[Edge, ...] = ()
    possible: tuple[Edge, ...] = ()
    more_possible: int = 0
    external: tuple[External, ...] = ()
