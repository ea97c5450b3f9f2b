"""Settings files of the compatible systems."""

from __future__ import annotations

import logging
import os
import re
import stat
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import NamedTuple, TypeVar

from dowse.config import SETTINGS_FILE_NAME, Settings, belongs_to_other_user, parse_setting
from dowse.errors import BadInput
from dowse.model import DEFAULT_TUNING, DecayRate, RagdocsTuning
from dowse.paths import DataPaths, check_root, is_directory, replace_file
from dowse.server.workspace import Workspace, find_workspace
from dowse.text.memory_notes import MEMORY_TYPES
from dowse.tools.ragdocs import ALL_DOCUMENTS, HIDDEN_DIRECTORIES, TOOL_DIRECTORIES, DocumentFiles, is_glob
from dowse.tools.ragdocs_memory import DEFAULT_MEMORY_OPTIONS, MemoryOptions

# --------------------------------------------------------------------------------------------------
# Locations of mcp-markdown-ragdocs files: its configuration, and the memories that its users already have.
#
# A separate module, because the front of a server must not import more than this.

RAGDOCS_FOLDER, CONFIG_FILE_NAME = ".mcp-markdown-ragdocs", "config.toml"


def configuration_candidates(folder: Path, environment: Mapping[str, str]) -> list[Path]:
    """List the candidates, in order: this directory, its parents, then the user's own. The first that exists counts."""
    around = [it / RAGDOCS_FOLDER / CONFIG_FILE_NAME for it in (folder, *folder.parents)]
    own = user_configuration(environment)
    return around if own is None else [*around, own]


def user_configuration(environment: Mapping[str, str]) -> Path | None:
    folder = _user_folder(environment, "XDG_CONFIG_HOME", ".config")
    return None if folder is None else folder / CONFIG_FILE_NAME


def user_memories(environment: Mapping[str, str]) -> Path | None:
    folder = _user_folder(environment, "XDG_DATA_HOME", ".local/share")
    return None if folder is None else folder / "memories"


def _user_folder(environment: Mapping[str, str], variable: str, below_home: str) -> Path | None:
    home = environment.get("HOME", "")
    place = environment.get(variable) or (f"{home}/{below_home}" if home else "")
    return Path(place) / RAGDOCS_FOLDER.removeprefix(".") if place else None


log = logging.getLogger("dowse.ragdocs")

_MAX_CONFIG_BYTES = 1_000_000
_MAX_NOTE_CHARS = 1000  # characters, for the list of keys without effect
_USER_STRATEGY = "user"  # where the contract stores memories by default
_STORAGE_STRATEGIES = ("project", _USER_STRATEGY)
_EVERY_FILE = ["**/*"]
_SUBDIRECTORIES_GLOB = "*/"
_PARSERS = ("MarkdownParser", "PlainTextParser")
_PROJECT_NAME = re.compile(r"[a-zA-Z0-9_-]+")

# Known tables and keys, with the setting each stands for.
_SETTING_KEYS = {
    ("indexing", "reconciliation_interval_seconds"): "reconcile_s",
    ("indexing", "lock_timeout_seconds"): "lock_timeout_s",
    ("git_indexing", "enabled"): "git",
    ("git_indexing", "delta_max_lines"): "diff_lines",
    ("git_indexing", "watch_cooldown"): "git_debounce_s",
    ("memory", "storage_strategy"): "memory_location",
    ("search", "semantic_weight"): "semantic_weight",
    ("search", "keyword_weight"): "lexical_weight",
    ("search", "rrf_k_constant"): "rrf_k",
    ("chunking", "min_chunk_chars"): "min_chunk_chars",
    ("chunking", "max_chunk_chars"): "max_chunk_chars",
}
_DECAY_KEYS = {("memory", f"decay_{kind}"): kind for kind in MEMORY_TYPES}
_MEMORY_KEYS = {("memory", "enabled"), ("memory", "score_threshold"), *_DECAY_KEYS}
_FILE_KEYS = {("indexing", it) for it in ("documents_path", "recursive", "include", "exclude", "exclude_hidden_dirs")}
_CHUNKING_TUNING = ("parent_retrieval_enabled", "parent_chunk_max_chars")
_TUNING_KEYS = {("chunking" if it.name in _CHUNKING_TUNING else "search", it.name): it for it in fields(RagdocsTuning)}
_KNOWN_KEYS = {*_SETTING_KEYS, *_MEMORY_KEYS, *_FILE_KEYS, *_TUNING_KEYS, ("projects", "")}
# Lower and upper bounds of numbers; all others are fractions.
_COUNT_BOUNDS, _FACTOR_BOUNDS = (1, 1000), (0, 1000)
_TUNING_BOUNDS = {
    "code_search_weight": _FACTOR_BOUNDS,
    "community_boost_factor": _FACTOR_BOUNDS,
    "variance_threshold": _FACTOR_BOUNDS,
    "parent_chunk_max_chars": (100, 100_000),
}

