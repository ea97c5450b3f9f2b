"""Builds the index of a corpus in a process of its own, as a user would, and keeps what it cost beside the index."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from code_search.corpora import Corpus
from code_search.footprint import Footprint, run
from dowse.config import Settings
from dowse.engine import Engine
from measuring import drop_stale, say

ENCODER = "none"  # words only: what meaning costs is measured elsewhere


@dataclass(frozen=True, slots=True)
class Built:
    index: Path
    footprint: Footprint
    sizes: Mapping[str, int]
    """Bytes by part: what is added to the name of the index file for it, nothing for the catalog."""
    counts: Mapping[str, int]
    skipped: Mapping[str, int]
    """Files that are not in the index, by reason."""


def settings_for(work: Path) -> Settings:
    """Every file of the corpora is wanted, also in directories that usually hold what tools made."""
    return Settings(encoder=ENCODER, data_dir=work / "data", default_excludes=False, gitignore=False)


def environment_for(work: Path) -> dict[str, str]:
    """For processes that cost what those of an installed package do: compiled once, kept here."""
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    settings = {"ENCODER": ENCODER, "DATA_DIR": str(work / "data"), "DEFAULT_EXCLUDES": "false", "GITIGNORE": "false"}
    ours = {f"DOWSE_{name}": value for name, value in settings.items()}
    return {**inherited, "PYTHONPYCACHEPREFIX": str(work / "compiled"), **ours}


def built(corpus: Corpus, work: Path, *, fresh: bool) -> Built:
    """The index, as it was built before if the code that built it is still the same."""
    index = work / "code" / "indexes" / f"{corpus.name}.db"
    note = index.with_name(f"{index.name}-built.json")
    drop_stale(index, always=fresh)
    if not note.is_file():
        note.write_text(json.dumps(asdict(_build(corpus, index, work)), default=str))
    kept = json.loads(note.read_text())
    return Built(index, Footprint(**kept["footprint"]), kept["sizes"], kept["counts"], kept["skipped"])


def _build(corpus: Corpus, index: Path, work: Path) -> Built:
    say(f"{corpus.name}: building, {corpus.files:,} files, {corpus.mb:.0f} MB")
    for path in index.parent.glob(f"{index.name}*"):
        path.unlink()
    command = [sys.executable, "-m", "dowse", "index", str(corpus.root), "--index", str(index)]
    footprint = run(command, environment_for(work))
    with Engine(settings_for(work), index, create=False) as engine:
        engine.indexing.checkpoint()
        status = engine.status()
    reasons = [it.reason for it in status.skipped]
    skipped = {reason: reasons.count(reason) for reason in sorted(set(reasons))}
    return Built(index, footprint, sizes_of(index), asdict(status.counts), skipped)


def sizes_of(index: Path) -> dict[str, int]:
    parts = {path.name.removeprefix(index.name): path.stat().st_size for path in index.parent.glob(f"{index.name}*")}
    return {part: size for part, size in sorted(parts.items()) if size and part != "-shm"}  # which is memory
