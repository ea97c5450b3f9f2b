"""What an expression may stand for, as far as it can be told without running it."""

from __future__ import annotations

from typing import NamedTuple

from dowse.store.call_facts import Place


class Type(NamedTuple):
    """`places` are its definitions in the index, several for a partial class, none for a type of a library."""

    name: str
    places: tuple[Place, ...] = ()
    arguments: tuple[Type, ...] = ()


Bound = tuple[tuple[str, Type], ...]
"""What type parameters stand for."""


class Thing(NamedTuple):
    """A definition itself. Of a member: the type it was asked of, and what the parameters of its class stand for.

    `is_open`: what is asked may be of a subtype, so that an overriding definition may be meant.
    """

    place: Place
    asked: Type | None = None
    bound: Bound = ()
    is_open: bool = False
    how: str = ""
    one_of: int = 1  # how many values may be meant where this one is
    is_bare: bool = False  # the definition as it is written, before its decorators have made something else of it


class Object(NamedTuple):
    """Something of a type; `is_made`: by calling the type itself, so that it is of no subtype."""

    type: Type
    is_made: bool = False
    how: str = ""


class Parent(NamedTuple):
    """`super`: the object, as what its class inherits from. `type` is the class, `asked` the object's type."""

    type: Type
    asked: Type


class Module(NamedTuple):
    """A Python module or a file of scripts: its name as `home`, a file's key, would write it; `file` if it has one."""

    name: str
    home: int
    file: int | None


class Space(NamedTuple):
    """A namespace, or one of several it may be; `home` is the key of the file that names it."""

    names: tuple[str, ...]
    home: int


class Outside(NamedTuple):
    """Something of a library; what it is called there."""

    name: str


class Result(NamedTuple):
    """A member of a library's type of which only is known what it gives."""

    gives: tuple[Type, ...]
    name: str


class Here(NamedTuple):
    """Where an expression stands: its file, the symbol around it, and what `this` and type parameters are there."""

    key: int
    symbol: int | None
    bound: Bound = ()
    this: Type | None = None


class Bundle(NamedTuple):
    """Something written out, or a lambda: `text` as in `dowse.text.expressions`, its ways as they are meant `here`."""

    text: str
    here: Here


Value = Thing | Object | Parent | Module | Space | Outside | Result | Bundle
Values = tuple[Value, ...]


MOST_SPENT = 200  # to follow the parameters of one expression, in calls looked at


class Trip:
    """One way through the expressions of an index: what is under way already is not entered again.

    `allowance`: so much may be spent to follow parameters to what they are given, wherever their function is called;
    `depth` counts those under way, `spent` what was looked at for them.
    """

    __slots__ = ("allowance", "depth", "entered", "skipped", "spent", "under_way", "was_cut")

    def __init__(self, allowance: int = MOST_SPENT) -> None:
        self.allowance = allowance
        self.depth = 0
        self.spent = 0
        self.skipped = False  # whether a parameter was met that is not followed
        self.entered = 0
        self.under_way: set[object] = set()
        self.was_cut = False

    def enter(self, what: object) -> bool:
        if what in self.under_way or len(self.under_way) >= MOST_UNDER_WAY or self.entered >= MOST_ENTERED:
            self.was_cut = True
            return False
        self.entered += 1
        self.under_way.add(what)
        return True

    def enter_parameter(self, what: object) -> bool:
        if self.depth >= MOST_PARAMETERS or not self.spend(COST_OF_PARAMETER) or not self.enter(what):
            self.was_cut = True
            return False
        self.depth += 1
        return True

    def spend(self, cost: int) -> bool:
        """Whether there was as much left."""
        if self.spent + cost > self.allowance:
            self.was_cut = True
            return False
        self.spent += cost
        return True

    @property
    def follows(self) -> bool:
        return self.allowance > 0

    def leave_parameter(self, what: object) -> None:
        self.depth -= 1
        self.leave(what)

    def leave(self, what: object) -> None:
        self.under_way.discard(what)


MOST_UNDER_WAY = 40  # longer chains of definitions that hold each other's values do not occur in code people write
MOST_PARAMETERS = 5  # that are passed on as parameters of others
COST_OF_PARAMETER = 4  # in calls looked at
MOST_ENTERED = 1_000  # where definitions hold each other's values all around, there are more ways than can be gone
