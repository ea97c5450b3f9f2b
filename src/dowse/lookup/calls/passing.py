"""What parameters are given: by every call of their function, by decorators, by their defaults."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from dowse.lookup.calls import library
from dowse.lookup.calls.catalogue import MOST_SITES_KEPT
from dowse.lookup.calls.kinds import ASSIGN, CLASSES, FUNCTIONS
from dowse.lookup.calls.memo import Memo
from dowse.lookup.calls.sieve import Sieve
from dowse.lookup.calls.type_text import parse_type
from dowse.lookup.calls.values import Bundle, Here, Object, Thing, Trip, Type, Value, Values
from dowse.model import Symbol
from dowse.store.call_facts import Place, Site
from dowse.text.expressions import CALLED, OF_LAMBDA, PARAMETER, entries

if TYPE_CHECKING:
    from dowse.lookup.calls.outline import Outline
    from dowse.lookup.calls.world import World

_INITIALISERS = frozenset({"super", "this"})
_NO_CALLS = frozenset({"refer", ASSIGN})
_MOST_SITES = 2_000
_MOST_FOLLOWED = 40  # calls of one function: more of them say little about any
_MOST_LAMBDAS = 100  # calls in a file of which one may be of a lambda in it
_TYPED = re.compile(r"(?:\[[^\]]*\]\s*)?(?:(?:this|ref|out|in|params|scoped|readonly)\s+)*(.*[\w>\])?])\s+@?(\w+)")
_DOTTED = re.compile(r"[^\W\d]\w*(?:\.\w+)*")


class Formal(NamedTuple):
    """A parameter as the header of its function has it; `stars` are those before its name."""

    name: str
    stars: str
    default: str
    type: str = ""  # where the language writes types before names


class Passing:
    def __init__(self, world: World) -> None:
        self._world = world
        self._known: Memo[tuple[Place, str], Values] = Memo(20_000)
        self._formals: Memo[Place, tuple[Formal, ...]] = Memo(20_000)
        self._passing: Memo[Place, tuple[Site, ...]] = Memo(MOST_SITES_KEPT)

    def values(self, root: str, here: Here, trip: Trip) -> Values:
        """What a parameter may be where it is named."""
        if not trip.follows:
            trip.skipped = True
            return ()
        if root.startswith(OF_LAMBDA):
            return self._of_lambda(root.removeprefix(OF_LAMBDA), here, trip)
        name = root.removeprefix(PARAMETER)
        owner = self.owner(name, here)
        if owner is None:
            return ()
        known = self._known.get((owner, name))
        if known is not None:
            return known
        what = ("parameter", owner, name)
        if not trip.enter_parameter(what):
            return ()
        before, trip.was_cut = trip.was_cut, False
        found = tuple(dict.fromkeys(self._given(owner, name, trip)))
        trip.leave_parameter(what)
        if not trip.was_cut:
            self._known.keep((owner, name), found)
        trip.was_cut |= before
        return found

    # --- whose parameter it is ---

    def owner(self, name: str, here: Here) -> Place | None:
        """The innermost function around with this parameter; of a field, the method that sets it."""
        outline = self._world.catalogue.outline(here.key)
        around = list(outline.around(here.symbol))
        for ordinal in around:
            if outline.symbols[ordinal].kind in FUNCTIONS and self._has(Place(here.key, ordinal), name):
                return Place(here.key, ordinal)
        if not around:
            return None
        symbol = outline.symbols[around[0]]
        setters = [
            ordinal
            for ordinal, it in enumerate(outline.symbols)
            if it.kind in FUNCTIONS
            and (it.parent == symbol.parent or symbol.parent is None)
            and self._has(Place(here.key, ordinal), name)
        ]
        at_line = [it for it in setters if _holds_line(outline.symbols[it], symbol.start_line)]
        chosen = at_line or (setters if len(setters) == 1 else [])
        return Place(here.key, chosen[0]) if chosen else None

    def _has(self, place: Place, name: str) -> bool:
        return any(it.name == name for it in self.formals(place))

    def formals(self, place: Place) -> tuple[Formal, ...]:
        """The parameters that callers pass: not the object itself."""
        known = self._formals.get(place)
        if known is None:
            outline = self._world.catalogue.outline(place.record)
            symbol = outline.symbols[place.ordinal]
            found = tuple(_typed_formals(symbol) if outline.habits.delegates else _formals(symbol))
            hidden = not outline.habits.delegates and self._is_method(outline, symbol)
            known = self._formals.keep(place, found[1:] if hidden else found)
        return known

    def _is_method(self, outline: Outline, symbol: Symbol) -> bool:
        in_class = symbol.parent is not None and outline.symbols[symbol.parent].kind in CLASSES
        return in_class and "staticmethod" not in symbol.modifiers

    # --- what it is given ---

    def _given(self, owner: Place, name: str, trip: Trip) -> Iterator[Value]:
        formals = self.formals(owner)
        number = next((at for at, it in enumerate(formals) if it.name == name), None)
        if number is None:
            return
        formal = formals[number]
        symbol = self._world.catalogue.symbol(owner)
        for site in self.sites(owner, trip):
            here = Here(site.record, site.symbol)
            path = self._world.catalogue.outline(site.record).record.path
            how = f"parameter {name} of {symbol.name}, passed at {path}:{site.line}"
            shift = int("extension" in symbol.modifiers and self._is_receiver_before(site, owner))
            values = self._of_site(site, formal, number - shift, here, trip)
            if formal.type:
                type = self._world.types.resolve(formal.type, Here(owner.record, owner.ordinal), trip)
                values = self._fitting(values, type)
            for value in values:
                if isinstance(value, Thing):
                    yield value._replace(how=how, is_bare=site.kind == "decorate")
                else:
                    yield value._replace(how=how) if isinstance(value, Object) else value
        if formal.default:
            parent = self._world.catalogue.symbol(owner).parent
            yield from self._world.evaluator.values(formal.default, Here(owner.record, parent), trip)

    def _is_receiver_before(self, site: Site, owner: Place) -> bool:
        """Whether the first parameter is what the function is called on, as if it were a method of that."""
        known = self._world.resolver.resolve(site, Trip(0)).reaches
        return any(it.place == owner and it.how == "extension method" for it in known)

    def _of_site(self, site: Site, formal: Formal, number: int, here: Here, trip: Trip) -> Values:
        pairs = entries(site.passed)
        if formal.stars == "*":
            rest = [(str(int(key) - number), way) for key, way in pairs if key.isdigit() and int(key) >= number]
        elif formal.stars:
            rest = [(f"'{key}", way) for key, way in pairs if key.isidentifier()]
        else:
            ways = [way for key, way in pairs if key in (str(number), formal.name)]
            ways += [_spread(key, way, number, formal.name) for key, way in pairs if key.startswith("*")]
            return tuple(v for way in ways if way for v in self._world.evaluator.values(way, here, trip))
        rest += [("*", f"{way}[]") for key, way in pairs if key.startswith("*") and not key.startswith("**")]
        return (Bundle("{" + "&".join(f"{key}={way}" for key, way in rest) + "}", here),) if rest else ()

    def sites(self, owner: Place, trip: Trip) -> Iterator[Site]:
        """The calls of a function that pass something, as far as they are followed."""
        passing = self._passing.get(owner)
        if passing is None:
            passing = tuple(islice(self._perhaps_passing(owner), _MOST_FOLLOWED + 1))
            self._passing.keep(owner, passing, len(passing) + 1)
        for count, site in enumerate(passing):
            if count >= _MOST_FOLLOWED or not trip.spend(1):
                trip.was_cut = True
                return
            if any(it.place == owner for it in self._world.resolver.resolve(site, trip).reaches):
                yield site

    def _perhaps_passing(self, owner: Place) -> Iterator[Site]:
        aliases = self._world.aliases
        names = {*aliases.of(owner), *aliases.sources(owner)}
        named = self._world.catalogue.sites(names, _MOST_SITES)
        held = aliases.held_as(owner, [it for it in named if it.kind == "refer"][:_MOST_LAMBDAS]) - names
        if held:
            named = self._world.catalogue.sites(names | held, _MOST_SITES)
        sieve = Sieve(self._world, (owner,))
        near = self._near(owner)
        return (
            it
            for it in named
            if it.passed
            and it.kind not in _NO_CALLS
            and (near is None or it.callee not in _INITIALISERS or it.record in near)
            and sieve.judge(it) == "perhaps"
        )

    def _near(self, constructor: Place) -> set[int] | None:
        """Files in which `: base(…)` or `: this(…)` of C# may mean a constructor: there are many of them."""
        outline = self._world.catalogue.outline(constructor.record)
        if not outline.habits.delegates or outline.symbols[constructor.ordinal].kind != "constructor":
            return None
        of_class = self._world.classes.owner(constructor)
        if of_class is None:
            return None
        heirs = self._world.overrides.below(of_class.name)
        return {it.record for it in of_class.places} | {it.place.record for it in heirs}

    # --- what fields, properties and events are given ---

    def assigned(self, place: Place, type: Type, trip: Trip) -> Values:
        """The functions that a member of this type of functions is given, wherever that is."""
        what = ("assigned", place)
        if not trip.follows or not trip.enter_parameter(what):
            trip.skipped |= not trip.follows
            return ()
        found: list[Thing] = []
        symbol = self._world.catalogue.symbol(place)
        for site in (it for it in self._world.catalogue.sites({symbol.name}, _MOST_SITES) if it.kind == ASSIGN):
            if not trip.spend(1):
                break
            here = Here(site.record, site.symbol)
            targets = self._world.evaluator.values(site.callee, here, trip)
            if any(isinstance(it, Thing) and it.place == place for it in targets):
                ways = [way for _, way in entries(site.passed)]
                values = tuple(v for way in ways for v in self._world.evaluator.values(way, here, trip))
                path = self._world.catalogue.outline(site.record).record.path
                how = f"{symbol.kind} {symbol.name}, given at {path}:{site.line}"
                things = (it for it in self._fitting(values, type) if isinstance(it, Thing))
                found += [it._replace(how=how) for it in things]
        trip.leave_parameter(what)
        return tuple({it._replace(how=""): it for it in found}.values())

    def is_of_functions(self, type: Type) -> bool:
        if not type.places:
            return type.name in library.FUNCTION_TYPES or type.name.endswith(("EventHandler", "Callback", "Delegate"))
        return self._world.catalogue.symbol(type.places[0]).kind == "delegate"

    def _fitting(self, values: Values, type: Type | None) -> Values:
        """Of several functions of one name the one that the type takes; where that can not be told, one of them."""
        things = [it for it in values if isinstance(it, Thing) and self._is_function(it.place)]
        others = tuple(it for it in values if it not in things)
        by_name: dict[tuple[int, int | None, str], list[Thing]] = {}
        for it in things:
            symbol = self._world.catalogue.symbol(it.place)
            by_name.setdefault((it.place.record, symbol.parent, symbol.name), []).append(it)
        return tuple(it for them in by_name.values() for it in self._one_of(them, type)) + others

    def _is_function(self, place: Place) -> bool:
        return self._world.catalogue.symbol(place).kind in FUNCTIONS

    def _one_of(self, overloads: list[Thing], type: Type | None) -> list[Thing]:
        wanted = self._taken(type) if type is not None and len(overloads) > 1 else None
        if wanted is not None:
            parameters = {it: self._world.catalogue.symbol(it.place).parameters for it in overloads}
            overloads = [it for it in overloads if len(parameters[it]) == len(wanted)] or overloads
            alike = [it for it in overloads if all(map(_may_take, parameters[it], wanted))]
            overloads = alike or overloads
        return overloads if len(overloads) < 2 else [it._replace(one_of=len(overloads)) for it in overloads]

    def _taken(self, type: Type) -> tuple[str, ...] | None:
        """The last names of the types that a delegate is called with, nothing for one that is not known."""
        if type.places:
            return tuple(parse_type(it).last for it in self._world.catalogue.symbol(type.places[0]).parameters)
        taken = library.taken(type)
        return None if taken is None else tuple("" if it is None else it.name for it in taken)

    # --- what calls its arguments ---

    def caller_of(self, reference: Site) -> str:
        """The name of something of a library that calls what is passed to it, if this reference is; else nothing."""
        if reference.passed != "passed":
            return ""
        is_dotnet = self._world.catalogue.outline(reference.record).habits.delegates
        calling = library.CALLING_OF_DOTNET if is_dotnet else library.CALLING
        for site in self._world.catalogue.sites_in(reference.record).of(reference.symbol):
            if site.name not in calling or site.kind in _NO_CALLS:
                continue
            is_passed = any(way == reference.callee for _, way in entries(site.passed))
            if is_passed and not self._world.resolver.resolve(site, Trip(0)).reaches:
                return site.name
        return ""

    # --- of lambdas ---

    def _of_lambda(self, number: str, here: Here, trip: Trip) -> Values:
        """What the calls of a lambda pass, as far as they stand in the same file."""
        what = ("lambda", here.key, number)
        if not trip.enter_parameter(what):
            return ()
        found: list[Value] = []
        for site in self._world.catalogue.sites_in(here.key).passing[:_MOST_LAMBDAS]:
            there = Here(site.record, site.symbol)
            ways = [way for key, way in entries(site.passed) if key == number]
            if ways and any(map(_is_lambda, self._called(site, there, trip))):
                found += [v for way in ways for v in self._world.evaluator.values(way, there, trip)]
        trip.leave_parameter(what)
        return tuple(dict.fromkeys(found))

    def _called(self, site: Site, there: Here, trip: Trip) -> Iterator[Value]:
        for value in self._world.evaluator.values(site.callee, there, trip):
            yield from self._world.holdings.behind(value, trip)


