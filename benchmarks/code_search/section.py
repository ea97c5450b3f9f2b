"""The section on code: what building costs, how quick every lookup is beside ripgrep, what changes and audits show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from code_search import ripgrep
from code_search.asking import HEADER, differences, row
from code_search.corpora import Plan, prepared
from code_search.measured import Measured, measured
from code_search.sampling import QUERIES
from report import Section, table


def measure(plans: Sequence[Plan], work: Path, *, fresh: bool) -> tuple[Section, bool]:
    """The section, and whether every file without definitions is explained."""
    version = ripgrep.version()
    found = [measured(prepared(plan, work), work, peer=bool(version), fresh=fresh) for plan in plans]
    good = not any(it.audit.unexplained for it in found)
    return Section("code", "Searching code", lines(found, version)), good


def lines(found: Sequence[Measured], version: str) -> list[str]:
    asked = [it for it in found if it.asked]
    return [
        *(
            f"- {it.corpus.name}: {it.corpus.files:,} files, {it.corpus.mb:.0f} MB, {it.corpus.plan.origin}"
            for it in found
        ),
        "",
        "The machine is shared and noisy: compare figures only within a table.",
        *_heading("Building", "Words only, without vectors, in a separate process. Includes its child processes."),
        *table(["what", *(it.corpus.name for it in found)], _building(found)),
        *(line for it in asked for line in _questions(it, version)),
        *_heading(
            "Changes, server and new processes", "Times over MCP include the transfer through the server's pipes."
        ),
        *table(["what", "measured", "breakdown, p50 ms"], [row for it in asked for row in it.others]),
        *_heading("Audit", "Covers every file of a known language, of any size."),
        *table(["files", *(it.corpus.name for it in found)], _audits(found)),
        *(f"- {it.corpus.name}, unexplained: `{file.path}`" for it in found for file in it.audit.unexplained),
    ]


def _heading(title: str, text: str) -> list[str]:
    return ["", f"### {title}", "", text, ""]


def _building(found: Sequence[Measured]) -> list[list[str]]:
    builds = [(it.built, it.corpus.mb) for it in found]
    parts = sorted({part for it, _ in builds for part in it.sizes})
    return [
        ["wall", *(f"{it.footprint.wall_s:,.1f} s" for it, _ in builds)],
        ["CPU, all processes", *(f"{it.footprint.cpu_s:,.1f} s" for it, _ in builds)],
        ["source per CPU-second", *(f"{mb / it.footprint.cpu_s:.2f} MB" for it, mb in builds)],
        ["peak memory, all processes, RSS", *(f"{it.footprint.peak_rss_mb:,.0f} MB" for it, _ in builds)],
        ["the same, PSS", *(f"{it.footprint.peak_pss_mb:,.0f} MB" for it, _ in builds)],
        *([_part_name(part), *(f"{it.sizes.get(part, 0) / 1e6:,.0f} MB" for it, _ in builds)] for part in parts),
        *([name, *(f"{it.counts[key]:,}" for it, _ in builds)] for name, key in _COUNTS.items()),
        ["files left out", *(_reasons(it.skipped) for it, _ in builds)],
    ]


_COUNTS = {"files": "records", "chunks": "chunks", "definitions": "symbols", "calls": "calls"}


def _part_name(part: str) -> str:
    return f"index: `{part}`" if part else "index: catalog"


def _reasons(counted: Mapping[str, int]) -> str:
    return "; ".join(f"{number:,} {reason}" for reason, number in counted.items()) or "none"


def _questions(found: Measured, version: str) -> list[str]:
    peer = f"ripgrep {version} scans the files from the page cache. CPU and ratios use medians." if version else ""
    absent = "" if version else "ripgrep is not installed, so there is no comparison."
    text = f"{QUERIES} questions of each kind, drawn from the corpus, in one warm process. {peer or absent}"
    told = differences(found.asked)
    return [
        *_heading(f"Questions: {found.corpus.name}", text),
        *table(HEADER, [row(it) for it in found.asked]),
        *(["", "Differences from ripgrep, a few of each kind:", "", *told] if told else []),
    ]


def _audits(found: Sequence[Measured]) -> list[list[str]]:
    audits = [it.audit for it in found]
    silent = [Counter(it.reason or "unexplained" for it in audit.files_without_definitions) for audit in audits]
    reasons = sorted({reason for it in silent for reason in it} | {"unexplained"})
    return [
        ["all", *(f"{it.files:,}" for it in audits)],
        ["with definitions", *(f"{it.with_definitions:,}" for it in audits)],
        ["unreadable", *(f"{it.unreadable:,}" for it in audits)],
        ["with characters that could not be decoded", *(f"{it.lossy:,}" for it in audits)],
        *([f"without definitions: {reason}", *(f"{it[reason]:,}" for it in silent)] for reason in reasons),
    ]
