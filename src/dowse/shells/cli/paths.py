"""Paths as somebody sees them from where they stand, as ripgrep has it: what is printed can be opened from there, what
is typed is looked for there first. Records have paths from their root; `--json` prints those, and says the root.
"""

from __future__ import annotations

import os.path
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any, TypeVar, cast

from dowse.engine import Engine
from dowse.errors import BadInput
from dowse.model import FILES, Collection, Hit, Scope
from dowse.shells.workspace import Workspace
from dowse.text.globs import literal

_TARGET = re.compile(r"(?P<path>.+?)(?P<rest>(?::\d{1,9}(?:-\d{1,9})?|#.*)?)", re.DOTALL)
_WILDCARD = re.compile(r"[*?\[{\\]")
_DOTTED = ("./", "../")
_ATOMS = (str, int, float, type(None))
# Texts that are paths of the root, and do not say so by a collection beside them.
_PATHS_OF_ROOT = {"Impact": ("beside", "unknown"), "Seen": ("examples",)}

T = TypeVar("T")


class Paths:
    """Between the roots of an index and the directory somebody stands in."""

    def __init__(self, collections: Iterable[Collection], root: Path, cwd: Path) -> None:
        self._roots = {it.name: it.root for it in collections if it.source == FILES}
        self._cwd = str(cwd)
        around = [it for it in self._roots.values() if _is_below(str(root), it)]
        self.root = max(around, key=len, default=str(root))
        """What paths in JSON count from, unless their collection is another one."""

    @classmethod
    def of(cls, engine: Engine, workspace: Workspace) -> Paths:
        root = workspace.root if workspace.root.is_dir() else workspace.root.parent
        return cls(engine.collections(), root, Path.cwd())

    # --- what is printed ---

    def show(self, path: str, collection: str = "") -> str:
        """A path from its root as one from here: below or above here a relative one, elsewhere an absolute one."""
        root = self._roots.get(collection, "" if collection else self.root)
        if not root or root == self._cwd:
            return path  # a commit or a note, which has a name and no path; or we stand at the root
        full = os.path.join(root, path)  # noqa: PTH118
        return os.path.relpath(full, self._cwd) if _is_below(self._cwd, root) or _is_below(full, self._cwd) else full

    def shown(self, answer: T) -> T:
        """The answer with the paths of all that is in it as they are from here; for people, not for programs."""
        return cast(T, self._walk(answer))

    def _walk(self, it: Any) -> Any:  # noqa: ANN401
        if isinstance(it, _ATOMS):
            return it
        if isinstance(it, tuple) and (names := getattr(it, "_fields", ())):
            return type(it)(**{name: getattr(it, name) for name in names} | self._changes(it, names))
        if isinstance(it, tuple | list):
            return type(it)(map(self._walk, it))
        if is_dataclass(it) and not isinstance(it, type):
            changes = self._changes(it, [field.name for field in fields(it)])
            return replace(it, **changes) if changes else it
        return it

    def _changes(self, it: Any, names: Sequence[str]) -> dict[str, Any]:  # noqa: ANN401
        """The fields that read differently from here."""
        values = {name: getattr(it, name) for name in names}
        seen = {name: self._walk(value) for name, value in values.items()}
        if "path" in values and "collection" in values:
            seen["path"] = self.show(values["path"], values["collection"])
        if values.get("place") and isinstance(it, Hit):
            seen["place"] = self.show(values["place"])
        for name in _PATHS_OF_ROOT.get(type(it).__name__, ()):
            seen[name] = tuple(map(self.show, values[name]))
        record = values.get("record")
        if record is not None and values.get("name") == getattr(record, "path", None):
            seen["name"] = seen["record"].path  # what has no name of its own goes by its path
        return {name: value for name, value in seen.items() if value is not values[name]}

    # --- what is typed ---

    def target(self, text: str) -> str:
        """`x.md`, `x.md:3`, `x.md#Heading` as a path from its root, where that is a file here; else as it is."""
        place = _TARGET.fullmatch(text)
        for path, rest in ((text, ""), (place["path"], place["rest"]) if place else ("", "")):
            found = self._root_of(path)
            if found:
                inside = os.path.relpath(_joined(self._cwd, path), found)
                # Another root may have a file of the same path.
                return (_joined(found, inside) if len(self._roots) > 1 else inside) + rest
        return text

    def anchor(self, text: str) -> str:
        """The same as a note keeps it: a path from the root, which is true on other machines, too."""
        return self.target(text).removeprefix(f"{self.root}/")

    def _root_of(self, path: str) -> str:
        full = _joined(self._cwd, path)
        if not path or path.startswith("/") or not (path.startswith(_DOTTED) or os.path.isfile(full)):  # noqa: PTH113
            return ""
        return max((it for it in self._roots.values() if _is_below(full, it)), key=len, default="")

    def asked(self, query: T) -> T:
        """A question whose globs are from the root: those that begin with ./ or ../, or name something that is here,
        are taken from here."""
        scope: Scope = query.scope  # type: ignore[attr-defined]
        paths, excluded = tuple(map(self._glob, scope.paths)), tuple(map(self._glob, scope.excluded))
        if (paths, excluded) == (scope.paths, scope.excluded):
            return query
        return replace(query, scope=replace(scope, paths=paths, excluded=excluded))  # type: ignore[type-var]

    def _glob(self, glob: str) -> str:
        if self._cwd == self.root and not glob.startswith("../"):
            return glob
        if not glob.startswith(_DOTTED) and glob not in (".", ".."):
            if _WILDCARD.search(glob) or glob.startswith("/") or not os.path.exists(_joined(self._cwd, glob)):  # noqa: PTH110
                return glob
            glob = literal(glob)
        full, root = _joined(literal(self._cwd), glob), literal(self.root)
        if full != root and not full.startswith(f"{root}/"):
            raise BadInput(f"the glob {glob!r} leads out of {self.root}; name a place inside it")
        inside = full[len(root) + 1 :] or "**"
        return f"./{inside}{'/' if glob.endswith('/') else ''}"


def with_root(data: Mapping[str, object], paths: Paths) -> dict[str, object]:
    """An answer for programs, with what its paths count from."""
    return {"root": paths.root, **data}


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _joined(folder: str, path: str) -> str:
    return os.path.normpath(os.path.join(folder, path))  # noqa: PTH118
