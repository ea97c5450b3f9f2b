"""A job as one line of JSON, and back: what is read may have been written by anything."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Final, TypeGuard

ONGOING: Final = ("running", "retry_wait")
_STATES: Final = (*ONGOING, "completed", "failed", "cancelled")
_LATEST: Final = 253_402_300_799.0  # the year 9999: what is later is no time
_LONGEST_TEXT: Final = 400
_LONGEST_WORD: Final = 40  # so that no line is much longer than others
_MOST_RESULTS: Final = 20

Few = Mapping[str, str | float]


@dataclass(frozen=True, slots=True)
class PastJob:
    """A job as it was last heard of, at `at`; times are of the wall clock, `seconds` is how long it has taken."""

    id: str
    kind: str
    state: str
    at: float
    began_at: float
    seconds: float
    pid: int
    start: str
    requests: int = 1
    retries: int = 0
    stage: str = ""
    done: int = 0
    total: int = 0
    current: str = ""
    eta_s: float | None = None
    result: Few | None = None
    error: str | None = None

    @property
    def is_ongoing(self) -> bool:
        return self.state in ONGOING

    def seconds_by(self, now: float) -> float:
        """How long it takes by now: of one that runs, since it was last heard of too."""
        return self.seconds + max(0.0, now - self.at) if self.is_ongoing else self.seconds

    def eta_by(self, now: float) -> float | None:
        return None if self.eta_s is None else max(0.0, self.eta_s - max(0.0, now - self.at))


def in_short(result: Mapping[str, object]) -> Few:
    """Its figures and the beginning of its texts; lists may be as long as the index."""
    known = [(key, it) for key, it in result.items() if isinstance(it, str) or _is_figure(it)]
    return dict(known[:_MOST_RESULTS])


def line_of(job: PastJob) -> bytes:
    values = {name: _printable(value, _LONGEST.get(name, _LONGEST_WORD)) for name, value in asdict(job).items()}
    return json.dumps(values, ensure_ascii=False, separators=(",", ":")).encode()


def parsed(line: bytes) -> PastJob | None:
    """The job, if the line makes sense."""
    row = as_json(line)
    if not isinstance(row, dict):
        return None
    known = {it.name: row[it.name] for it in fields(PastJob) if it.name in row}
    if not all(_CHECKS[name](value) for name, value in known.items()) or known.get("state") not in _STATES:
        return None
    try:
        return PastJob(**{name: _printable(it, _LONGEST.get(name, _LONGEST_WORD)) for name, it in known.items()})
    except TypeError:  # something is missing
        return None


def as_json(line: bytes) -> Any:  # noqa: ANN401 - that is the question
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _printable(value: Any, longest: int) -> Any:  # noqa: ANN401 - texts become printable ones, all else stays
    if isinstance(value, dict):
        return {_printable(key, _LONGEST_WORD): _printable(it, _LONGEST_WORD) for key, it in value.items()}
    if isinstance(value, str) and not (len(value) <= longest and value.isprintable()):
        return "".join(it if it.isprintable() else "\N{REPLACEMENT CHARACTER}" for it in value[:longest])
    return value


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53


def _is_pid(value: object) -> bool:
    return isinstance(value, int) and _is_count(value) and 0 < value < 2**31


def _is_time(value: object) -> bool:
    # Compared first: a number may be too large for anything else.
    return isinstance(value, int | float) and 0 <= value <= _LATEST and math.isfinite(value)


def _is_result(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(it, str) or _is_figure(it) for it in value.values())


def _is_figure(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and abs(value) < 2**63


def _or_none(check: Callable[[object], bool]) -> Callable[[object], bool]:
    return lambda value: value is None or check(value)


_CHECKS: Final[Mapping[str, Callable[[object], bool]]] = {
    "id": _is_text, "kind": _is_text, "state": _is_text, "start": _is_text, "stage": _is_text, "current": _is_text,
    "at": _is_time, "began_at": _is_time, "seconds": _is_time, "pid": _is_pid,
    "requests": _is_count, "retries": _is_count, "done": _is_count, "total": _is_count,
    "eta_s": _or_none(_is_time), "error": _or_none(_is_text), "result": _or_none(_is_result),
}  # fmt: skip
_LONGEST: Final = {"error": _LONGEST_TEXT, "current": _LONGEST_TEXT}
