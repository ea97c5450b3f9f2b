"""One file's definitions and imports, arranged so that a name is found at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from dowse.lookup.calls.kinds import CLASSES, FUNCTIONS, VALUES
from dowse.lookup.calls.languages import Habits, habits_of
from dowse.lookup.symbols.question import Definition
from dowse.model import Record, Symbol
from dowse.store.call_facts import Facts


@dataclass(frozen=True, slots=True)
class Import:
    """`local` is its name in the file, `*` for everything; `member` what of the module it is, or nothing.

    `within` is the function it stands in, where it holds only there."""

    module: str
    local: str
    member: str
    within: int | None = None


class Outline:
    """Does not change; shared by all threads."""

    def __init__(self, facts: Facts) -> None:
        self.key = facts.key
        self.record: Record = facts.record
        self.symbols: tuple[Symbol, ...] = facts.symbols
        self.habits: Habits = habits_of(facts.record.path)
        self._facts = facts

    @cached_property
    def imports(self) -> tuple[Import, ...]:
        parts = [(link, *link.context.partition("=")[::2]) for link in self._facts.imports]
        return tuple(Import(link.target, local, member, self._function_at(link.line)) for link, local, member in parts)

    def _function_at(self, line: int) -> int | None:
        if not self.symbols or line < self.symbols[0].start_line:
            return None  # as nearly all imports
        around = self.around(self.at_line(line))
        return next((it for it in around if self.symbols[it].kind in FUNCTIONS), None)

    def imports_seen(self, local: str, symbol: int | None) -> tuple[Import, ...]:
        """The imports that give a name where a symbol stands; those of the functions around it come first."""
        found = self.imported.get(local, ())
        if all(it.within is None for it in found):
            return found
        around = list(self.around(symbol))
        inner = [it for it in found if it.within in around]
        return tuple(inner) or tuple(it for it in found if it.within is None)

    @cached_property
    def imported(self) -> dict[str, tuple[Import, ...]]:
        """By local name; `import a.b` gives `a` too."""
        found: dict[str, tuple[Import, ...]] = {}
        for it in self.imports:
            for local in dict.fromkeys((it.local, it.local.partition(".")[0])):
                found[local] = (*found.get(local, ()), it)
        return found

    @cached_property
    def _children(self) -> dict[tuple[int | None, str], list[int]]:
        found: dict[tuple[int | None, str], list[int]] = {}
        for ordinal, symbol in enumerate(self.symbols):
            found.setdefault((symbol.parent, symbol.name), []).append(ordinal)
        return found

    def children(self, parent: int | None, name: str) -> list[int]:
        """The definitions of this name directly inside another, or at the top of the file."""
        return self._children.get((parent, name), [])

    def member_names(self, parent: int) -> list[str]:
        """The names of what is defined directly inside of a definition."""
        return [name for owner, name in self._children if owner == parent]

    @cached_property
    def _set_at(self) -> dict[int, list[Symbol]]:
        found: dict[int, list[Symbol]] = {}
        for symbol in self.symbols:
            if symbol.kind in VALUES and symbol.holds:
                found.setdefault(symbol.start_line, []).append(symbol)
        return found

    def set_at(self, line: int) -> list[Symbol]:
        """The variables and fields that are given a value on this line."""
        return self._set_at.get(line, [])

    @cached_property
    def _constructors(self) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        for ordinal, symbol in enumerate(self.symbols):
            if symbol.kind == "constructor" and symbol.parent is not None and "static" not in symbol.modifiers:
                found.setdefault(symbol.parent, []).append(ordinal)
        return found

    def constructors(self, owner: int) -> list[int]:
        return self._constructors.get(owner, [])

    def around(self, ordinal: int | None) -> Iterator[int]:
        """The symbol and what it stands in, the innermost first."""
        while ordinal is not None and 0 <= ordinal < len(self.symbols):
            yield ordinal
            parent = self.symbols[ordinal].parent
            # A parent stands before its children; anything else is no tree.
            ordinal = parent if parent is not None and parent < ordinal else None

    def class_around(self, ordinal: int | None) -> int | None:
        return next((it for it in self.around(ordinal) if self.symbols[it].kind in CLASSES), None)

    def trail(self, ordinal: int) -> tuple[str, ...]:
        return tuple(self.symbols[it].name for it in self.around(self.symbols[ordinal].parent))[::-1]

    def namespaces(self, ordinal: int | None) -> list[str]:
        """The full names of the namespaces it stands in, the innermost first, the nameless one last."""
        parts = [self.symbols[it].name for it in self.around(ordinal) if self.symbols[it].kind == "namespace"]
        full = ".".join(reversed(parts)).split(".") if parts else []
        return [".".join(full[:end]) for end in range(len(full), -1, -1)]

    def definition(self, ordinal: int) -> Definition:
        return Definition(self.record, ordinal, self.symbols[ordinal], self.trail(ordinal))

    def at_line(self, line: int) -> int | None:
        """The innermost definition that holds the line."""
        around = [place for place, it in enumerate(self.symbols) if it.start_line <= line <= it.end_line]
        return max(around, key=lambda it: (self.symbols[it].start_line, -self.symbols[it].end_line, it), default=None)

    @cached_property
    def last_line(self) -> int:
        """The last line that any definition holds."""
        return max((it.end_line for it in self.symbols), default=0)
