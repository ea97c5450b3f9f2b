"""Where a command works: its settings, its root and its index, found once from flags, variables and the directory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dowse.config import FILE_NAME, Settings, load_settings
from dowse.places import Places, checked_root

if TYPE_CHECKING:
    from dowse.engine import Engine

PROFILES = ("core", "rifflux", "ragdocs", "codesearch")


@dataclass(frozen=True, slots=True)
class Workspace:
    settings: Settings
    root: Path
    index: Path

    def open(self, *, create: bool) -> Engine:
        from dowse.engine import Engine  # the pipe to a shared server only looks for the place and never opens it

        return Engine(self.settings, self.index, create=create)


def find_workspace(
    *,
    cwd: Path,
    environment: Mapping[str, str],
    flags: Mapping[str, object],
    root: Path | None = None,
    defaults: Settings | None = None,
) -> Workspace:
    """The root is the one named, else the nearest directory upwards that is indexed or has a `dowse.toml`."""
    early = load_settings(flags=flags, environment=environment, folder=None, defaults=defaults)
    if root is None:
        root = _nearest(cwd.resolve(), Places.of(early))
    root = checked_root(root if root.is_absolute() else cwd / root, any_root=early.any_root)
    folder = root if root.is_dir() else root.parent
    settings = load_settings(flags=flags, environment=environment, folder=folder, defaults=defaults)
    index = settings.index or Places.of(settings).index_of(folder)
    return Workspace(settings, root, (cwd / index).resolve())


def _nearest(cwd: Path, places: Places) -> Path:
    for folder in (cwd, *cwd.parents):
        if places.index_of(folder).exists() or (folder / FILE_NAME).is_file():
            return folder
    return cwd
