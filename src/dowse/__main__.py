"""`python -m dowse` is `dowse`."""

from __future__ import annotations

from dowse.cli import main

main()
