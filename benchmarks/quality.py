"""How well each recipe ranks on public labelled sets, beside plain FTS5: `python benchmarks/quality.py`.

The sets are directories in the BEIR layout below --bench. Every corpus goes through the real flow: the same
chunker, store, encoder and recipes as a user's files. The first run encodes the corpora, which takes a while on
a CPU; vectors are cached below --work, so a second run takes seconds.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

from report import machine, table, write_section

PROJECT = Path(__file__).resolve().parents[1]
# nDCG@10 of SQLite FTS5 with BM25 on the same set, as published with the sets.
FTS5 = {
    "scifact": 0.6874,
    "cranfield": 0.3772,
    "vaswani": 0.4317,
    "anthropic_docs": 0.6957,
    "anthropic_codebase": 0.5646,
}
RECIPES = ("lexical", "semantic", "hybrid")


def measure(directory: Path, work: Path, encoder: str) -> dict:
    command = [sys.executable, "-m", "dowse", "eval", str(directory), "--json", "--encoder", encoder]
    command += ["--data-dir", str(work), "--root", str(PROJECT)]
    for recipe in RECIPES:
        command += ["--recipe", recipe]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def row(name: str, report: dict) -> tuple[list[str], bool]:
    values = {recipe: report["recipes"][recipe]["means"] for recipe in RECIPES}
    paired = report["comparisons"]["hybrid"]
    lexical, hybrid = (values[recipe]["ndcg@10"] for recipe in ("lexical", "hybrid"))
    good = lexical >= FTS5[name] and hybrid >= lexical
    difference = (
        f"{paired['mean_difference']:+.4f} ({paired['wins']}–{paired['losses']}, p {paired['p_value']:.3f}: "
        f"{paired['verdict']})"
    )
    cells = [name, f"{FTS5[name]:.4f}", *(f"{values[recipe]['ndcg@10']:.4f}" for recipe in RECIPES), difference]
    cells += [f"{values['hybrid']['recall@10']:.3f}", f"{values['hybrid']['mrr']:.3f}", "yes" if good else "NO"]
    return cells, good


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bench", type=Path, default=PROJECT.parent / "shared" / "bench", help="where the sets are")
    parser.add_argument("--work", type=Path, default=PROJECT / ".bench", help="where indexes and vectors are kept")
    parser.add_argument("--encoder", default="auto")
    parser.add_argument("sets", nargs="*", default=list(FTS5), help=f"default: {' '.join(FTS5)}")
    options = parser.parse_args()
    rows, all_good = [], True
    for name in options.sets:
        began = time.perf_counter()
        cells, good = row(name, measure(options.bench / name, options.work, options.encoder))
        print(*cells, f"{time.perf_counter() - began:.0f} s", sep="  ", flush=True)
        rows.append(cells)
        all_good &= good
    header = [
        "set", "FTS5", "lexical", "semantic", "hybrid", "hybrid − lexical, paired (wins–losses)",
        "hybrid recall@10", "hybrid MRR", "lexical ≥ FTS5 and hybrid ≥ lexical",
    ]  # fmt: skip
    lines = ["## Quality: nDCG@10 on public labelled sets", "", f"`python benchmarks/quality.py`, {machine()}.", ""]
    if set(options.sets) == set(FTS5):
        write_section("quality", [*lines, *table(header, rows)])
    return 0 if all_good else 1


if __name__ == "__main__":
    sys.exit(main())
