"""The configuration file of mcp-markdown-ragdocs, as our settings and as options of its tools.

One that lies in or above a directory comes with it, so that its author may not be the user: it may have less indexed
and ranked otherwise, and nothing else. The user's own one may say everything.
"""

from __future__ import annotations

import logging
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import NamedTuple, TypeVar

from dowse.config import Settings, is_of_another_user, parse_setting
from dowse.errors import BadInput
from dowse.model import AS_USUAL, Pace, Tuning
from dowse.places import Places, checked_root, is_directory
from dowse.profiles.ragdocs_exclusion import ALL_DOCUMENTS, HIDDEN_DIRECTORIES, TOOL_DIRECTORIES, DocumentFiles, is_glob
from dowse.profiles.ragdocs_memory_desk import NO_OPTIONS, MemoryOptions
from dowse.shells.ragdocs_places import NAME, configuration_places, own_configuration, own_memories
from dowse.shells.workspace import Workspace, find_workspace
from dowse.text.memory_facts import TYPES

log = logging.getLogger("dowse.ragdocs")

_MAX_BYTES = 1_000_000
_MOST_NAMED = 1000  # characters of what has no effect
_MEMORIES = "user"  # where the contract keeps memories unless it is told otherwise
_STRATEGIES = ("project", _MEMORIES)
_EVERY_FILE = ["**/*"]
_BELOW = "*/"
_PARSERS = ("MarkdownParser", "PlainTextParser")
_PROJECT_NAME = re.compile(r"[a-zA-Z0-9_-]+")

# Tables and keys that mean something here, with the setting they stand for.
_SETTINGS = {
    ("indexing", "reconciliation_interval_seconds"): "reconcile_s",
    ("indexing", "lock_timeout_seconds"): "lock_timeout_s",
    ("git_indexing", "enabled"): "git",
    ("git_indexing", "delta_max_lines"): "delta_lines",
    ("git_indexing", "watch_cooldown"): "git_debounce_s",
    ("memory", "storage_strategy"): "memories",
    ("search", "semantic_weight"): "semantic_weight",
    ("search", "keyword_weight"): "lexical_weight",
    ("search", "rrf_k_constant"): "rrf_k",
    ("chunking", "min_chunk_chars"): "min_chunk_chars",
    ("chunking", "max_chunk_chars"): "max_chunk_chars",
}
_DECAYS = {("memory", f"decay_{kind}"): kind for kind in TYPES}
_OPTIONS = {("memory", "enabled"), ("memory", "score_threshold"), *_DECAYS}
_FILES = {("indexing", it) for it in ("documents_path", "recursive", "include", "exclude", "exclude_hidden_dirs")}
_SECTIONS = ("parent_retrieval_enabled", "parent_chunk_max_chars")
_TUNED = {("chunking" if it.name in _SECTIONS else "search", it.name): it for it in fields(Tuning)}
_KNOWN = {*_SETTINGS, *_OPTIONS, *_FILES, *_TUNED, ("projects", "")}
# The least and the most of a number; all others are shares.
_COUNT, _FACTOR = (1, 1000), (0, 1000)
_BOUNDS = {
    "code_search_weight": _FACTOR,
    "community_boost_factor": _FACTOR,
    "variance_threshold": _FACTOR,
    "parent_chunk_max_chars": (100, 100_000),
}

Given = Mapping[tuple[str, str], object]
Value = TypeVar("Value")


class Project(NamedTuple):
    name: str
    path: Path


@dataclass(frozen=True, slots=True)
class Setup:
    """Settings that count where nothing else sets them, what concerns the tools alone, and where documents lie.

    `notes` say what of the file has no effect.
    """

    settings: Settings
    memory: MemoryOptions = NO_OPTIONS
    tuning: Tuning = AS_USUAL
    files: DocumentFiles = ALL_DOCUMENTS
    documents: Path | None = None
    projects: tuple[Project, ...] = ()
    path: Path | None = None
    notes: tuple[str, ...] = ()
    roots: tuple[Path, ...] = ()

    def project_of(self, folder: Path) -> Project | None:
        """The innermost one that the directory lies in."""
        around = [it for it in self.projects if folder.resolve().is_relative_to(it.path)]
        return max(around, key=lambda it: len(it.path.parts), default=None)


