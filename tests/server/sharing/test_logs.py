"""The log stays small, and what goes past it to stderr is in it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SCRIPT = """
import logging, os, sys
from pathlib import Path
from dowse.server.sharing.daemon import log_to_file
log_to_file(Path(sys.argv[1]), "no such level")
for number in range(30_000):
    logging.info("line %d %s", number, "x" * 60)
os.write(2, b"a crash\\n")
"""


def test_it_is_turned_over_and_stderr_follows(tmp_path: Path) -> None:
    path = tmp_path / "it.log"
    with open(path, "ab") as file:
        subprocess.run([sys.executable, "-c", SCRIPT, path], stderr=file, check=True)
    kept = sorted(tmp_path.iterdir())
    assert [it.name for it in kept] == ["it.log", "it.log.1"]
    assert all(it.stat().st_size <= 1_000_100 for it in kept)
    assert path.read_text().endswith("a crash\n")
