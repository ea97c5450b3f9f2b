"""The API: everything Dowse can do, as verbs. Shells and profiles call these and nothing below them."""

from __future__ import annotations

from dowse.engine.health import Healing, Mended
from dowse.engine.reading import Reading, Status
from dowse.engine.recollecting import Recollecting
from dowse.engine.why import Why

__all__ = ["Engine", "Mended", "Status"]


class Engine(Healing, Why, Recollecting, Reading):
    """Opened and closed by its owner; safe to use from several threads."""

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
