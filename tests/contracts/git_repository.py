"""A repository with a past: two authors, a file that was renamed, a branch, work that is not committed."""

from __future__ import annotations

from pathlib import Path

from imported import START, Made, repository

DAY_S = 86_400
BEN = "Ben Ölander <ben@example.org>"


def lines(word: str, count: int = 12) -> str:
    return "".join(f"{word} = {number}  # {word} number {number}\n" for number in range(count))


PAST = [
    Made("Add the parser\n\nIt reads orders.", {"src/parse.py": lines("parse"), "README.md": "# Harbour\n"}, at=START),
    Made("Fix the parser", {"src/parse.py": lines("parse") + "fixed = True\n"}, author=BEN, at=START + DAY_S),
    Made("Move the parser", renames=[("src/parse.py", "src/reading/parser.py")], at=START + 2 * DAY_S),
    Made("Describe berths", {"docs/berths.md": "# Berths\n\nFerries moor at berth two.\n"}, at=START + 3 * DAY_S),
    Made(
        "fix: tides\n\nNeaps were springs.",
        {"docs/tides.md": "# Tides\n", "src/reading/parser.py": lines("parse") + "fixed = True\ntide = 'neap'\n"},
        author=BEN,
        at=START + 4 * DAY_S,
    ),
]
TITLES = [it.message.partition("\n")[0] for it in PAST]


def lay_out(folder: Path) -> list[str]:
    return repository(folder, PAST)