def ragdocs_workspace(
    roots: Sequence[Path], *, flags: Mapping[str, object], environment: Mapping[str, str], cwd: Path
) -> tuple[Workspace, Setup]:
    """A root may be the name of a project. Without one, that of the project around counts, then the documents' path."""
    setup = find_setup(cwd if not roots else cwd / roots[0], environment, cwd=cwd)
    named = {it.name: it.path for it in setup.projects}
    chosen = [named.get(str(it), it) for it in roots]
    if not chosen and (project := setup.project_of(cwd)) is not None:
        chosen = [project.path]
    elif not chosen and setup.documents is not None:
        chosen = [setup.documents]
    root = chosen[0] if chosen else None
    workspace = find_workspace(cwd=cwd, environment=environment, flags=flags, root=root, defaults=setup.settings)
    return _of_all(workspace, chosen, cwd), replace(setup, roots=tuple(chosen))


def _of_all(workspace: Workspace, roots: Sequence[Path], cwd: Path) -> Workspace:
    """The contract has one index for all documents: with several roots a place of its own, so that none of them is in
    the index of another."""
    settings = workspace.settings
    every = dict.fromkeys(checked_root(cwd / it, any_root=settings.any_root) for it in roots)
    if len(every) < 2 or settings.index is not None:
        return workspace
    index = Places.of(settings).index_of_all([*every]).absolute()
    return replace(workspace, settings=replace(settings, index=index), index=index)


def find_setup(folder: Path, environment: Mapping[str, str], *, cwd: Path | None = None) -> Setup:
    """What the nearest file says: in this directory or one above it, else in the user's own. One that belongs to
    another user is passed over. Projects of the user's own file are known in any case."""
    found = [it for it in configuration_places(folder.absolute(), environment) if it.is_file()]
    own = [it for it in found if not _is_foreign(it, environment)]
    path = own[0] if own else None
    for it in found[: found.index(own[0]) if own else None]:
        log.warning("%s belongs to another user and was ignored; to have it obeyed, make it yours (chown)", it)
    users = own_configuration(environment)
    reader = _Reader(path or Path(NAME), (cwd or folder).absolute(), is_own=path == users)
    setup = reader.setup({} if path is None else _table(path), _memories(environment))
    if users in own and users != path:
        known = _Reader(users, folder, is_own=True).projects(_table(users))
        setup = replace(setup, projects=(*setup.projects, *known))
    for note in setup.notes:
        log.warning("%s: %s", path, note)
    return replace(setup, path=path)


def _memories(environment: Mapping[str, str]) -> str:
    """Where its users have memories already, those are; otherwise new ones are kept with ours."""
    folder = own_memories(environment)
    is_ours = folder is not None and is_directory(folder) and not is_of_another_user(folder, environment)
    return str(folder) if is_ours else _MEMORIES


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


