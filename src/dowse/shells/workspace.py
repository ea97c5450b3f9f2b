"""Where a command works: its settings, its root and its index, found once from flags, variables and the directory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dowse.config import FILE_NAME, Settings, load_settings
from dowse.places import Places, checked_root
from dowse.shells import PROFILES as PROFILES

if TYPE_CHECKING:
    from dowse.engine import Engine


@dataclass(frozen=True, slots=True)
class Workspace:
    settings: Settings
    root: Path
    index: Path
    notice: str = ""  # what a person should know of how it was found

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
    index = (cwd / (settings.index or Places.of(settings).index_of(folder))).resolve()
    return Workspace(settings, root, index, _followed(settings, folder, index))


def _nearest(cwd: Path, places: Places) -> Path:
    around = (cwd, *cwd.parents)
    for folder in around:
        if places.index_of(folder).exists() or (folder / FILE_NAME).is_file():
            return folder
    from dowse.shells.relocation import left_behind  # only where nothing is indexed yet

    homeless = left_behind(places)
    return next((folder for folder in around if any(it.fit(folder) for it in homeless)), cwd)


def _followed(settings: Settings, folder: Path, index: Path) -> str:
    """An index that was of this directory while it had another path is taken over. In its standard place an index
    belongs to its directory already, so that looking costs nothing."""
    if index.exists() and settings.index is None:
        return ""
    from dowse.shells.relocation import take_over

    return take_over(settings, folder, index)
