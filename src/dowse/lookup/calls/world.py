"""The parts that together tell what an expression stands for; they know each other through this."""

from __future__ import annotations

from dowse.lookup.calls.aliases import Aliases
from dowse.lookup.calls.calling import Calling
from dowse.lookup.calls.carriers import Mentions
from dowse.lookup.calls.catalogue import Catalogue
from dowse.lookup.calls.classes import Classes
from dowse.lookup.calls.elements import Elements
from dowse.lookup.calls.evaluate import Evaluator
from dowse.lookup.calls.guess import Guesses
from dowse.lookup.calls.holdings import Holdings
from dowse.lookup.calls.members import Members
from dowse.lookup.calls.modules import Modules
from dowse.lookup.calls.outlines import Outlines
from dowse.lookup.calls.overrides import Overrides
from dowse.lookup.calls.passing import Passing
from dowse.lookup.calls.resolve import Resolver
from dowse.lookup.calls.scopes import Scopes
from dowse.lookup.calls.sieve import Sifting
from dowse.lookup.calls.spaces import Spaces
from dowse.lookup.calls.structures import Structures
from dowse.lookup.calls.types import Types
from dowse.store.call_facts import CallFacts


class World:
    """For one state of an index."""

    def __init__(self, store: CallFacts, outlines: Outlines) -> None:
        self.catalogue = Catalogue(store, outlines)
        self.modules = Modules(self)
        self.spaces = Spaces(self)
        self.scopes = Scopes(self)
        self.types = Types(self)
        self.classes = Classes(self)
        self.members = Members(self)
        self.calling = Calling(self)
        self.holdings = Holdings(self)
        self.elements = Elements(self)
        self.evaluator = Evaluator(self)
        self.overrides = Overrides(self)
        self.structures = Structures(self)
        self.aliases = Aliases(self)
        self.sifting = Sifting(self)
        self.mentions = Mentions(self)
        self.guesses = Guesses(self)
        self.passing = Passing(self)
        self.resolver = Resolver(self)