ConfigValues = Mapping[tuple[str, str], object]
ConfigValue = TypeVar("ConfigValue")


class RagdocsProject(NamedTuple):
    name: str
    path: Path


@dataclass(frozen=True, slots=True)
class RagdocsConfig:
    """Default settings, options of the tools, and where documents are.

    `notes` name the parts of the file that have no effect.
    """

    settings: Settings
    memory: MemoryOptions = DEFAULT_MEMORY_OPTIONS
    tuning: RagdocsTuning = DEFAULT_TUNING
    files: DocumentFiles = ALL_DOCUMENTS
    documents: Path | None = None
    projects: tuple[RagdocsProject, ...] = ()
    path: Path | None = None
    notes: tuple[str, ...] = ()
    roots: tuple[Path, ...] = ()

    def project_containing(self, folder: Path) -> RagdocsProject | None:
        """Return the innermost project that contains the directory."""
        around = [it for it in self.projects if folder.resolve().is_relative_to(it.path)]
        return max(around, key=lambda it: len(it.path.parts), default=None)


def ragdocs_workspace(
    roots: Sequence[Path], *, flags: Mapping[str, object], environment: Mapping[str, str], cwd: Path
) -> tuple[Workspace, RagdocsConfig]:
    """Find the workspace. A root may be the name of a project; without one, the project around the current directory
    counts, then the documents path."""
    setup = find_ragdocs_config(cwd if not roots else cwd / roots[0], environment, cwd=cwd)
    named = {it.name: it.path for it in setup.projects}
    chosen = [named.get(str(it), it) for it in roots]
    if not chosen and (project := setup.project_containing(cwd)) is not None:
        chosen = [project.path]
    elif not chosen and setup.documents is not None:
        chosen = [setup.documents]
    root = chosen[0] if chosen else None
    workspace = find_workspace(cwd=cwd, environment=environment, flags=flags, root=root, defaults=setup.settings)
    return _with_shared_index(workspace, chosen, cwd), replace(setup, roots=tuple(chosen))


def _with_shared_index(workspace: Workspace, roots: Sequence[Path], cwd: Path) -> Workspace:
    """Give several roots one shared index in its own place, as the contract has one index for all documents. That way
    none of them is in the index of another."""
    settings = workspace.settings
    distinct = dict.fromkeys(check_root(cwd / it, allow_any_root=settings.allow_any_root) for it in roots)
    if len(distinct) < 2 or settings.index is not None:
        return workspace
    index = DataPaths.of(settings).joint_index_path([*distinct]).absolute()
    return replace(workspace, settings=replace(settings, index=index), index=index)


def find_ragdocs_config(folder: Path, environment: Mapping[str, str], *, cwd: Path | None = None) -> RagdocsConfig:
    """Read the nearest file: in this directory or a parent, else the user's own.

    A file that belongs to another user is ignored. Projects in the user's own file are always known.
    """
    candidates = [ignored for ignored in configuration_candidates(folder.absolute(), environment) if ignored.is_file()]
    trusted = [ignored for ignored in candidates if not _is_config_foreign(ignored, environment)]
    path = trusted[0] if trusted else None
    for ignored in candidates[: candidates.index(trusted[0]) if trusted else None]:
        log.warning("%s belongs to another user and was ignored; to use it, make it yours (chown)", ignored)
    users = user_configuration(environment)
    reader = _ConfigReader(path or Path(CONFIG_FILE_NAME), (cwd or folder).absolute(), is_own=path == users)
    setup = reader.read_config({} if path is None else _load_config(path), _memory_location(environment))
    if users in trusted and users != path:
        known = _ConfigReader(users, folder, is_own=True).projects(_load_config(users))
        setup = replace(setup, projects=(*setup.projects, *known))
    for note in setup.notes:
        log.warning("%s: %s", path, note)
    return replace(setup, path=path)


def _memory_location(environment: Mapping[str, str]) -> str:
    """Return the existing memory folder of the user; without one, new memories are stored with ours."""
    folder = user_memories(environment)
    is_ours = folder is not None and is_directory(folder) and not belongs_to_other_user(folder, environment)
    return str(folder) if is_ours else _USER_STRATEGY


