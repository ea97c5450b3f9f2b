"""What was measured of whole histories, as tables."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from histories.inventing import invent
from histories.whole import PARTS, Whole, measure
from report import Section, table
from timing import p

LONGEST_LOG = 64_000_000
_SEED = 1


def measure_whole(made_up: int, repository: Path | None, work: Path) -> tuple[Section, bool]:
    """The section, and whether nothing was lost and the log stayed short."""
    work.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=work, prefix="history-") as folder:
        place = Path(folder).resolve()
        grounds = {"made up": invent(place / "made-up.git", made_up, _SEED)}
        if repository is not None:
            grounds[_name(repository)] = _shared(repository, place / "real.git")
        found = [measure(name, git, place / str(at), _SEED) for at, (name, git) in enumerate(grounds.items())]
    return Section("whole-history", "Whole histories", lines(found)), all(map(is_good, found))


def is_good(whole: Whole) -> bool:
    done, killed = whole.indexed, whole.killed
    return done.longest_log <= LONGEST_LOG and killed is not None and killed.finally_there == done.commits + 1


def lines(found: Sequence[Whole]) -> list[str]:
    names = [it.name for it in found]
    return [
        "All commits of a synthetic repository and, if given, of a real one, without an encoder. Memory covers all "
        "processes, including the pages of the pack that git maps. The log is SQLite's write-ahead log. Targets: a log "
        f"of at most {LONGEST_LOG / 1e6:.0f} MB, and every commit indexed after the kills.",
        "",
        *table(["", *names], [[title, *(cell(it) for it in found)] for title, cell in _ROWS]),
        "",
        f"### Commits per second and per CPU second, for each {_ordinal(PARTS)} of the history",
        "",
        *table(["", *map(str, range(1, PARTS + 1))], [[it.name, *map(_rate, it.indexed.rates())] for it in found]),
        "",
        "### Queries on the complete index",
        "",
        *table(["", *names], _times(found)),
    ]  # fmt: skip


_ROWS: list[tuple[str, Callable[[Whole], str]]] = [
    ("commits", lambda it: f"{it.indexed.commits:,}"),
    ("indexing", lambda it: f"{it.indexed.wall_s:,.0f} s"),
    ("commits/s", lambda it: f"{it.indexed.commits / it.indexed.wall_s:,.0f}"),
    ("peak memory", lambda it: f"{it.indexed.most_resident / 1e6:,.0f} MB"),
    ("longest log", lambda it: f"{it.indexed.longest_log / 1e6:,.1f} MB"),
    ("index", lambda it: f"{it.indexed.index_bytes / 1e6:,.0f} MB"),
    ("search during indexing, p50", lambda it: _meanwhile(it, 50)),
    ("search during indexing, max", lambda it: _meanwhile(it, 100)),
    ("commits after each kill", lambda it: ", ".join(f"{count:,}" for count in _there(it))),
]


def _there(it: Whole) -> Sequence[int]:
    return (*it.killed.after, it.killed.finally_there) if it.killed else ()


def _meanwhile(it: Whole, percent: int) -> str:
    """Nothing where it was over before anybody could ask."""
    return f"{p(it.indexed.meanwhile, percent):,.0f} ms" if it.indexed.meanwhile else ""


def _rate(rate: tuple[float, float]) -> str:
    return f"{rate[0]:,.0f}, {rate[1]:,.0f}"


def _times(found: Sequence[Whole]) -> list[list[str]]:
    rows = [[name, *(f"{it.once[name]:,.0f} ms" for it in found)] for name in found[0].once]
    for at, asked in enumerate(found[0].asked):
        cells = (f"{p(it.asked[at].ms, 50):.1f} ms, {p(it.asked[at].ms, 95):.1f} ms" for it in found)
        rows.append([f"a search, {asked.way}, p50, p95", *cells])
    return rows


def _ordinal(number: int) -> str:
    return {5: "fifth", 10: "tenth"}.get(number, f"{number}th part")


def _name(repository: Path) -> str:
    place = repository.resolve()
    return place.parent.name if place.name in ("repo", ".git") else place.name


def _shared(repository: Path, place: Path) -> Path:
    """Its branches and tags over the same objects: what is measured adds a commit."""
    subprocess.run(["git", "clone", "-q", "--bare", "--shared", str(repository.resolve()), str(place)], check=True)
    return place
