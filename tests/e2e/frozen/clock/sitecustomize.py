"""Stops the clock of a process at one moment, so that ages in answers are the same on every day.

Python imports this module at its start where the folder is in PYTHONPATH.
"""

import time

_MOMENT = 1_780_000_000.0  # May 2026


def _now() -> float:
    return _MOMENT


time.time = _now
