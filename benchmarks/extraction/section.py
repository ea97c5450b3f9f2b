"""Documents beside other extractors: words, reading order and table cells per format, time, memory, a large sheet."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from extraction.measures import Scores, Text, score, text_of_markdown
from measuring import say
from report import Section, table

BENCHMARKS = Path(__file__).resolve().parents[1]
FORMATS = ("pdf", "docx", "pptx", "xlsx", "html", "odf", "epub", "csv", "md", "asciidoc")
DOWSE = "dowse"
FILE_TIMEOUT_S = 600
LARGE_SHEET_ROWS, LARGE_SHEET_COLUMNS = 20_000, 50
LARGE_SHEET_ROUNDS = 3
LARGE_SHEET_CPU_S, LARGE_SHEET_MB = 1.0, 200
WORST_FILES = 10

# What issue and readers are promised: the lowest mean of a format.
TARGETS: dict[str, dict[str, float]] = {
    "pdf": {"recall": 0.955, "order": 0.90, "cells": 0.77},
    "docx": {"recall": 0.96, "order": 0.95},
    "pptx": {"recall": 0.95},
    "xlsx": {"cells": 0.99},
    "html": {"recall": 0.97},
    "odf": {"recall": 0.92},
    "epub": {"recall": 0.99},
    "csv": {"recall": 0.99},
}


@dataclass(frozen=True, slots=True)
class Result:
    """One file read by one tool; an error stands instead of scores."""

    path: Path
    scores: Scores | None
    cpu_ms: float
    pages: int = 0
    loose_cells: float | None = None
    """The share of cells if texts of a sheet that stand in no table count as cells."""
    error: str = ""


@dataclass(frozen=True, slots=True)
class Run:
    """Everything one tool read."""

    results: dict[str, list[Result]]
    peak_mb: float


def measure(bench: Path, peers_python: Path | None, formats: Sequence[str]) -> tuple[Section, bool]:
    """Read every file with every tool; return the section, and whether each target is met."""
    corpus = bench / "doc_extract"
    files = {kind: sorted((corpus / "sources" / kind).iterdir()) for kind in formats}
    runs: dict[str, Run] = {}
    for tool, python in _find_tools(peers_python).items():
        say(f"{tool}: {sum(map(len, files.values()))} files")
        runs[tool] = _run(tool, python, files, corpus)
    cpu_s, peak_mb = _read_large_sheet()
    found = _missed(runs[DOWSE])
    if cpu_s > LARGE_SHEET_CPU_S or peak_mb > LARGE_SHEET_MB:
        found.append(f"10⁶ cells take {cpu_s:.2f} CPU-s and {peak_mb:.0f} MB")
    lines = [
        "Files of docling's tests and the Markdown that docling makes of them (`doc_extract`). Means over the files of "
        "a format: words found / in order / table cells found; an empty place means there is nothing to compare, a "
        "dash that the tool does not read the format. A file that a tool cannot read counts as 0. The readers of "
        "Dowse were written with these files at hand, the other tools were not: the figures flatter Dowse.",
        "",
        *_scores_table(runs, files),
        "",
        *_loose_lines(runs[DOWSE]),
        *_costs_table(runs, files),
        "",
        f"A sheet of 10⁶ cells by Dowse: {cpu_s:.2f} CPU-seconds, {peak_mb:.0f} MB; "
        f"the best of {LARGE_SHEET_ROUNDS} processes.",
        "",
        f"The files with the fewest words found by Dowse, up to {WORST_FILES}:",
        "",
        *_worst_table(runs[DOWSE]),
        "",
        "Every target is met." if not found else f"Targets missed: {'; '.join(found)}.",
    ]
    return Section("extraction", "Documents", lines), not found


def _find_tools(peers_python: Path | None) -> dict[str, str]:
    """Return the interpreter of each tool that is installed; Dowse first."""
    found = {DOWSE: sys.executable}
    for python in (sys.executable, str(peers_python or sys.executable)):
        script = BENCHMARKS / "extraction" / "tools.py"
        listed = subprocess.run([python, script, "--list"], capture_output=True, text=True, check=True)
        for tool in json.loads(listed.stdout):
            found.setdefault(tool, python)
    return found


def _run(tool: str, python: str, files: dict[str, list[Path]], corpus: Path) -> Run:
    """Read all files in one process of the tool; after a crash, go on behind the file that caused it."""
    waiting = [path for paths in files.values() for path in paths]
    answers: dict[Path, dict[str, Any]] = {}
    peak_mb = 0.0
    while waiting:
        for answer in _ask(tool, python, waiting):
            if "peak_mb" in answer:
                peak_mb = max(peak_mb, answer["peak_mb"])
            else:
                answers[Path(answer["path"])] = answer
        missing = [path for path in waiting if path not in answers]
        if missing:
            answers[missing[0]] = {"path": str(missing[0]), "error": "the process ended"}
        waiting = missing[1:]
    results = {kind: [_judge(answers[path], path, corpus) for path in paths] for kind, paths in files.items()}
    return Run(results, peak_mb)


def _ask(tool: str, python: str, paths: Iterable[Path]) -> Iterable[dict[str, Any]]:
    script = BENCHMARKS / "extraction" / "tools.py"
    environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(
        [python, script, tool],
        input="".join(f"{path}\n" for path in paths),
        capture_output=True,
        text=True,
        timeout=FILE_TIMEOUT_S,
        check=False,
        env=environment,
    )
    lines = (line for line in done.stdout.splitlines() if line.startswith("{"))
    return [json.loads(line) for line in lines]


def _judge(answer: dict[str, Any], path: Path, corpus: Path) -> Result:
    if "error" in answer:
        return Result(path, None, 0.0, error=answer["error"])
    truth = corpus / "groundtruth" / path.parent.name / f"{path.stem if path.suffix == '.pdf' else path.name}.md"
    text, cells = answer["text"], answer["cells"]
    extracted = text_of_markdown(text) if cells is None else Text(text, cells)
    expected = truth.read_text(encoding="utf-8")
    loose = score(expected, Text(text, [*extracted.cells, *answer["loose"]])).cells
    return Result(path, score(expected, extracted), answer["cpu_ms"], answer["pages"], loose)


def _mean(results: Sequence[Result], name: str) -> float | None:
    """Return the mean of a score; a file that could not be read counts as 0, one without the score does not count."""
    values = [0.0 if it.scores is None else getattr(it.scores, name) for it in results]
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _missed(run: Run) -> list[str]:
    found = []
    for kind, targets in TARGETS.items():
        for name, target in targets.items():
            mean = _mean(run.results.get(kind, []), name)
            if mean is not None and mean < target:
                found.append(f"{kind} {name} {mean:.3f} < {target}")
    return found


def _scores_table(runs: dict[str, Run], files: dict[str, list[Path]]) -> list[str]:
    rows = []
    for kind, paths in files.items():
        row = [kind, str(len(paths))]
        for run in runs.values():
            results = run.results[kind]
            failures = sum(it.scores is None for it in results)
            shown = " / ".join(_show(_mean(results, name)) for name in ("recall", "order", "cells"))
            shown = f"{shown} ({failures} not read)" if failures else shown
            row.append("–" if failures == len(results) else shown)
        rows.append(row)
    return table(["format", "files", *runs], rows)


def _loose_lines(run: Run) -> list[str]:
    """Say what sheets reach if their titles and lone texts, which docling writes as tables of one cell, are cells."""
    shown = []
    for kind in ("xlsx", "odf"):
        values = [it.loose_cells for it in run.results.get(kind, []) if it.loose_cells is not None]
        if values:
            shown.append(f"{kind} {_show(sum(values) / len(values))}")
    if not shown:
        return []
    return [f"Cells found by Dowse if titles and lone texts of a sheet count as cells: {', '.join(shown)}.", ""]


def _costs_table(runs: dict[str, Run], files: dict[str, list[Path]]) -> list[str]:
    rows = []
    for kind in files:
        row = [f"CPU-ms per file, {kind}"]
        for run in runs.values():
            times = [it.cpu_ms for it in run.results[kind] if it.scores is not None]
            row.append(f"{sum(times) / len(times):.1f}" if times else "")
        rows.append(row)
    pages = {it.path: it.pages for it in runs[DOWSE].results.get("pdf", [])}
    if any(pages.values()):
        row = ["pages per CPU-second, pdf"]
        for run in runs.values():
            read = [it for it in run.results["pdf"] if it.scores is not None]
            seconds = sum(it.cpu_ms for it in read) / 1000
            row.append(f"{sum(pages[it.path] for it in read) / seconds:.0f}" if seconds else "")
        rows.append(row)
    rows.append(["peak memory, MB", *(f"{run.peak_mb:.0f}" for run in runs.values())])
    return table(["cost", *runs], rows)


def _worst_table(run: Run) -> list[str]:
    results = [it for results in run.results.values() for it in results]
    results.sort(key=lambda it: -1.0 if it.scores is None else 1.0 if it.scores.recall is None else it.scores.recall)
    rows = []
    for result in results[:WORST_FILES]:
        scores = result.scores
        shown = (
            [_show(value) for value in (scores.recall, scores.order, scores.cells)] if scores else [result.error] * 3
        )
        rows.append([result.path.name, *shown])
    return table(["file", "words", "order", "cells"], rows)


def _show(share: float | None) -> str:
    return "" if share is None else f"{share:.3f}".removeprefix("0") if share < 1 else "1"


# --- a large sheet ---------------------------------------------------------------------------------


def _read_large_sheet() -> tuple[float, float]:
    """Return CPU-seconds and peak megabytes of reading 10⁶ cells: the best of several processes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.xlsx"
        write_large_sheet(path, LARGE_SHEET_ROWS, LARGE_SHEET_COLUMNS)
        say("a sheet of 10⁶ cells")
        code = (
            "import resource, sys, time\n"
            "from dowse.ingest.extract.documents.sheets import read_sheets\n"
            "import python_calamine\n"
            "data = open(sys.argv[1], 'rb').read()\n"
            "started = time.process_time()\n"
            "read_sheets(data)\n"
            "print(time.process_time() - started, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)\n"
        )
        found = []
        for _ in range(LARGE_SHEET_ROUNDS):
            done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, check=True)
            cpu_s, peak_mb = map(float, done.stdout.split())
            found.append((cpu_s, peak_mb))
    return min(found)


