"""`python -m dowse` is `dowse`."""

from __future__ import annotations

from dowse.shells.cli import main

main()
