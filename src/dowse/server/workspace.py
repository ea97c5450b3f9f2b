"""The workspace of a command: root, index and settings, also after a root has moved."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from dowse.config import SETTINGS_FILE_NAME, Settings, belongs_to_other_user, load_settings
from dowse.errors import DowseError, IndexDamaged
from dowse.paths import DataPaths, check_root
from dowse.server import PROFILES as PROFILES

if TYPE_CHECKING:
    from dowse.engine import Engine


@dataclass(frozen=True, slots=True)
class Workspace:
    settings: Settings
    root: Path
    index: Path
    notice: str = ""  # for the user: how the workspace was found
    engines: list[Engine] = field(default_factory=list, compare=False, repr=False)  # candidates for repair
    flags: Mapping[str, object] = field(default_factory=dict, compare=False)  # set on the command line

    def open(self, *, create: bool, heals: bool = True) -> Engine:
        """Open the index; rebuild it first if all of it is damaged, unless the caller wants to see the damage
        (`heals=False`)."""
        if not heals:
            return self._open(create)
        try:
            engine = self._open(create)
        except IndexDamaged:
            self.heal()
            engine = self._open(create)
        self.engines.append(engine)
        return engine

    def _open(self, create: bool) -> Engine:
        """Open the index. One in the standard place of a root covers only that root; data of other roots, added by an
        earlier version, is removed first."""
        from dowse.engine import Engine  # imported late: the proxy to a shared server never opens an index

        engine = Engine(self.settings, self.index, create=create)
        root = DataPaths.of(self.settings).root_of_index(self.index, self.root)
        if root is not None:
            try:
                removed = engine.histories.remove_other_roots(root)
            except BaseException:
                engine.close()
                raise
            if removed:
                logging.getLogger("dowse.roots").warning("%s", removed)
        return engine

    def heal(self, then: str = "") -> None:
        """Repair the index as servers do, and report in one line what was done and what follows (`then`)."""
        import click

        from dowse.cli.progress import progress_bar
        from dowse.live.heal import repair_or_rebuild

        with progress_bar() as progress:
            done = repair_or_rebuild(self.settings, self.index, self.root, progress)
        if done:
            click.echo("; ".join(filter(None, (*done, then))), err=True)

    def heal_found_damage(self) -> None:
        """Repair the index after an answer that had to do without a part of it."""
        from dowse.store.types import SIDECARS_PART

        if any(engine.health.damaged_parts().keys() - {SIDECARS_PART} for engine in self.engines):
            import click

            self.engines.clear()
            try:
                self.heal("the next answer is complete")
            except DowseError as error:
                click.echo(f"the index is damaged and could not be repaired: {error}", err=True)


def find_workspace(
    *,
    cwd: Path,
    environment: Mapping[str, str],
    flags: Mapping[str, object],
    root: Path | None = None,
    defaults: Settings | None = None,
) -> Workspace:
    """Find the workspace. The root is the one named, else the nearest parent that is indexed or has a `dowse.toml`;
    files of other users are ignored."""
    base_settings = load_settings(flags=flags, environment=environment, folder=None, defaults=defaults)
    ignored_files: list[Path] = []
    if root is None:
        root = _find_nearest_root(cwd.resolve(), DataPaths.of(base_settings), environment, ignored_files)
    root = check_root(root if root.is_absolute() else cwd / root, allow_any_root=base_settings.allow_any_root)
    folder = root if root.is_dir() else root.parent
    settings = load_settings(flags=flags, environment=environment, folder=folder, defaults=defaults)
    index = (cwd / (settings.index or DataPaths.of(settings).index_path(folder))).resolve()
    ignored_files += [
        it
        for it in (folder / SETTINGS_FILE_NAME,)
        if it not in ignored_files and _is_settings_file_foreign(it, environment)
    ]
    notices = (
        f"{it} belongs to another user and was ignored; to use it, make it yours (chown)" for it in ignored_files
    )
    return Workspace(
        settings, root, index, "\n".join(filter(None, (*notices, _adopt_moved_index(settings, folder, index))))
    )


def _is_settings_file_foreign(path: Path, environment: Mapping[str, str]) -> bool:
    return path.is_file() and belongs_to_other_user(path, environment)


def _find_nearest_root(cwd: Path, places: DataPaths, environment: Mapping[str, str], ignored_files: list[Path]) -> Path:
    """Find the nearest root; `ignored_files` collects settings files that belong to another user."""
    folders = (cwd, *cwd.parents)
    for folder in folders:
        file = folder / SETTINGS_FILE_NAME
        if _is_settings_file_foreign(file, environment):
            ignored_files.append(file)
        elif file.is_file():
            return folder
        if places.index_path(folder).exists():
            return folder
    from dowse.server.relocation import find_left_indexes  # only where nothing is indexed yet

    left_indexes = find_left_indexes(places)
    return next((folder for folder in folders if any(it.match_folder(folder) for it in left_indexes)), cwd)


def _adopt_moved_index(settings: Settings, folder: Path, index: Path) -> str:
    """Take over an index that this directory had under another path, and return a message about it.

    An index in its standard place already belongs to its directory, so this check costs nothing.
    """
    if index.exists() and settings.index is None:
        return ""
    from dowse.server.relocation import adopt_former_index

    return adopt_former_index(settings, folder, index)