def write_large_sheet(path: Path, rows: int, columns: int) -> None:
    """Write a workbook whose columns are texts of a shared table and numbers in turn."""
    names = [_column_name(index) for index in range(columns)]
    lines = ['<row r="1">' + "".join(f'<c r="{name}1" t="s"><v>{index}</v></c>' for index, name in enumerate(names))]
    for row in range(2, rows + 1):
        cells = (
            f'<c r="{name}{row}" t="s"><v>{columns + (row + index) % 1000}</v></c>'
            if index % 2
            else f'<c r="{name}{row}"><v>{row * index / 4}</v></c>'
            for index, name in enumerate(names)
        )
        lines.append(f'<row r="{row}">' + "".join(cells))
    texts = [f"column {name}" for name in names] + [f"text {number}" for number in range(1000)]
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    relations = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(
            "[Content_Types].xml",
            f'<Types xmlns="{package}/content-types"><Default Extension="xml" ContentType="application/xml"/></Types>',
        )
        archive.writestr(
            "_rels/.rels",
            f'<Relationships xmlns="{package}/relationships"><Relationship Id="r1" Type="{relations}/officeDocument" '
            'Target="xl/workbook.xml"/></Relationships>',
        )
        archive.writestr(
            "xl/workbook.xml",
            f'<workbook xmlns="{main}" xmlns:r="{relations}"><sheets><sheet name="Large" sheetId="1" r:id="r1"/>'
            "</sheets></workbook>",
        )
        archive.writestr(
            "xl/_rels/workbook.xml.rels",
            f'<Relationships xmlns="{package}/relationships"><Relationship Id="r1" Type="{relations}/worksheet" '
            f'Target="worksheets/sheet1.xml"/><Relationship Id="r2" Type="{relations}/sharedStrings" '
            'Target="sharedStrings.xml"/></Relationships>',
        )
        items = "".join(f"<si><t>{text}</t></si>" for text in texts)
        archive.writestr("xl/sharedStrings.xml", f'<sst xmlns="{main}">{items}</sst>')
        content = "</row>".join(lines)
        archive.writestr(
            "xl/worksheets/sheet1.xml", f'<worksheet xmlns="{main}"><sheetData>{content}</row></sheetData></worksheet>'
        )


def _column_name(index: int) -> str:
    return (chr(ord("A") + index // 26 - 1) if index >= 26 else "") + chr(ord("A") + index % 26)