def _is_lambda(value: Value) -> bool:
    return isinstance(value, Bundle) and any(key == CALLED for key, _ in entries(value.text))


def _may_take(parameter: str, wanted: str) -> bool:
    return not wanted or parse_type(parameter).last == wanted


def _spread(key: str, way: str, number: int, name: str) -> str:
    """What `*way` or `**way`, from the number in the key on, gives a parameter."""
    if key.startswith("**"):
        return f"{way}[{name}]"
    first = int(key[1:]) if key[1:].isdigit() else 0
    return f"{way}[{number - first}]" if number >= first else ""


def _holds_line(symbol: Symbol, line: int) -> bool:
    return symbol.start_line <= line <= symbol.end_line


def _formals(symbol: Symbol) -> Iterator[Formal]:
    """Read from the signature, split where a comma stands outside of brackets."""
    _, _, rest = symbol.signature.partition(f"{symbol.name}(")
    depth, start = 0, 0
    for at, sign in enumerate(f"{rest},"):
        if depth == 0 and sign in ",)":
            text = rest[start:at].strip()
            start = at + 1
            bare = text.lstrip("*")
            name = re.split(r"[\s:=]", bare, maxsplit=1)[0]
            if name.isidentifier():
                default = text.rpartition("=")[2].strip() if "=" in text else ""
                is_name = _DOTTED.fullmatch(default) is not None and default not in ("None", "True", "False")
                yield Formal(name, text[: len(text) - len(bare)], default if is_name else "")
            if sign == ")":
                return
        depth += (sign in "([{") - (sign in ")]}")


def _typed_formals(symbol: Symbol) -> Iterator[Formal]:
    """As C# writes them: `this List<int> them, Action<int> act = null`; types are split at no comma inside of them."""
    opened = re.search(rf"(?<!\w){re.escape(symbol.name)}\s*(?:<[^()]*>)?\s*\(", symbol.signature)
    rest = symbol.signature[opened.end() :] if opened else ""
    depth, start = 0, 0
    for at, sign in enumerate(rest):
        if depth == 0 and sign in ",)":
            written = _TYPED.fullmatch(rest[start:at].partition("=")[0].strip())
            start = at + 1
            if written is not None:
                yield Formal(written[2], "", "", written[1])
            if sign == ")":
                return
        depth += (sign in "([{<") - (sign in ")]}>")
