"""The configuration file of mcp-markdown-ragdocs: what it says of memories and history, as our settings."""

from __future__ import annotations

import logging
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dowse.config import Settings, is_of_another_user, parse_setting
from dowse.errors import BadInput
from dowse.model import Pace
from dowse.places import Places, checked_root
from dowse.profiles.ragdocs_memory_desk import NO_OPTIONS, MemoryOptions
from dowse.shells.ragdocs_places import NAME, configuration_places
from dowse.shells.workspace import Workspace, find_workspace
from dowse.text.memory_facts import TYPES

log = logging.getLogger("dowse.ragdocs")

_MAX_BYTES = 1_000_000
_MEMORIES = "user"  # where the contract keeps memories unless it is told otherwise

# Tables and keys that mean something here, with the setting they stand for.
_SETTINGS = {
    ("git_indexing", "enabled"): "git",
    ("git_indexing", "delta_max_lines"): "delta_lines",
    ("git_indexing", "watch_cooldown"): "git_debounce_s",
    ("memory", "storage_strategy"): "memories",
}
_DECAYS = {("memory", f"decay_{kind}"): kind for kind in TYPES}
_OPTIONS = {("memory", "enabled"), ("memory", "score_threshold"), *_DECAYS}


@dataclass(frozen=True, slots=True)
class Setup:
    """Settings that count where nothing else sets them, and what concerns the memory tools alone."""

    settings: Settings
    memory: MemoryOptions = NO_OPTIONS


def ragdocs_workspace(
    roots: Sequence[Path], *, flags: Mapping[str, object], environment: Mapping[str, str], cwd: Path
) -> tuple[Workspace, MemoryOptions]:
    root = roots[0] if roots else None
    setup = find_setup(cwd if root is None else cwd / root, environment)
    workspace = find_workspace(cwd=cwd, environment=environment, flags=flags, root=root, defaults=setup.settings)
    return _of_all(workspace, roots, cwd), setup.memory


def _of_all(workspace: Workspace, roots: Sequence[Path], cwd: Path) -> Workspace:
    """The contract has one index for all documents: with several roots a place of its own, so that none of them is in
    the index of another."""
    settings = workspace.settings
    every = dict.fromkeys(checked_root(cwd / it, any_root=settings.any_root) for it in roots)
    if len(every) < 2 or settings.index is not None:
        return workspace
    index = Places.of(settings).index_of_all([*every]).absolute()
    return replace(workspace, settings=replace(settings, index=index), index=index)


def find_setup(folder: Path, environment: Mapping[str, str]) -> Setup:
    """What the nearest file says: in this directory or one above it, else in the user's own. One that belongs to
    another user is passed over."""
    found = [it for it in configuration_places(folder.absolute(), environment) if it.is_file()]
    own = [it for it in found if not _is_foreign(it, environment)]
    path = own[0] if own else None
    for it in found[: found.index(own[0]) if own else None]:
        log.warning("%s belongs to another user and was ignored; to have it obeyed, make it yours (chown)", it)
    return _setup({} if path is None else _table(path), path or Path(NAME))


def _is_foreign(path: Path, environment: Mapping[str, str]) -> bool:
    """The file, its directory, or the one that holds that."""
    return is_of_another_user(path, environment) or is_of_another_user(path.parent, environment)


def _table(path: Path) -> dict[str, object]:
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise BadInput(f"{path} is not a settings file; it must be a regular file of at most 1 MB")
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BadInput(f"can not read {path}: {error}") from error


def _setup(table: Mapping[str, object], path: Path) -> Setup:
    given = {(name, key): value for name, part in table.items() for key, value in _keys(part).items()}
    _tell_of_the_rest(given, path)
    settings: dict[str, object] = {"memories": _MEMORIES}
    for place, name in _SETTINGS.items():
        if place in given:
            settings[name] = parse_setting(name, given[place], f"{path}: {'.'.join(place)}")
    try:
        return Setup(Settings(**settings), _options(given, path))  # type: ignore[arg-type]
    except BadInput as error:
        raise BadInput(str(error) if str(path) in str(error) else f"{path}: {error}") from None


def _keys(part: object) -> Mapping[str, object]:
    return part if isinstance(part, dict) else {"": part}


def _options(given: Mapping[tuple[str, str], object], path: Path) -> MemoryOptions:
    usual = NO_OPTIONS
    threshold = given.get(("memory", "score_threshold"), usual.score_threshold)
    enabled = given.get(("memory", "enabled"), usual.enabled)
    if not isinstance(enabled, bool):
        raise BadInput(f"{path}: memory.enabled must be true or false, not {enabled!r}")
    decays = [(place, kind) for place, kind in _DECAYS.items() if place in given]
    paces = tuple(_pace(kind, given[place], f"{path}: {'.'.join(place)}") for place, kind in decays)
    return MemoryOptions(enabled, _share(threshold, f"{path}: memory.score_threshold"), paces)


def _pace(kind: str, value: object, where: str) -> Pace:
    """What of a score is left with each day, and at least; both have to be there."""
    if not isinstance(value, dict) or set(value) != {"decay_rate", "floor_multiplier"}:
        raise BadInput(f"{where} must be a table with decay_rate and floor_multiplier, not {value!r}")
    rate, floor = (_share(value[name], f"{where}.{name}") for name in ("decay_rate", "floor_multiplier"))
    return Pace("memory", kind, rate, floor)


def _share(value: object, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise BadInput(f"{where} must be a number from 0 to 1, not {value!r}")
    return float(value)


def _tell_of_the_rest(given: Mapping[tuple[str, str], object], path: Path) -> None:
    rest = sorted(".".join(filter(None, place)) for place in given if place not in _SETTINGS and place not in _OPTIONS)
    if rest:
        log.warning("%s: these have no effect here: %s", path, ", ".join(rest)[:1000])
