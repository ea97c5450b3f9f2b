"""The API: everything Dowse can do, as verbs. Shells and profiles call these and nothing below them."""

from __future__ import annotations

from dowse.engine.asking import Asking
from dowse.engine.exact import Exact
from dowse.engine.health import Healing, Mended
from dowse.engine.memories import Memories
from dowse.engine.past import Past
from dowse.engine.reading import Reading, Status
from dowse.engine.recollecting import Recollecting

__all__ = ["Engine", "Mended", "Status"]


class Engine(Healing, Recollecting, Memories, Asking, Exact, Past, Reading):
    """Opened and closed by its owner; safe to use from several threads."""

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
