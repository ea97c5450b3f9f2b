"""What is indexed: items on their way in, and the records, chunks, symbols, links and calls they become."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal, NamedTuple

TRAIL_SEPARATOR = " > "
CHARS_PER_TOKEN = 4  # a rule of thumb, for budgets

Freshness = Literal["fresh", "changed", "gone", "unknown"]
NO_FACETS: Mapping[str, str] = MappingProxyType({})
FILES, COMMITS, MEMORIES = "files", "commits", "memories"
"""What a collection is read from: the files below a directory, the history of a repository, a folder of memories."""
IN_FILES = ("doc", "code")
"""The kinds that files of a project have; commits and memories are kinds of their own."""
DESCRIPTION = "description"
"""The facet that says what a document is about; it is searched."""
UNPARSED = "unparsed"
"""The facet of a record that was indexed as plain text because its parser failed: why it did."""
TEXT_ROLE, TEST_ROLE = "text", "test"
"""The roles of blocks and chunks: most are plain text; tests among other code are told apart."""
MASKED, LEFT_OUT = "masked", "left_out"
"""The facets that count the secrets masked in a record's text, and the files whose changes a commit does not tell."""


@dataclass(frozen=True, slots=True)
class Item:
    """Something a source can read: its identity in the collection and the version seen when listed.

    `form` names the extractor that reads it; the path tells which one, where it is empty. `masked` counts the secrets
    that were masked when it was read.
    """

    path: str
    size: int
    mtime_ns: int
    form: str = ""
    masked: int = 0

    @property
    def weight(self) -> int:
        """How much is held of it, about: what has no size of its own may give it as a negative number."""
        return abs(self.size)


@dataclass(frozen=True, slots=True)
class Block:
    """A span of characters that belongs together, below one trail of headings or definitions.

    `whole` blocks (fenced code, tables) are only split when they alone exceed the chunk maximum. `role` is that of its
    chunks.
    """

    start: int
    end: int
    trail: tuple[str, ...] = ()
    whole: bool = False
    role: str = TEXT_ROLE


class Stats(NamedTuple):
    """How involved a function is; `nesting` is the deepest level of blocks inside blocks."""

    cyclomatic: int = 1
    cognitive: int = 0
    nesting: int = 0
    parameters: int = 0
    returns: int = 0
    calls: int = 0
    lambdas: int = 0


class Symbol(NamedTuple):
    """A named span: a heading, a class, a function. `parent` indexes the same record's symbols.

    `holds` is what its value is, or what calling it gives, as an expression of `dowse.text.expressions`; `parameters`
    are the types of its parameters as written, empty ones where none is. `attributes` are the names of attributes or
    decorators, `bases` the types it extends or implements, both as written, without arguments. A tuple, as calls are.
    """

    name: str
    kind: str
    start_line: int
    end_line: int
    level: int = 0
    parent: int | None = None
    signature: str = ""
    holds: str = ""
    parameters: tuple[str, ...] = ()
    modifiers: tuple[str, ...] = ()
    attributes: tuple[str, ...] = ()
    bases: tuple[str, ...] = ()
    stats: Stats | None = None


class Call(NamedTuple):
    """A place that calls something: `name` is the callee's last name, by which calls are found, `callee` the whole as
    an expression of `dowse.text.expressions`, resolved when asked. `symbol` indexes the record's symbols: the
    innermost function, or class, it stands in. A tuple, because there are millions."""

    name: str
    callee: str
    line: int
    symbol: int | None = None
    arguments: int = 0
    kind: str = "call"  # or: new, decorate, refer (passed on as a value), assign (a member is given a function)


@dataclass(frozen=True, slots=True)
class Link:
    """A typed reference whose target is text, resolved when asked; an unresolved one is a ghost.

    The target of an `import` is the module or namespace as written; its context is `local=member`: the name it gets
    in this file (`*` for everything), and what of the module it is (empty: the module itself).
    """

    kind: str
    target: str
    line: int
    context: str = ""


@dataclass(frozen=True, slots=True)
class Extract:
    """What an extractor reads out of one item. Blocks are ordered, do not overlap and cover the body of `text`.

    `at_ns` is the moment it is about, where that is another than the one it was written at. `lined`: whether its lines
    are worth an index of their own; else the text is not kept, and its source gives it when asked.
    """

    kind: str
    title: str
    text: str
    blocks: tuple[Block, ...]
    symbols: tuple[Symbol, ...] = ()
    links: tuple[Link, ...] = ()
    calls: tuple[Call, ...] = ()
    tags: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    facets: Mapping[str, str] = field(default_factory=lambda: NO_FACETS)
    at_ns: int | None = None
    lined: bool = True


@dataclass(frozen=True, slots=True)
class Chunk:
    """The unit of ranking: a verbatim slice of a record's text, with its lines and its trail of names."""

    ordinal: int
    text: str
    start_line: int
    end_line: int
    trail: tuple[str, ...] = ()
    role: str = TEXT_ROLE


@dataclass(frozen=True, slots=True)
class Record:
    """One indexed thing: identity (collection, path), version, and what filters and presenters read."""

    collection: str
    path: str
    kind: str
    title: str
    size: int
    mtime_ns: int
    digest: str
    chunking: str
    settled: bool = True
    tags: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    facets: Mapping[str, str] = field(default_factory=lambda: NO_FACETS)
    at_ns: int | None = None

    @property
    def moment_ns(self) -> int:
        """When it was written, or what it tells of happened: what filters by time and recency go by."""
        return self.mtime_ns if self.at_ns is None else self.at_ns

    @property
    def labels(self) -> str:
        """What it is found by besides its title and text: tags, other names, and what it says it is about."""
        return " ".join(filter(None, (*self.tags, *self.aliases, self.facets.get(DESCRIPTION, ""))))


class Glance(NamedTuple):
    """As much of a record as was asked for: its facets in the order of the question, empty where it has none."""

    path: str
    title: str
    moment_ns: int
    facets: tuple[str, ...]


class Version(NamedTuple):
    """What sync compares to decide whether an item must be read, and whether what it read is new.

    Not `settled` means it was read so soon after it was written that its timestamp proves nothing.
    """

    size: int
    mtime_ns: int
    digest: str
    chunking: str
    settled: bool = True


@dataclass(frozen=True, slots=True)
class Skipped:
    """An item that could not be indexed, and why; its version lets an unchanged one be left alone."""

    collection: str
    path: str
    reason: str
    size: int = 0
    mtime_ns: int = 0


@dataclass(frozen=True, slots=True)
class Collection:
    """A root that is indexed: `listed` and `synced_at` are of its last completed sync (0 before it).

    The root of a history is the directory git keeps it in.
    """

    name: str
    root: str
    listed: int = 0
    synced_at: float = 0.0
    source: str = FILES


def normal_path(path: str) -> str:
    """A collection-relative path with `/`, the form identities are made from."""
    return path.replace("\\", "/").lstrip("/")


def public_chunk_id(path: str, ordinal: int) -> str:
    """The id clients see: stable as long as the path and the chunk's place in it are."""
    return hashlib.sha256(f"{normal_path(path)}::{ordinal}".encode()).hexdigest()[:16]
