"""Eight servers, four commands at a time and files that change: nobody errs, and whoever dies is replaced."""

from __future__ import annotations

import os
from pathlib import Path

from following.soak import Plan, Soak

HANDOVER_S = 30.0  # seconds, on a machine that has nothing else to do: the benchmark tells how many


def test_many_clients_of_one_index(tmp_path: Path) -> None:
    seconds = float(os.environ.get("DOWSE_SOAK_S", "12"))
    outcome = Soak(tmp_path.resolve(), Plan(seconds)).run()
    assert outcome.errors == []
    assert outcome.untrue == []
    assert outcome.orphans == []
    assert outcome.handover_s <= HANDOVER_S
    assert min(outcome.answers, outcome.commands, outcome.changes) > 0
