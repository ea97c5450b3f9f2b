"""No requirement of the contract may lose its test unnoticed."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

CONTRACT_IDS = frozenset(
    [
        "REQ-001",
        "REQ-002",
        "REQ-003",
        "REQ-004",
        "REQ-005",
        "REQ-006",
        "REQ-007",
        "RRF-001",
        "RRF-002",
        "RRF-003",
        "RRF-004",
        "SEM-001",
        "SEM-002",
        "SEM-003",
        "LEX-001",
        "LEX-002",
        "CON-001",
        "CON-002",
        "CON-003",
        "CON-004",
        "CON-005",
        "CON-006",
        "GUD-001",
        "GUD-002",
        "AC-001",
        "AC-002",
        "AC-003",
        "AC-004",
        "AC-005",
        "AC-006",
        "AC-007",
        "AC-008",
        "AC-009",
        "AC-010",
    ]
)
_NAMED = re.compile(r"test_(req|rrf|sem|lex|con|gud|ac)_(\d{3})_")


def _tests() -> list[ast.FunctionDef]:
    files = Path(__file__).parent.glob("test_rifflux_*.py")
    trees = [ast.parse(file.read_text(encoding="utf-8")) for file in files]
    return [node for tree in trees for node in tree.body if isinstance(node, ast.FunctionDef)]


def test_every_id_has_exactly_one_test_that_names_it() -> None:
    named = [(match, test) for test in _tests() if (match := _NAMED.match(test.name))]
    ids = [f"{match[1].upper()}-{match[2]}" for match, _ in named]
    documented = [(ast.get_docstring(test) or "").split(" ")[0].rstrip(":") for _, test in named]
    assert Counter(ids) == Counter(CONTRACT_IDS)
    assert documented == ids
