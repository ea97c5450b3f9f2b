"""What memories are anchored to, as it is indexed now: a file, or definitions in it."""

from __future__ import annotations

from dataclasses import dataclass

from dowse.errors import BadInput
from dowse.model import COMMITS, FILES, Collection, Record, Scope, Symbol
from dowse.store.base import Store
from dowse.store.chains import chains_of
from dowse.text.anchors import Anchor, digest_of, parse_anchor
from dowse.text.globs import literal

_DIGITS = 16
_REMEMBERED = "digests of what is anchored"


@dataclass(frozen=True, slots=True)
class Anchored:
    """Where anchors lead. `home` is the root the memories belong to, if to one: there a path is looked for first."""

    store: Store
    home: str = ""

    def resolved(self, written: str) -> Anchor:
        """The anchor with the digest of what is there now; raises BadInput where nothing is."""
        anchor = parse_anchor(written)
        if anchor is None:
            raise BadInput(f"{written[:100]!r} is no anchor; write path, path#Symbol, path:LINE or commit:HASH")
        if anchor.commit:
            return Anchor("", commit=self._whole_hash(anchor.commit))
        record = self.record(anchor.path)
        if record is None:
            raise BadInput(
                f"{anchor.path[:100]!r} is not indexed, so nothing can be anchored to it; `dowse find` helps"
            )
        if anchor.line and not anchor.symbol:
            anchor = replace_symbol(anchor, self._symbol_at(record, anchor.line))
        digest = self.digest(record, anchor.symbol)
        if not digest:
            raise BadInput(f"{record.path} has no definition {anchor.symbol[:100]!r}; `dowse symbols` lists them")
        return anchor._replace(path=record.path, line=0, digest=digest)

    def record(self, path: str) -> Record | None:
        """The file of this path: that of the memories' own root before others."""
        roots = self.roots()
        found = [it for it in self.store.records(path) if it.collection in roots]
        return min(found, key=lambda it: roots.index(it.collection), default=None)

    def roots(self) -> list[str]:
        names = [it.name for it in self.store.collections() if it.source == FILES]
        return sorted(names, key=lambda it: it != self.home)

    def digest(self, record: Record, symbol: str = "") -> str:
        """Of the file, or of all definitions that are so named; empty where none is."""
        if not symbol:
            return record.digest[:_DIGITS]
        # Worked out once for each state of the index: a file may hold thousands of definitions.
        known: dict[tuple[str, str, str], str] = self.store.remembered(_REMEMBERED, dict)
        key = record.collection, record.path, symbol
        if key not in known:
            known[key] = self._digest(record, symbol)
        return known[key]

    def _digest(self, record: Record, symbol: str) -> str:
        spans = [(it.start_line, it.end_line) for it in self.named(record, symbol)]
        lines = self.store.text(record).split("\n") if spans else []
        return digest_of("\n".join(line for first, last in spans for line in lines[first - 1 : last])) if spans else ""

    def named(self, record: Record, name: str) -> list[Symbol]:
        """What it defines under this name, or one that ends so with those around it."""
        chains = chains_of(self.store, record)
        return [chains.symbols[it] for it in chains.named(name)]

    def histories(self) -> list[Collection]:
        return [it for it in self.store.collections() if it.source == COMMITS and it.synced_at]

    def commit(self, start: str) -> Record | None:
        """The commit whose hash begins so, if there is just one."""
        names = tuple(it.name for it in self.histories())
        scope = Scope(collections=names, paths=(f"{literal(start)}*",))
        found = self.store.select(scope, 2) if names else []
        return found[0] if len({it.path for it in found}) == 1 else None

    def _whole_hash(self, start: str) -> str:
        found = self.commit(start)
        if found is None and self.histories():
            raise BadInput(
                f"no commit, or more than one, that is indexed begins with {start[:64]!r}; give its whole hash"
            )
        return found.path if found else start

    def _symbol_at(self, record: Record, line: int) -> str:
        """The innermost definition around the line; none where it stands outside of all, BadInput beyond the end."""
        lines = self.store.text(record).removesuffix("\n").count("\n") + 1
        if line > lines:
            raise BadInput(f"{record.path} has {lines:,} lines; line {line:,} is beyond its end")
        around = self.store.around(record, line)
        return ".".join((*around[0].trail, around[0].symbol.name)) if around else ""


def replace_symbol(anchor: Anchor, symbol: str) -> Anchor:
    return anchor._replace(symbol=symbol, line=0)
