"""`dowse` in processes of its own, on one root with one data directory."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import apsw

from dowse.paths import DataPaths


class Dowse:
    def __init__(self, root: Path, data: Path, **variables: str) -> None:
        self.root = root
        self.environment = os.environ | {"DOWSE_DATA_DIR": str(data), "DOWSE_ENCODER": "hashing", **variables}
        self.index = DataPaths(data).index_path(root.resolve())

    def start(self, *words: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "dowse", *words]
        return subprocess.Popen(
            command, cwd=self.root, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )

    def run(self, *words: str) -> bytes:
        process = self.start(*words)
        out, err = process.communicate(timeout=240)
        assert process.returncode == 0, err
        return out

    def records(self, kind: str) -> int:
        """How many of a kind are in the index now, asked without Dowse."""
        try:
            with apsw.Connection(str(self.index), flags=apsw.SQLITE_OPEN_READONLY) as connection:
                rows = connection.execute("SELECT count(*) FROM records WHERE kind = ?", (kind,)).fetchall()
                return int(rows[0][0])
        except apsw.Error:
            return 0
