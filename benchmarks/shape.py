"""The shape of the source: files, functions, imports, the two central classes, the two flows, and sentences.

Each figure is read from a checkout, so that two of them can be compared in one table.
"""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import median

from processes import serving
from report import Section, table

PACKAGE = "dowse"
_CENTRES = {"Engine": "dowse.engine", "Store": "dowse.store.sqlite"}
_CLASSES = {"Engine": ("Engine",), "Store": ("SqliteStore", "Store")}
_CODE_BLOCK = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
_NOT_PROSE = re.compile(r"^\s*(?:\||#|<|    |[-*] `)")
_MARKUP = re.compile(r"`[^`]*`|\[([^\]]*)\]\([^)]*\)")
_SENTENCE_END = re.compile(r"(?<=[.!?:])\s+")
_DEADLINE_S = 120

# Records the functions that run, not the bodies of modules and classes. A file TARGET.clear or TARGET.write asks for
# that, and goes away when it is done; a signal would end the server.
_TRACER = """
import json, os, sys, threading, time
package, target, arguments = sys.argv[1], sys.argv[2], sys.argv[3:]
seen = set()

def record(frame, event, argument):
    if event == "call" and package in frame.f_code.co_filename and frame.f_code.co_flags & 1:
        seen.add((frame.f_code.co_filename, frame.f_code.co_qualname))

def write():
    with open(target, "w") as file:
        json.dump(sorted(seen), file)

def listen():
    while True:
        time.sleep(0.01)
        for name, act in (("clear", seen.clear), ("write", write)):
            if os.path.exists(f"{target}.{name}"):
                act()
                os.unlink(f"{target}.{name}")

threading.Thread(target=listen, daemon=True).start()
threading.setprofile(record)
sys.setprofile(record)
from dowse.cli import main
sys.argv = ["dowse", *arguments]
try:
    main()
finally:
    sys.setprofile(None)
    if "mcp" not in arguments:
        write()
"""


@dataclass(frozen=True)
class Module:
    """A file of the source."""

    name: str
    path: Path

    @cached_property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @cached_property
    def lines(self) -> int:
        return self.text.count("\n")

    @property
    def header_lines(self) -> int:
        """The lines before the first statement that is neither docstring nor import."""
        for node in self.tree.body:
            is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            if not is_text and not isinstance(node, ast.Import | ast.ImportFrom):
                return node.lineno - 1
        return self.lines

    def functions(self) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
        return (it for it in ast.walk(self.tree) if isinstance(it, ast.FunctionDef | ast.AsyncFunctionDef))

    def classes(self) -> Iterator[ast.ClassDef]:
        return (it for it in ast.walk(self.tree) if isinstance(it, ast.ClassDef))

    def docstrings(self) -> Iterator[str]:
        nodes = [self.tree, *self.functions(), *self.classes()]
        return filter(None, map(ast.get_docstring, nodes))

    def imports(self) -> Iterator[str]:
        """The modules that are imported when this one is; those inside of functions and for types alone are not."""
        for node in self.tree.body:
            if isinstance(node, ast.Import):
                yield from (it.name for it in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                yield node.module
                yield from (f"{node.module}.{it.name}" for it in node.names)


@dataclass(frozen=True)
class Checkout:
    root: Path

    @cached_property
    def modules(self) -> list[Module]:
        source = self.root / "src"
        paths = sorted((source / PACKAGE).rglob("*.py"))
        named = ((".".join(it.relative_to(source).with_suffix("").parts).removesuffix(".__init__"), it) for it in paths)
        found = [Module(name, path) for name, path in named]
        return [it for it in found if it.text.strip()]

    @cached_property
    def by_name(self) -> Mapping[str, Module]:
        return {it.name: it for it in self.modules}

    def docs(self) -> Iterator[str]:
        for path in [self.root / "README.md", *sorted((self.root / "docs").rglob("*.md"))]:
            yield path.read_text(encoding="utf-8")


def measure(root: Path, before: Path | None = None) -> Section:
    columns = {"before": figures(Checkout(before))} if before else {}
    columns["now"] = figures(Checkout(root))
    names = list(columns["now"])
    rows = [[name, *(column.get(name, "–") for column in columns.values())] for name in names]
    return Section("shape", "Source metrics", table(["", *columns], rows))


def figures(checkout: Checkout) -> dict[str, str]:
    modules = checkout.modules
    lengths = [it.lines for it in modules]
    functions = [(it.end_lineno or it.lineno) - it.lineno + 1 for module in modules for it in module.functions()]
    classes = Counter(it.name for module in modules for it in module.classes())
    indexed, searched = flows(checkout)
    headers = sum(it.header_lines for it in modules)
    found = {
        "source files": f"{len(modules):,}",
        "source lines": f"{sum(lengths):,}",
        "lines per file, median / p90 / max": _spread(lengths),
        "lines per function, median / p90 / max": _spread(functions),
        "share of header lines": f"{headers / sum(lengths):.1%}",
        "longest import chain": f"{longest_chain(checkout)}",
        "class names used twice": f"{sum(count > 1 for count in classes.values())}",
        "modules and functions used to index one Markdown file": _passed(indexed),
        "modules and functions used by one MCP search": _passed(searched),
        "words per sentence in docs, median / p90": _sentences(checkout.docs()),
        "words per sentence in docstrings, median / p90": _sentences(
            text for module in modules for text in module.docstrings()
        ),
    }
    for title, (bases, names) in centres(checkout).items():
        found[f"{title}: base classes and public names"] = f"{bases}, {names}"
    return found


def _spread(values: Sequence[int]) -> str:
    return f"{median(values):.0f} / {_at(values, 0.9)} / {max(values)}"


def _at(values: Sequence[int], share: float) -> int:
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def _passed(functions: Sequence[Sequence[str]]) -> str:
    return f"{len({path for path, _ in functions})}, {len(functions):,}"


# --- imports ----------------------------------------------------------------------------------


def longest_chain(checkout: Checkout) -> int:
    """How many modules the longest chain of imports has, each of which imports the next when it is imported itself."""
    names = set(checkout.by_name)
    edges = {name: {it for it in module.imports() if it in names} - {name} for name, module in checkout.by_name.items()}
    depths: dict[str, int] = {}

    def depth(name: str, above: frozenset[str]) -> int:
        if name not in depths:
            below = (depth(it, above | {name}) for it in edges[name] if it not in above)
            depths[name] = 1 + max(below, default=0)
        return depths[name]

    sys.setrecursionlimit(10_000)
    return max(depth(name, frozenset()) for name in sorted(names))


# --- the two central classes ------------------------------------------------------------------


def centres(checkout: Checkout) -> dict[str, tuple[int, int]]:
    """Of the engine and of the store: how many classes of this package they inherit from, how many public names."""
    code = (
        "import importlib, json\n"
        f"found = {{}}\n"
        f"for title, module in {_CENTRES!r}.items():\n"
        f"    loaded = importlib.import_module(module)\n"
        f"    kind = next(getattr(loaded, it) for it in {_CLASSES!r}[title] if hasattr(loaded, it))\n"
        f"    bases = [it for it in kind.__mro__[1:] if it.__module__.startswith('{PACKAGE}')]\n"
        "    found[title] = len(bases), len([it for it in dir(kind) if not it.startswith('_')])\n"
        "print(json.dumps(found))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=_environment(checkout), capture_output=True, text=True, check=True
    )
    return {title: (bases, names) for title, (bases, names) in json.loads(done.stdout).items()}


def _environment(checkout: Checkout) -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(checkout.root / "src"), "DOWSE_BACKGROUND": "false", "DOWSE_WATCH": "false"}


