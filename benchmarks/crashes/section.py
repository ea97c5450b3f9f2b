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
        "After each kill the index opened and answered, and each file was as it had been indexed or as it was on disk;",
        "at the end an ordinary run made each index what a fresh one is. Nothing was repaired by hand.",
        "",
    ]
    header = ["what was killed (-9) at random moments", "kills", "runs", "a whole run"]
    return Section("crashes", "Crashes", [*said, *table(header, rows)])