class _Reader:
    """Reads one file; what it may say depends on whose it is."""

    def __init__(self, path: Path, cwd: Path, *, is_own: bool) -> None:
        self._path = path
        self._is_own = is_own
        self._folder = cwd if is_own else path.parent.parent
        self._notes: list[str] = []

    def setup(self, table: Mapping[str, object], memories: str) -> Setup:
        parts = {name: part for name, part in table.items() if name != "parsers"}
        given = {(name, key): value for name, part in parts.items() for key, value in _keys(part).items()}
        if rest := sorted(".".join(filter(None, place)) for place in given if place not in _KNOWN):
            self._notes.append(f"these have no effect here: {', '.join(rest)[:_MOST_NAMED]}")
        strategy = given.get(("memory", "storage_strategy"), _MEMORIES)
        if strategy not in _STRATEGIES:
            where = self._where(("memory", "storage_strategy"))
            raise BadInput(f"{where} must be {' or '.join(_STRATEGIES)}, not {str(strategy)[:50]!r}")
        settings: dict[str, object] = {"exclude": self._excluded(given), "include": self._included(given)}
        for place, name in _SETTINGS.items():
            if place in given:
                settings[name] = parse_setting(name, given[place], self._where(place))
        settings["memories"] = memories if strategy == _MEMORIES else strategy
        try:
            known = Settings(**settings)  # type: ignore[arg-type]
        except BadInput as error:
            raise BadInput(f"{self._path}: {error}") from None
        return Setup(
            known,
            self._memory(given),
            self._tuning(given),
            DocumentFiles(self._parsed(table), self._left_out(given)),
            self._documents(given),
            self.projects(table),
            notes=tuple(self._notes),
        )

    # --- which files ---

    def _excluded(self, given: Given) -> tuple[str, ...]:
        """What is not indexed: what the file names. What the contract leaves out by itself is only not shown, because
        other profiles may share the index."""
        written = self._globs(given, "exclude", ())
        return written if self._flag(given, "recursive") else (*written, _BELOW)

    def _left_out(self, given: Given) -> tuple[str, ...]:
        """A file that comes with a directory adds to what is left out; the user's own one says what is."""
        replaced = self._is_own and ("indexing", "exclude") in given
        hidden = self._flag(given, "exclude_hidden_dirs")
        if not hidden and not self._is_own:
            self._notes.append("indexing.exclude_hidden_dirs may be false in the user's own file only")
        usual = () if replaced else TOOL_DIRECTORIES
        return (*usual, HIDDEN_DIRECTORIES) if hidden or not self._is_own else usual

    def _included(self, given: Given) -> tuple[str, ...]:
        written = given.get(("indexing", "include"), _EVERY_FILE)
        return () if written == _EVERY_FILE else self._globs(given, "include", ())

    def _globs(self, given: Given, key: str, usual: tuple[str, ...]) -> tuple[str, ...]:
        place = ("indexing", key)
        globs = parse_setting(key, given.get(place, usual), self._where(place))
        assert isinstance(globs, tuple)
        return globs

    def _flag(self, given: Given, key: str) -> bool:
        return _checked(given.get(("indexing", key), True), bool, self._where(("indexing", key)))

    def _parsed(self, table: Mapping[str, object]) -> tuple[str, ...]:
        """The globs of `[parsers]`: what they do not match is no document."""
        parsers = _keys(table.get("parsers", {}))
        known = [glob for glob, parser in parsers.items() if parser in _PARSERS and is_glob(glob)]
        if unknown := sorted(parsers.keys() - known):
            self._notes.append(f"of [parsers] these have no effect here: {', '.join(unknown)[:_MOST_NAMED]}")
        return tuple(known)

    def _documents(self, given: Given) -> Path | None:
        place = ("indexing", "documents_path")
        if place not in given:
            return None
        written = _checked(given[place], str, self._where(place))
        return self._inside(Path(written), self._where(place))

    def _inside(self, path: Path, where: str) -> Path:
        """A file that comes with a directory may only name places in it: whoever wrote it may not be the user."""
        try:
            place, folder = (self._folder / path.expanduser()).resolve(), self._folder.resolve()
        except (OSError, RuntimeError, ValueError) as error:
            raise BadInput(f"{where} cannot be used: {error}; name an existing directory") from None
        if not self._is_own and not place.is_relative_to(folder):
            raise BadInput(f"{where} must lie inside {folder}; name another place in your own configuration file")
        return place

    def projects(self, table: Mapping[str, object]) -> tuple[Project, ...]:
        """Those that can be used; the others are told of."""
        entries = table.get("projects", [])
        found: dict[str, Project] = {}
        for entry in entries if isinstance(entries, list) else [entries]:
            try:
                project = self._project(entry)
                if project.name in found or project.path in {it.path for it in found.values()}:
                    raise BadInput(f"projects: {project.name} is there twice")
                found[project.name] = project
            except BadInput as error:
                self._notes.append(f"a project was left out: {str(error).removeprefix(f'{self._path}: ')}")
        return tuple(found.values())

    def _project(self, entry: object) -> Project:
        name, path = (_keys(entry).get(key) for key in ("name", "path"))
        if not isinstance(name, str) or not _PROJECT_NAME.fullmatch(name):
            raise BadInput(f"projects: a name must be of letters, digits, - and _, not {str(name)[:50]!r}")
        if not isinstance(path, str) or not Path(path).expanduser().is_absolute():
            raise BadInput(f"projects: the path of {name} must be absolute, not {str(path)[:200]!r}")
        return Project(name, self._inside(Path(path), f"projects: the path of {name}"))

    # --- what the tools do ---

    def _tuning(self, given: Given) -> Tuning:
        values: dict[str, object] = {}
        for place, it in _TUNED.items():
            if place in given:
                values[it.name] = self._tuned(it.name, str(it.type), given[place], self._where(place))
        return replace(AS_USUAL, **values)  # type: ignore[arg-type]

    def _tuned(self, name: str, kind: str, value: object, where: str) -> object:
        if kind == "bool":
            return _checked(value, bool, where)
        low, high = _BOUNDS.get(name, _COUNT if kind == "int" else (0, 1))
        return _number(value, low, high, where, whole=kind == "int")

    def _memory(self, given: Given) -> MemoryOptions:
        threshold = given.get(("memory", "score_threshold"), NO_OPTIONS.score_threshold)
        enabled = given.get(("memory", "enabled"), NO_OPTIONS.enabled)
        paces = (_pace(kind, given[it], self._where(it)) for it, kind in _DECAYS.items() if it in given)
        return MemoryOptions(
            _checked(enabled, bool, self._where(("memory", "enabled"))),
            _number(threshold, 0, 1, self._where(("memory", "score_threshold"))),
            tuple(paces),
        )

    def _where(self, place: tuple[str, str]) -> str:
        return f"{self._path}: {'.'.join(place)}"


