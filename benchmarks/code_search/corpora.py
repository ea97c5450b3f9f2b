"""The code bases that are searched: releases of public projects, only the files of one language of each."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

from code_search.debian import source_package
from labelled.fetch import RELEASES, unpacked


@dataclass(frozen=True, slots=True)
class Plan:
    """What a corpus is made of: directories of projects, by the name of the project. `queried`: not only built."""

    name: str
    suffix: str
    parts: tuple[tuple[str, str], ...]
    origin: str
    queried: bool = True


@dataclass(frozen=True, slots=True)
class Corpus:
    plan: Plan
    root: Path
    files: int
    bytes: int

    @property
    def name(self) -> str:
        return self.plan.name

    @property
    def mb(self) -> float:
        return self.bytes / 1e6


_REFERENCE = tuple(f"referencesource/{name}" for name in ("mscorlib", "System", "System.Core", "System.Data"))
_LIBRARIES = ("corlib", "System", "System.Core", "System.Data", "System.Web", *_REFERENCE)

PLANS = {
    it.name: it
    for it in (
        Plan(
            "csharp",
            ".cs",
            tuple(("mono", f"mcs/class/{name}") for name in _LIBRARIES),
            f"of Mono's class libraries {', '.join(_LIBRARIES)}",
        ),
        Plan("python", ".py", (("django-5.2", ""), ("sympy-1.14", "")), "Django 5.2 and SymPy 1.14, with their tests"),
        Plan("large", ".cs", (("mono", ""),), "all of Mono, with its tests", queried=False),
    )
}


def prepared(plan: Plan, work: Path) -> Corpus:
    """The corpus with only its own files, copied once, so that they can be changed and nothing else is searched."""
    root, note = work / "code" / plan.name, work / "code" / f"{plan.name}.json"
    if not note.is_file():
        shutil.rmtree(root, ignore_errors=True)
        sizes = [_copied(project, inner, plan.suffix, root, work) for project, inner in plan.parts]
        note.write_text(json.dumps([sum(it) for it in zip(*sizes, strict=True)]))
    files, size = json.loads(note.read_text())
    return Corpus(plan, root, files, size)


def _copied(project: str, inner: str, suffix: str, root: Path, work: Path) -> tuple[int, int]:
    """How many files went into the corpus, and their bytes."""
    release = unpacked if project in RELEASES else source_package
    source = release(project, work / "corpora")
    files = size = 0
    for path in sorted((source / inner).rglob(f"*{suffix}")):
        if path.is_file() and not path.is_symlink():
            target = root / project / path.relative_to(source)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
            files, size = files + 1, size + target.stat().st_size
    if not files:
        raise SystemExit(f"there is no {suffix} file in {inner or project}; see {source}")
    return files, size
