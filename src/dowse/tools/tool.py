"""The types of a tool: parameters, replies, profiles."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from dowse.model import DiskFreshness

MAX_LIST_ITEMS = 1_000
"""Maximum items of any list argument of a tool or command. Answering more would take seconds."""


@dataclass(frozen=True, slots=True)
class Param:
    """Help text and bounds of a tool parameter, written as `Annotated[type, Param(...)]`. `choices` only appear in the
    schema: the tool validates the value, because some tools ignore case."""

    help: str
    ge: float | None = None
    le: float | None = None
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolReply:
    """A tool's answer: `data` for programs, `text` for a model. Empty `data` means that the contract defines only text.
    Without `text`, a model reads the data as JSON."""

    data: Mapping[str, object]
    text: str | None = None


@dataclass(frozen=True, slots=True)
class ContractWording:
    """Error texts and rebuild command fixed by a contract. Texts may contain `{name}`; empty means Dowse's own."""

    missing: str = ""
    unknown_tool: str = ""
    rebuild_command: str = ""


DEFAULT_WORDING = ContractWording()


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool of a contract. The function's docstring is the description that clients show.

    - `strict`: reject the string "5" as a number and 1 as a boolean.
    - A trailing `_` in a parameter name (`class_`, `from_`) is removed for clients.
    - `wording` is that of the tool's contract, for a profile that mixes contracts.
    - `brief`: keep the schema minimal, because every session pays for each byte.
    """

    call: Callable[..., ToolReply]
    title: str
    read_only: bool = True
    idempotent: bool = True
    destructive: bool = False
    strict: bool = True
    wording: ContractWording | None = None
    brief: bool = False

    @property
    def name(self) -> str:
        return str(self.call.__name__)


@dataclass(frozen=True, slots=True)
class ToolSet:
    """A named set of tools with the server instructions.

    Several tools may share a name; the arguments decide which one is called.
    """

    name: str
    server_name: str
    instructions: str
    tools: tuple[Tool, ...]
    wording: ContractWording = DEFAULT_WORDING


# --------------------------------------------------------------------------------------------------
# Changes on disk that an answer does not include yet, in the form every contract uses.


def pending_json(seen: DiskFreshness) -> dict[str, object]:
    """Return the pending changes as JSON. `coverage` says whether all files were checked; if only some were, more may
    have changed since `as_of`."""
    coverage = "all" if seen.complete else "some"
    return {"count": seen.pending, "paths": list(seen.examples), "notes": list(seen.notes), "coverage": coverage}


def optional_pending_json(seen: DiskFreshness) -> dict[str, object]:
    """Return the `pending` key only if something is pending, for answers whose keys a contract fixes."""
    return {"pending": pending_json(seen)} if seen.sentences() else {}


def pending_text(seen: DiskFreshness) -> str:
    """Return the pending changes as text; empty if the answer matches the files on disk."""
    return "; ".join(seen.sentences())