def _keys(part: object) -> Mapping[str, object]:
    return part if isinstance(part, dict) else {"": part}


def _pace(kind: str, value: object, where: str) -> Pace:
    """What of a score is left with each day, and at least; both have to be there."""
    if not isinstance(value, dict) or set(value) != {"decay_rate", "floor_multiplier"}:
        raise BadInput(f"{where} must be a table with decay_rate and floor_multiplier, not {value!r}")
    rate, floor = (_number(value[name], 0, 1, f"{where}.{name}") for name in ("decay_rate", "floor_multiplier"))
    return Pace("memory", kind, rate, floor)


_CALLED: Mapping[type, str] = {bool: "true or false", str: "text"}


def _checked(value: object, kind: type[Value], where: str) -> Value:
    if not isinstance(value, kind):
        raise BadInput(f"{where} must be {_CALLED[kind]}, not {value!r}")
    return value


def _number(value: object, low: float, high: float, where: str, *, whole: bool = False) -> float:
    kinds = int if whole else int | float
    if isinstance(value, bool) or not isinstance(value, kinds) or not low <= value <= high:
        raise BadInput(f"{where} must be a {'whole ' if whole else ''}number from {low} to {high}, not {value!r}")
    return value if whole else float(value)


# --- what is in force ---


def setup_lines(workspace: Workspace, setup: Setup, cwd: Path) -> Iterator[str]:
    """What counts, for a person who wants to check it: places, what differs from the defaults, what has no effect."""
    yield f"configuration: {setup.path or 'none found, all is as usual'}"
    yield f"documents: {', '.join(map(str, setup.roots)) or workspace.root}"
    yield f"index: {workspace.index}{'' if workspace.index.exists() else ' (not made yet)'}"
    settings = workspace.settings
    yield f"memories: {settings.memories}"
    yield f"include: {', '.join(settings.include) or 'every file'}"
    yield f"exclude: {', '.join((*settings.exclude, *setup.files.excluded)) or 'nothing'}"
    if setup.files.included:
        yield f"parsers: {', '.join(setup.files.included)}"
    if setup.projects:
        active = setup.project_of(cwd)
        yield f"projects: {', '.join(f'{it.name} ({it.path})' for it in setup.projects)}"
        yield f"active project: {active.name if active else 'none'}"
    yield from _differences(settings, Settings(), set(_SETTINGS.values()) - {"memories"})
    yield from _differences(setup.tuning, AS_USUAL, {it.name for it in fields(Tuning)})
    yield from _differences(setup.memory, NO_OPTIONS, {"enabled", "score_threshold", "paces"}, "memory.")
    yield from (f"warning: {it}" for it in setup.notes)


def _differences(values: object, usual: object, names: set[str], lead: str = "") -> Iterator[str]:
    differing: Callable[[str], bool] = lambda it: getattr(values, it) != getattr(usual, it)  # noqa: E731
    yield from (f"{lead}{it}: {getattr(values, it)}" for it in sorted(names) if differing(it))