def _is_config_foreign(path: Path, environment: Mapping[str, str]) -> bool:
    """Return whether the file or its directory belongs to another user."""
    return belongs_to_other_user(path, environment) or belongs_to_other_user(path.parent, environment)


def _load_config(path: Path) -> dict[str, object]:
    try:
        if path.stat().st_size > _MAX_CONFIG_BYTES:
            raise BadInput(f"{path} is not a settings file; it must be a regular file of at most 1 MB")
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BadInput(f"cannot read {path}: {error}; fix the file or remove it") from error


class _ConfigReader:
    """Reads one file; what the file may set depends on whose it is."""

    def __init__(self, path: Path, cwd: Path, *, is_own: bool) -> None:
        self._path = path
        self._is_own = is_own
        self._folder = cwd if is_own else path.parent.parent
        self._notes: list[str] = []

    def read_config(self, table: Mapping[str, object], memories: str) -> RagdocsConfig:
        parts = {name: part for name, part in table.items() if name != "parsers"}
        values = {(name, key): value for name, part in parts.items() for key, value in _table_items(part).items()}
        if unknown := sorted(".".join(filter(None, place)) for place in values if place not in _KNOWN_KEYS):
            self._notes.append(f"these keys have no effect here: {', '.join(unknown)[:_MAX_NOTE_CHARS]}")
        strategy = values.get(("memory", "storage_strategy"), _USER_STRATEGY)
        if strategy not in _STORAGE_STRATEGIES:
            where = self._key_location(("memory", "storage_strategy"))
            raise BadInput(f"{where} must be {' or '.join(_STORAGE_STRATEGIES)}, not {str(strategy)[:50]!r}")
        settings: dict[str, object] = {"exclude": self._exclude_globs(values), "include": self._include_globs(values)}
        for place, name in _SETTING_KEYS.items():
            if place in values:
                settings[name] = parse_setting(name, values[place], self._key_location(place))
        settings["memory_location"] = memories if strategy == _USER_STRATEGY else strategy
        try:
            known = Settings(**settings)  # type: ignore[arg-type]
        except BadInput as error:
            raise BadInput(f"{self._path}: {error}") from None
        return RagdocsConfig(
            known,
            self._memory(values),
            self._tuning(values),
            DocumentFiles(self._parser_globs(table), self._hidden_globs(values)),
            self._documents_path(values),
            self.projects(table),
            notes=tuple(self._notes),
        )

    # --- files ---

    def _exclude_globs(self, values: ConfigValues) -> tuple[str, ...]:
        """Return what is not indexed: only what the file names.

        Directories that the contract excludes by default are only hidden from answers, because other profiles may share
        the index.
        """
        globs = self._globs(values, "exclude", ())
        return globs if self._flag(values, "recursive") else (*globs, _SUBDIRECTORIES_GLOB)

    def _hidden_globs(self, values: ConfigValues) -> tuple[str, ...]:
        """Return what is hidden; a file that comes with a directory adds to the defaults, the user's own replaces
        them."""
        replaced = self._is_own and ("indexing", "exclude") in values
        hidden = self._flag(values, "exclude_hidden_dirs")
        if not hidden and not self._is_own:
            self._notes.append("indexing.exclude_hidden_dirs may be false in the user's own file only")
        usual = () if replaced else TOOL_DIRECTORIES
        return (*usual, HIDDEN_DIRECTORIES) if hidden or not self._is_own else usual

    def _include_globs(self, values: ConfigValues) -> tuple[str, ...]:
        written = values.get(("indexing", "include"), _EVERY_FILE)
        return () if written == _EVERY_FILE else self._globs(values, "include", ())

    def _globs(self, values: ConfigValues, key: str, usual: tuple[str, ...]) -> tuple[str, ...]:
        place = ("indexing", key)
        globs = parse_setting(key, values.get(place, usual), self._key_location(place))
        assert isinstance(globs, tuple)
        return globs

    def _flag(self, values: ConfigValues, key: str) -> bool:
        return _check_type(values.get(("indexing", key), True), bool, self._key_location(("indexing", key)))

    def _parser_globs(self, table: Mapping[str, object]) -> tuple[str, ...]:
        """Return the globs of `[parsers]`; files that match none of them are not documents."""
        parsers = _table_items(table.get("parsers", {}))
        known = [glob for glob, parser in parsers.items() if parser in _PARSERS and is_glob(glob)]
        if unknown := sorted(parsers.keys() - known):
            self._notes.append(f"these [parsers] have no effect here: {', '.join(unknown)[:_MAX_NOTE_CHARS]}")
        return tuple(known)

    def _documents_path(self, values: ConfigValues) -> Path | None:
        place = ("indexing", "documents_path")
        if place not in values:
            return None
        path = _check_type(values[place], str, self._key_location(place))
        return self._resolve_inside(Path(path), self._key_location(place))

    def _resolve_inside(self, path: Path, where: str) -> Path:
        """Resolve a path. A file that comes with a directory may only name places inside it, because its author may not
        be the user."""
        try:
            place, folder = (self._folder / path.expanduser()).resolve(), self._folder.resolve()
        except (OSError, RuntimeError, ValueError) as error:
            raise BadInput(f"{where} cannot be used: {error}; set it to an existing directory") from None
        if not self._is_own and not place.is_relative_to(folder):
            raise BadInput(f"{where} must be inside {folder}; set other places in your own configuration file")
        return place

    def projects(self, table: Mapping[str, object]) -> tuple[RagdocsProject, ...]:
        """Return the usable projects, and note why others were left out."""
        entries = table.get("projects", [])
        found: dict[str, RagdocsProject] = {}
        for entry in entries if isinstance(entries, list) else [entries]:
            try:
                project = self._project(entry)
                if project.name in found or project.path in {it.path for it in found.values()}:
                    raise BadInput(f"projects: {project.name} is listed twice")
                found[project.name] = project
            except BadInput as error:
                self._notes.append(f"a project was left out: {str(error).removeprefix(f'{self._path}: ')}")
        return tuple(found.values())

    def _project(self, entry: object) -> RagdocsProject:
        name, path = (_table_items(entry).get(key) for key in ("name", "path"))
        if not isinstance(name, str) or not _PROJECT_NAME.fullmatch(name):
            raise BadInput(f"projects: a name may contain only letters, digits, - and _, not {str(name)[:50]!r}")
        if not isinstance(path, str) or not Path(path).expanduser().is_absolute():
            raise BadInput(f"projects: the path of {name} must be absolute, not {str(path)[:200]!r}")
        return RagdocsProject(name, self._resolve_inside(Path(path), f"projects: the path of {name}"))

    # --- tools ---

    def _tuning(self, values: ConfigValues) -> RagdocsTuning:
        tuned: dict[str, object] = {}
        for place, option in _TUNING_KEYS.items():
            if place in values:
                tuned[option.name] = self._parse_tuning_value(
                    option.name, str(option.type), values[place], self._key_location(place)
                )
        return replace(DEFAULT_TUNING, **tuned)  # type: ignore[arg-type]

    def _parse_tuning_value(self, name: str, kind: str, value: object, where: str) -> object:
        if kind == "bool":
            return _check_type(value, bool, where)
        low, high = _TUNING_BOUNDS.get(name, _COUNT_BOUNDS if kind == "int" else (0, 1))
        return _check_number(value, low, high, where, whole=kind == "int")

    def _memory(self, values: ConfigValues) -> MemoryOptions:
        threshold = values.get(("memory", "score_threshold"), DEFAULT_MEMORY_OPTIONS.score_threshold)
        enabled = values.get(("memory", "enabled"), DEFAULT_MEMORY_OPTIONS.enabled)
        decay_rates = (
            _parse_decay(kind, values[key], self._key_location(key))
            for key, kind in _DECAY_KEYS.items()
            if key in values
        )
        return MemoryOptions(
            _check_type(enabled, bool, self._key_location(("memory", "enabled"))),
            _check_number(threshold, 0, 1, self._key_location(("memory", "score_threshold"))),
            tuple(decay_rates),
        )

    def _key_location(self, place: tuple[str, str]) -> str:
        return f"{self._path}: {'.'.join(place)}"


