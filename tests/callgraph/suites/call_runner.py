"""Runs `main.py` of a folder and prints the calls between its definitions, as the suite writes them.

Run as a program of its own: `python call_runner.py FOLDER`. A lambda and a comprehension count as the function they
stand in. A class without a constructor is called without a trace, and so is left out.
"""

from __future__ import annotations

import inspect
import json
import runpy
import sys
from pathlib import Path
from types import CodeType, FrameType

_INNER = ("<lambda>", "<listcomp>", "<dictcomp>", "<setcomp>", "<genexpr>")


def _name(code: CodeType, folder: Path) -> str:
    """`path:Class.method`; nothing of what is not in the folder."""
    path = Path(code.co_filename)
    if not path.is_relative_to(folder):
        return ""
    parts = [it for it in code.co_qualname.split(".") if it != "<locals>"]
    while parts and parts[-1] in _INNER:
        parts.pop()
    return f"{path.relative_to(folder).as_posix()}:{'.'.join(parts) or '<module>'}"


def _is_body(code: CodeType) -> bool:
    """Of a class or a module: it is run, not called."""
    return not code.co_flags & inspect.CO_OPTIMIZED


def main(folder: Path) -> None:
    edges: set[tuple[str, str]] = set()

    def look(frame: FrameType, event: str, _argument: object) -> None:
        code = frame.f_code
        if event != "call" or frame.f_back is None or _is_body(code) or code.co_name in _INNER:
            return
        caller, callee = _name(frame.f_back.f_code, folder), _name(code, folder)
        if caller and callee:
            edges.add((caller, callee))

    sys.path.insert(0, str(folder))
    sys.setprofile(look)
    try:
        runpy.run_path(str(folder / "main.py"), run_name="__main__")
    finally:
        sys.setprofile(None)
    sys.stdout.write(f"{json.dumps(sorted(edges))}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
