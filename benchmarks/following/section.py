"""What was measured of following the disk, as tables."""

from __future__ import annotations

import os
import random
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from following import checkout
from following.repository import make, saves
from following.saving import Saved, at_once, undisturbed, until_visible, with_server
from following.soak import Outcome, Plan, Soak
from measuring import say
from report import Section, table
from timing import p, p50_p95

FILES = 2_000
VISIBLE_MS = 1_000
REPAIRED_MS = 100
HANDOVER_S = 5.0
_SHOWN = 5


def freshness(work: Path, *, count: int, checkout_files: int) -> tuple[Section, bool]:
    with _folder(work) as folder:
        environment = os.environ | {"DOWSE_DATA_DIR": str(folder / "data"), "DOWSE_ENCODER": "hashing"}
        root, rng = folder / "repository", random.Random(1)
        paths = make(root, FILES, rng)
        say(f"freshness: {count} saves, followed")
        followed, plain = with_server(
            root,
            environment,
            ("--freshness-timeout-ms", "0"),
            lambda server: (until_visible(server, saves(root, paths, count, rng)), undisturbed(server, count)),
        )
        say(f"freshness: {count} saves, repaired at the answer")
        paths = [it for it in paths if (root / it).exists()]
        repaired, looking = with_server(
            root,
            environment,
            (),
            lambda server: (at_once(server, saves(root, paths, count, rng)), undisturbed(server, count)),
        )
        say(f"freshness: a checkout of {checkout_files:,} files")
        storm = checkout.measure(folder / "storm", environment, checkout_files)
    good = not followed.wrong and p(followed.all, 95) <= VISIBLE_MS
    good = good and not repaired.wrong and p(repaired.all, 95) <= REPAIRED_MS and not storm.left
    return Section("freshness", "Freshness", freshness_lines(followed, repaired, (plain, looking), storm)), good


def freshness_lines(
    followed: Saved, repaired: Saved, idle: tuple[Sequence[float], Sequence[float]], storm: checkout.CheckedOut
) -> list[str]:
    rows = [["save → visible, with watcher and default debounce", p50_p95(followed.all), f"p95 ≤ {VISIBLE_MS} ms"]]
    rows += [[f"… {kind}", p50_p95(times), ""] for kind, times in followed.times.items()]
    rows.append(["search right after a save, file indexed first", p50_p95(repaired.all), f"p95 ≤ {REPAIRED_MS} ms"])
    rows += [[f"… {kind}", p50_p95(times), ""] for kind, times in repaired.times.items()]
    rows.append(["search without changes, no freshness check", p50_p95(idle[0]), ""])
    rows.append(["search without changes, with freshness check", p50_p95(idle[1]), ""])
    rows.append([f"git checkout of {storm.files:,} files: git alone", f"{storm.checkout_s:.1f} s", ""])
    rows.append(["… from its end until the index matches the disk", f"{storm.followed_s:.1f} s", f"{storm.left} left"])
    lines = [
        f"A synthetic repository of {FILES:,} files, served by `dowse mcp` over stdio. Each lexical search looks for a "
        f"word that only the saved file contains. {len(followed.all)} saves each: edits, new files, renames and "
        "deletions.",
        "",
        *table(["what", "measured", "aim"], rows),
    ]
    return [*lines, *_complaints([*followed.wrong, *repaired.wrong])]


def clients(work: Path, *, seconds: float) -> tuple[Section, bool]:
    say(f"clients: {seconds:g} s")
    plan = Plan(seconds)
    with _folder(work) as folder:
        outcome = Soak(folder, plan).run()
    good = not (outcome.errors or outcome.untrue or outcome.orphans) and outcome.handover_s <= HANDOVER_S
    return Section("clients", "Many clients on one index", client_lines(plan, outcome)), good


def client_lines(plan: Plan, outcome: Outcome) -> list[str]:
    rows = [
        ["server answers", f"{outcome.answers:,}", ""],
        ["command answers", f"{outcome.commands:,}", ""],
        ["file changes during the run", f"{outcome.changes:,}", ""],
        ["hits marked `changed` or `gone`", f"{outcome.marked:,}", ""],
        ["errors", f"{len(outcome.errors)}", "0"],
        ["hits that differ from the disk without a mark", f"{len(outcome.untrue)}", "0"],
        ["kill -9 of the leading server → another has indexed a new file", f"{outcome.handover_s:.1f} s", "≤ 5 s"],
        ["processes left behind", f"{len(outcome.orphans)}", "0"],
    ]
    lines = [
        f"{plan.servers} servers over stdio, every second one with `--freshness-timeout-ms 0`, and {plan.readers} "
        f"loops of `dowse search` and `dowse grep`, for {plan.seconds:g} s. Meanwhile, files are edited, added, "
        "renamed and deleted.",
        "",
        *table(["what", "measured", "aim"], rows),
    ]
    return [*lines, *_complaints([*outcome.errors, *outcome.untrue, *outcome.orphans])]


def _complaints(sentences: Sequence[str]) -> list[str]:
    more = [f"- … and {len(sentences) - _SHOWN:,} more"] if len(sentences) > _SHOWN else []
    return ["", *(f"- {it}" for it in sentences[:_SHOWN]), *more] if sentences else []


@contextmanager
def _folder(work: Path) -> Iterator[Path]:
    """Nothing of it can be used again."""
    work.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=work, prefix="following-") as folder:
        yield Path(folder).resolve()
