"""What a profile offers a client: plain functions with a few words about each; schemas come from their signatures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

MAX_ITEMS = 1_000
"""Of any list that is given to a tool or a command: the answer to more would take seconds, and nobody means that."""


@dataclass(frozen=True, slots=True)
class Param:
    """In `Annotated[...]` behind a parameter's type: what it is for, and its bounds. `choices` are told to the client
    only: where casing does not count, the tool itself decides what is one of them."""

    help: str
    ge: float | None = None
    le: float | None = None
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reply:
    """`data` for programs (empty: the contract knows only text); `text` for a model to read (None: the data as JSON
    is what there is to read)."""

    data: Mapping[str, object]
    text: str | None = None


@dataclass(frozen=True, slots=True)
class Wording:
    """How a contract words what it refuses, with `{name}` in it; empty: in our own words. `mending` is its own command
    that makes its index anew."""

    missing: str = ""
    unknown_tool: str = ""
    mending: str = ""


OUR_WORDING = Wording()


@dataclass(frozen=True, slots=True)
class Tool:
    """The function's docstring is the description a client shows. `strict`: the text "5" is no number, as 1 is no
    truth value. A parameter that Python has a word for is written with `_` behind it, which clients do not see.
    `wording` is that of the tool's own contract, where its profile has tools of several. `brief`: its schema has only
    what a client needs to call it, because every session pays for each byte."""

    call: Callable[..., Reply]
    title: str
    read_only: bool = True
    idempotent: bool = True
    destructive: bool = False
    strict: bool = True
    wording: Wording | None = None
    brief: bool = False

    @property
    def name(self) -> str:
        return str(self.call.__name__)


@dataclass(frozen=True, slots=True)
class Profile:
    """A named set of tools with the server's own words to the client.

    Several tools may have one name: which of them is meant, the arguments decide.
    """

    name: str
    server_name: str
    instructions: str
    tools: tuple[Tool, ...]
    wording: Wording = OUR_WORDING
