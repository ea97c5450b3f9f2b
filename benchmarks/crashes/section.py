"""Many kills, for as long as that takes: how many of each kind, and that none did harm."""

from __future__ import annotations

import tempfile
from pathlib import Path

from crashes.harness import run_all
from crashes.victims import SCENARIOS
from report import Section, table

_AT_ONCE = 3


def measure(kills: int, seed: int) -> Section:
    """Raises Broken, with the scenario and its seed, as soon as a kill has done harm."""
    each = -(-kills // len(SCENARIOS))
    with tempfile.TemporaryDirectory(prefix="dowse-crashes-") as folder:
        outcomes = run_all(SCENARIOS, each, Path(folder), seed, _AT_ONCE)
    rows = [[it.scenario, f"{it.kills}", f"{it.runs}", f"{it.whole_run_s:.1f} s"] for it in outcomes]
    said = [
        "After each kill the index opened and answered. Each file was complete: either its old or its new content.",
        "At the end, a normal run made each index equal to a fresh one, without manual repair.",
        "",
    ]
    header = ["process killed (-9) at random moments", "kills", "runs", "full run"]
    return Section("crashes", "Crashes", [*said, *table(header, rows)])
