"""One pass over the nodes a language's query names, in the order they stand: who is in whom, and what holds what.

`frames` is where the pass stands; `defining`, `giving` and `bodies` take nodes of their kinds; `sweep` leads them on.
"""

from __future__ import annotations

from dowse.ingest.extract.code.sweep.sweep import Sweep

__all__ = ["Sweep"]
