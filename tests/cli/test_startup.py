"""Cold start counts: a lexical search imports nothing heavy, and neither does --help."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support import write

HEAVY = {"numpy", "onnxruntime", "tokenizers", "pydantic", "mcp", "mcp_types", "rich", "pyromark", "yaml", "starlette"}
HEAVY |= {"tree_sitter", "re2", "liteparse", "pypdfium2", "python_calamine", "selectolax"}
ONLY_FOR_OTHERS = ("dowse.ingest.extract.", "dowse.ingest.workers", "dowse.callgraph")
SUFFIX_TABLE = "dowse.ingest.extract.documents"


@pytest.fixture
def environment(root: Path, tmp_path: Path) -> dict[str, str]:
    write(root, {"a.md": "# A\n\nalpha"})
    variables = os.environ | {"DOWSE_DATA_DIR": str(tmp_path / "data"), "DOWSE_ENCODER": "hashing"}
    subprocess.run([sys.executable, "-m", "dowse", "index"], cwd=root, env=variables, check=True)
    return variables


@pytest.mark.parametrize(
    "words",
    [("search", "--mode", "lexical", "alpha"), ("read", "a.md"), ("status",), ("export",), ("--help",), ("index",)],
)
def test_nothing_heavy_is_imported(root: Path, environment: dict[str, str], words: tuple[str, ...]) -> None:
    command = [sys.executable, "-X", "importtime", "-m", "dowse", *words]
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=True)
    modules = {line.rsplit("|", 1)[1].strip() for line in done.stderr.splitlines() if "|" in line}
    imported = {name.partition(".")[0] for name in modules}
    assert "dowse" in imported
    assert imported & HEAVY == ({"re2"} if words[0] == "read" else set())  # secrets are looked for in what is read
    if words != ("index",):
        assert {name for name in modules if name.startswith(ONLY_FOR_OTHERS)} <= {SUFFIX_TABLE}
