"""Where a command works: its settings, its root and its index, found once from flags, variables and the directory."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from dowse.config import FILE_NAME, Settings, is_of_another_user, load_settings
from dowse.errors import DowseError, IndexDamaged
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
    engines: list[Engine] = field(default_factory=list, compare=False, repr=False)  # those that may be healed
    flags: Mapping[str, object] = field(default_factory=dict, compare=False)  # what the command line set

    def open(self, *, create: bool, heals: bool = True) -> Engine:
        """The index; one that is damaged as a whole is made anew first, unless somebody wants to see the damage."""
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
        """In the standard place of a root, an index answers for that root alone; what an earlier version brought in of
        others is removed first."""
        from dowse.engine import Engine  # the pipe to a shared server only looks for the place and never opens it

        engine = Engine(self.settings, self.index, create=create)
        root = Places.of(self.settings).root_of(self.index, self.root)
        if root is not None:
            try:
                removed = engine.remove_other_roots(root)
            except BaseException:
                engine.close()
                raise
            if removed:
                logging.getLogger("dowse.roots").warning("%s", removed)
        return engine

    def heal(self, then: str = "") -> None:
        """What servers do by themselves, and tell in one line what was done, and what to do then."""
        import click

        from dowse.live.healing import heal
        from dowse.shells.cli.progress import progress_bar

        with progress_bar() as progress:
            done = heal(self.settings, self.index, self.root, progress)
        if done:
            click.echo("; ".join(filter(None, (*done, then))), err=True)

    def heal_what_was_met(self) -> None:
        """After an answer that had to do without a part of the index."""
        from dowse.store.health import SIDECARS  # nothing is missed where these are damaged

        if any(engine.damaged().keys() - {SIDECARS} for engine in self.engines):
            import click

            self.engines.clear()
            try:
                self.heal("the next answer is whole")
            except DowseError as error:
                click.echo(f"the index is damaged and could not be mended: {error}", err=True)


def find_workspace(
    *,
    cwd: Path,
    environment: Mapping[str, str],
    flags: Mapping[str, object],
    root: Path | None = None,
    defaults: Settings | None = None,
) -> Workspace:
    """The root is the one named, else the nearest directory upwards that is indexed or has a `dowse.toml`; one that is
    another user's counts for nothing."""
    early = load_settings(flags=flags, environment=environment, folder=None, defaults=defaults)
    passed: list[Path] = []
    if root is None:
        root = _nearest(cwd.resolve(), Places.of(early), environment, passed)
    root = checked_root(root if root.is_absolute() else cwd / root, any_root=early.any_root)
    folder = root if root.is_dir() else root.parent
    settings = load_settings(flags=flags, environment=environment, folder=folder, defaults=defaults)
    index = (cwd / (settings.index or Places.of(settings).index_of(folder))).resolve()
    passed += [it for it in (folder / FILE_NAME,) if it not in passed and _is_foreign(it, environment)]
    ignored = (
        f"{it} belongs to another user and was ignored; to have it obeyed, make it yours (chown)" for it in passed
    )
    return Workspace(settings, root, index, "\n".join(filter(None, (*ignored, _followed(settings, folder, index)))))


def _is_foreign(path: Path, environment: Mapping[str, str]) -> bool:
    return path.is_file() and is_of_another_user(path, environment)


def _nearest(cwd: Path, places: Places, environment: Mapping[str, str], passed: list[Path]) -> Path:
    """`passed` takes the settings files that were met and belong to another user."""
    around = (cwd, *cwd.parents)
    for folder in around:
        file = folder / FILE_NAME
        if _is_foreign(file, environment):
            passed.append(file)
        elif file.is_file():
            return folder
        if places.index_of(folder).exists():
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
