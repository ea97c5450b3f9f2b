"""A reranker reads the query and a text together and says how well the one answers the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Reranker(Protocol):
    """Loads on first use, once; may be used from several threads."""

    @property
    def name(self) -> str: ...

    def judge(self, query: str, texts: Sequence[str]) -> list[float]:
        """One number per text, in order; higher is better, and only numbers of one call can be compared."""
        ...