def _table_items(part: object) -> Mapping[str, object]:
    return part if isinstance(part, dict) else {"": part}


def _parse_decay(kind: str, value: object, where: str) -> DecayRate:
    """Parse the decay per day and the floor of a score; both are required."""
    if not isinstance(value, dict) or set(value) != {"decay_rate", "floor_multiplier"}:
        raise BadInput(f"{where} must be a table with decay_rate and floor_multiplier, not {value!r}")
    rate, floor = (_check_number(value[name], 0, 1, f"{where}.{name}") for name in ("decay_rate", "floor_multiplier"))
    return DecayRate("memory", kind, rate, floor)


_TYPE_NAMES: Mapping[type, str] = {bool: "true or false", str: "text"}


def _check_type(value: object, kind: type[ConfigValue], where: str) -> ConfigValue:
    if not isinstance(value, kind):
        raise BadInput(f"{where} must be {_TYPE_NAMES[kind]}, not {value!r}")
    return value


def _check_number(value: object, low: float, high: float, where: str, *, whole: bool = False) -> float:
    kinds = int if whole else int | float
    if isinstance(value, bool) or not isinstance(value, kinds) or not low <= value <= high:
        raise BadInput(f"{where} must be a {'whole ' if whole else ''}number from {low} to {high}, not {value!r}")
    return value if whole else float(value)


