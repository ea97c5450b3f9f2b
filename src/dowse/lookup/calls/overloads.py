"""Which of several definitions of one name take so many arguments."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dowse.lookup.calls.catalogue import Catalogue
from dowse.lookup.calls.reach import Reach
from dowse.model import Symbol

_OPTIONAL = re.compile(r"[^=!<>]=(?![=>])|\bparams\b|\.\.\.|\*|\bvararg\b")


def fitting(catalogue: Catalogue, reaches: Sequence[Reach], arguments: int) -> list[Reach]:
    """Where a language has overloads, those that take the arguments; all, where none seems to."""
    if len(reaches) < 2 or not all(catalogue.outline(it.place.record).habits.overloads for it in reaches):
        return list(reaches)
    symbols = [catalogue.symbol(it.place) for it in reaches]
    wanted = [arguments + (it.how == "extension method") for it in reaches]
    exactly = [it for it, symbol, count in zip(reaches, symbols, wanted, strict=True) if _count(symbol) == count]
    chosen = exactly or [
        it for it, symbol, count in zip(reaches, symbols, wanted, strict=True) if _tolerates(symbol, count)
    ]
    return _told_apart(chosen or list(reaches), catalogue)


def _count(symbol: Symbol) -> int:
    return len(symbol.parameters)


def _tolerates(symbol: Symbol, arguments: int) -> bool:
    """Whether parameters may be left out, or repeated."""
    if not _OPTIONAL.search(symbol.signature):
        return False
    return arguments < _count(symbol) or "params " in symbol.signature or "..." in symbol.signature


def _told_apart(chosen: list[Reach], catalogue: Catalogue) -> list[Reach]:
    """Several of one class that take as many arguments: which one is meant the types of these would say."""
    symbols = [catalogue.symbol(it.place) for it in chosen]
    owners = [(it.place.record, symbol.parent, symbol.name) for it, symbol in zip(chosen, symbols, strict=True)]
    return [
        it._replace(confidence="virtual", how=f"one of {owners.count(owner)} overloads")
        if owners.count(owner) > 1 and it.confidence == "exact"
        else it
        for it, owner in zip(chosen, owners, strict=True)
    ]
