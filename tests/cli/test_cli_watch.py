"""`dowse watch` as a process: it does not go on leading when nobody reads what it tells."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from dowse.live.leader import leader_of
from support import write


def test_it_ends_when_nobody_reads_it_any_more(tmp_path: Path) -> None:
    root, data = tmp_path / "root", tmp_path / "data"
    write(root, {"a.md": "# Alpha\n\nanchor\n"})
    index = data / "index.db"
    environment = os.environ | {"DOWSE_DATA_DIR": str(data), "DOWSE_ENCODER": "none", "DOWSE_DEBOUNCE_MS": "20"}
    watching = subprocess.Popen(
        [sys.executable, "-m", "dowse", "watch", "--json", "--index", str(index)],
        cwd=root,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        assert watching.stdout is not None and watching.stdout.readline()
        watching.stdout.close()
        deadline = time.monotonic() + 120
        while watching.poll() is None:
            assert time.monotonic() < deadline, "it goes on"
            write(root, {"b.md": f"# Beta\n\n{time.monotonic()}\n"})
            time.sleep(0.1)
        assert watching.returncode == 0
        assert watching.stderr is not None and b"Traceback" not in watching.stderr.read()
        assert leader_of(index) is None
    finally:
        watching.kill()
        watching.wait()
        if watching.stderr is not None:
            watching.stderr.close()
