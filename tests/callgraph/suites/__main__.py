"""Prints how right the call graph is: `python tests/callgraph/suites`, with `--mistakes` also every wrong edge.

Further words choose cases by a part of their title, `python/flow` or `walrus`.
"""

from __future__ import annotations

import sys

from call_cases import all_cases
from call_report import ask, mistakes, table


def main(arguments: list[str]) -> int:
    words = [it for it in arguments if not it.startswith("--")]
    results = [ask(case) for case in all_cases() if not words or any(word in case.title for word in words)]
    lines = [*(mistakes(results) if "--mistakes" in arguments else ()), *table(results)]
    sys.stdout.write("\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