# --- the two flows ----------------------------------------------------------------------------


def flows(checkout: Checkout) -> tuple[list[list[str]], list[list[str]]]:
    """The functions that run while one Markdown file is indexed by a command, and while an agent searches once."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder).resolve()
        (place / "root").mkdir()
        (place / "root/guide.md").write_text("# Guide\n\nHow retries are handled: once more.\n")
        data = ("--data-dir", str(place / "data"), "--encoder", "hashing")
        command = [sys.executable, "-c", _TRACER, str(checkout.root / "src" / PACKAGE)]
        indexed, searched = place / "indexed.json", place / "searched.json"
        root, environment = place / "root", _environment(checkout)
        subprocess.run(
            [*command, str(indexed), "index", *data],
            cwd=root, env=environment, capture_output=True, check=True, timeout=_DEADLINE_S,
        )  # fmt: skip
        with serving([*command, str(searched), "mcp", "--no-share", *data], environment, root) as server:
            _tell(searched, "clear")
            server.call("search", {"query": "how are retries handled"})
            _tell(searched, "write")
        return json.loads(indexed.read_text()), json.loads(searched.read_text())


def _tell(target: Path, what: str) -> None:
    asked = target.with_name(f"{target.name}.{what}")
    asked.touch()
    until = time.monotonic() + _DEADLINE_S
    while asked.exists():
        if time.monotonic() > until:
            raise SystemExit("the traced server does not answer")
        time.sleep(0.01)


# --- sentences --------------------------------------------------------------------------------


def _sentences(texts: Iterator[str]) -> str:
    counts = [count for text in texts for count in sentence_lengths(text)]
    return f"{median(counts):.0f} / {_at(counts, 0.9)}"


def sentence_lengths(text: str) -> list[int]:
    """The words of each sentence of prose, without code, tables and headings; a code span is one word."""
    prose = "\n".join("" if _NOT_PROSE.match(line) else line for line in _CODE_BLOCK.sub("", text).splitlines())
    paragraphs = re.split(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.)\s)", prose)
    plain = (_MARKUP.sub(lambda it: it[1] or "code", it) for it in paragraphs)
    sentences = (sentence for it in plain for sentence in _SENTENCE_END.split(" ".join(it.split())))
    counts = (len(re.findall(r"[^\W_]+(?:['’-][^\W_]+)*", it)) for it in sentences)
    return [it for it in counts if it > 1]