# --- configuration report ---


def config_lines(workspace: Workspace, setup: RagdocsConfig, cwd: Path) -> Iterator[str]:
    """Describe the active configuration: locations, differences from the defaults, and keys without effect."""
    yield f"configuration: {setup.path or 'none found, using defaults'}"
    yield f"documents: {', '.join(map(str, setup.roots)) or workspace.root}"
    yield f"index: {workspace.index}{'' if workspace.index.exists() else ' (not built yet)'}"
    settings = workspace.settings
    yield f"memories: {settings.memory_location}"
    yield f"include: {', '.join(settings.include) or 'every file'}"
    yield f"exclude: {', '.join((*settings.exclude, *setup.files.excluded)) or 'nothing'}"
    if setup.files.included:
        yield f"parsers: {', '.join(setup.files.included)}"
    if setup.projects:
        active = setup.project_containing(cwd)
        yield f"projects: {', '.join(f'{it.name} ({it.path})' for it in setup.projects)}"
        yield f"active project: {active.name if active else 'none'}"
    yield from _changed_values(settings, Settings(), set(_SETTING_KEYS.values()) - {"memory_location"})
    yield from _changed_values(setup.tuning, DEFAULT_TUNING, {it.name for it in fields(RagdocsTuning)})
    yield from _changed_values(
        setup.memory, DEFAULT_MEMORY_OPTIONS, {"enabled", "score_threshold", "decay_rates"}, "memory."
    )
    yield from (f"warning: {it}" for it in setup.notes)


def _changed_values(values: object, usual: object, names: set[str], lead: str = "") -> Iterator[str]:
    differing: Callable[[str], bool] = lambda it: getattr(values, it) != getattr(usual, it)  # noqa: E731
    yield from (f"{lead}{it}: {getattr(values, it)}" for it in sorted(names) if differing(it))


# --------------------------------------------------------------------------------------------------
# Change single settings in a root's `dowse.toml` and leave every other character unchanged.

_SETTINGS_FILE_MODE = 0o644


def check_settings_file(folder: Path) -> None:
    """Fail early, before any work, if the settings file could not be written."""
    _settings_file_mode(folder / SETTINGS_FILE_NAME)
    if not os.access(folder, os.W_OK):
        raise BadInput(f"{folder} is not writable; leave out --write")


def write_settings(folder: Path, values: Mapping[str, float]) -> Path:
    """Write the values, atomically, and return the file; it is created if missing."""
    path = folder / SETTINGS_FILE_NAME
    by_hand = "add this by hand: " + ", ".join(f"{name} = {value}" for name, value in values.items())
    try:
        mode = _settings_file_mode(path)
        before = path.read_bytes().decode("utf-8") if mode is not None else ""
        after = _apply_settings(before, values)
        if after is None:
            raise BadInput(f"{path} is too complex to be changed safely; {by_hand}")
        if after != before:
            replace_file(path, after.encode("utf-8"), _SETTINGS_FILE_MODE if mode is None else mode)
    except (OSError, ValueError) as error:
        raise BadInput(f"cannot write {path}: {error}; {by_hand}") from error
    return path


def _settings_file_mode(path: Path) -> int | None:
    """Return the permissions of the file, or None if there is none. A link is refused, because it may lead anywhere."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(mode):
        raise BadInput(f"{path} is a link or not a regular file and was not changed; put a file in its place")
    return stat.S_IMODE(mode)


def _apply_settings(text: str, values: Mapping[str, float]) -> str | None:
    """Return the text with the new values; None if the result would differ in anything else."""
    original = tomllib.loads(text)
    for name, value in values.items():
        text = _replace_setting(text, name, value)
    try:
        return text if tomllib.loads(text) == {**original, **values} else None
    except tomllib.TOMLDecodeError:
        return None


def _replace_setting(text: str, name: str, value: float) -> str:
    line = re.compile(rf"^([ \t]*([\"']?){name}\2[ \t]*=[ \t]*)[^\s#]+", re.MULTILINE)
    if line.search(text):
        return line.sub(rf"\g<1>{value}", text, count=1)
    newline = "\r\n" if "\r\n" in text else "\n"
    gap = "" if not text or text.endswith("\n") else newline
    return f"{text}{gap}{name} = {value}{newline}"
