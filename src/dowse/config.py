"""Every setting in one table. Flags win over `DOWSE_…` variables, those over `dowse.toml`, those over defaults.

Settings are parsed once, at the edge, into a frozen `Settings`; nothing below reads the environment.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from dowse.errors import BadInput

FILE_NAME = "dowse.toml"
PREFIX = "DOWSE_"
_MAX_FILE_BYTES = 1_000_000
_MOST_FILE_BYTES = 2**30  # a file is read whole, and decoded, into memory
_LEAST_MEMORY_MB = 100  # with less a parser can not even start


def _setting(default: Any, help: str, *, secret: bool = False) -> Any:  # noqa: ANN401 - a field takes its declared type
    return field(default=default, metadata={"help": help, "secret": secret}, repr=not secret)


@dataclass(frozen=True, slots=True)
class Settings:
    index: Path | None = _setting(None, "the index file; default: one per root in the data directory")
    data_dir: Path | None = _setting(None, "where indexes and caches are kept; default: the user's data directory")
    encoder: str = _setting(
        "auto",
        "auto, granite (a real transformer, on this machine), static (word vectors distilled from it), hashing, none, "
        "or a server: ollama:MODEL@URL, tei:URL, openai:MODEL@URL",
    )
    encoder_key: str = _setting("", "the key of the encoder server, from the variable only", secret=True)
    encoder_threads: int = _setting(0, "how many threads a transformer encodes with; 0: one per core")
    background: bool = _setting(
        True,
        "what a command leaves to be done (vectors, history) is finished by a process in the background, at the lowest "
        "priority and not on battery; dowse.toml may only switch it off",
    )
    reranker: str = _setting(
        "auto", "auto (the one a recipe names), none, cross, late, or a server: tei:URL, cohere:MODEL@URL"
    )
    reranker_model: Path | None = _setting(
        None, "a directory with model.onnx and tokenizer.json of another cross-encoder; not in dowse.toml"
    )
    reranker_key: str = _setting("", "the key of the reranker server, from the variable only", secret=True)
    include: tuple[str, ...] = _setting((), "globs of files to index, comma separated; default: every text file")
    exclude: tuple[str, ...] = _setting(
        (), "globs of files to leave out, besides what .gitignore and .dowseignore name"
    )
    default_excludes: bool = _setting(True, "leave out lock files, minified code, caches and the like")
    extra_extensions: tuple[str, ...] = _setting(
        (),
        "extensions of files to index although they are left out by default, comma separated, such as csv,log; not in "
        "dowse.toml",
    )
    gitignore: bool = _setting(True, "leave out what git ignores")
    show_secrets: bool = _setting(
        False,
        "index and show files that hold secrets by their name, and keys and tokens in all others; not in dowse.toml",
    )
    max_file_bytes: int = _setting(10_000_000, "files larger than this are listed as skipped")
    max_files: int = _setting(1_000_000, "how many files of a root are indexed, in the order of their paths")
    max_total_bytes: int = _setting(20_000_000_000, "how many bytes of a root are indexed, in the same order")
    memory_mb: int = _setting(
        4000, "how much memory, in MB, parsing and reading ahead may take in all while indexing; 0 is any"
    )
    workers: int = _setting(0, "how many processes parse code at a time; 0: one per core, at most 8")
    parse_timeout_s: float = _setting(10.0, "how long parsing one file may take before it is indexed as plain text")
    git: bool = _setting(
        True,
        "index the history of the repositories below a root: what each commit said and changed; false also drops what "
        "is indexed of them",
    )
    git_directories: tuple[str, ...] = _setting(
        (),
        "directories, comma separated, that repositories below a root may use besides their own: for shared objects "
        "and for git directories elsewhere; not in dowse.toml",
    )
    max_commits: int = _setting(100_000, "how many commits of a repository are indexed, the newest first")
    delta_lines: int = _setting(200, "how many lines of what a commit changed are indexed")
    memories: str = _setting(
        "project",
        "where memories are kept: project (.memories in the root), user (the data directory) or a directory by its "
        "absolute path",
    )
    max_chunk_chars: int = _setting(2000, "the longest piece of text that is ranked as one")
    min_chunk_chars: int = _setting(120, "shorter pieces are joined with their neighbours")
    rrf_k: int = _setting(60, "the constant of rank fusion, in recipes that fuse ranks (rifflux, ragdocs, memories)")
    lexical_weight: float = _setting(1.0, "how much words count where words and meaning are fused")
    semantic_weight: float = _setting(1.0, "how much meaning counts there; only the ratio of the two matters")
    limit: int = _setting(10, "how many hits an answer has")
    max_response_kb: int = _setting(16, "the longest answer of a tool of the codesearch profile, in KB; 0 is any")
    first_answer_s: float = _setting(
        20.0, "how long a first search may prepare quick vectors before it answers with what it has"
    )
    lock_timeout_s: float = _setting(10.0, "how long to wait for another process that is writing")
    repair_ms: int = _setting(250, "how long an answer may wait for changed files to be indexed first; 0: not at all")
    watch: bool = _setting(True, "servers follow the files as they change; one of them for all that share an index")
    debounce_ms: int = _setting(500, "how long files must be left alone before they are indexed")
    git_debounce_s: float = _setting(5.0, "the same for what git changes: branches, commits")
    bulk_threshold: int = _setting(100, "when more files than this change at once, the whole root is compared")
    poll_s: float = _setting(2.0, "how often to look where the system can not tell of changes")
    reconcile_s: float = _setting(3600.0, "how often servers compare every file with the index; 0: at the start only")
    share: bool = _setting(
        True,
        "`dowse mcp` is a thin front of one server that all agents of an index share; false: each serves by itself",
    )
    daemon_idle_s: float = _setting(600.0, "how long the shared process stays when nobody is connected to it")
    any_root: bool = _setting(False, "allow a home directory or / as a root")
    ask_above_files: int = _setting(
        20_000,
        "a root with more files than this, or a folder of many projects, is not indexed by a first search before you "
        "confirm it; 0: never ask",
    )

    def __post_init__(self) -> None:
        _check("max_file_bytes", self.max_file_bytes, 1, _MOST_FILE_BYTES)
        _check("max_files", self.max_files, 1, 2**40)
        _check("max_total_bytes", self.max_total_bytes, 1, 2**60)
        _check("memory_mb", self.memory_mb or _LEAST_MEMORY_MB, _LEAST_MEMORY_MB, 2**30)
        _check("encoder_threads", self.encoder_threads, 0, 256)
        _check("workers", self.workers, 0, 64)
        _check("parse_timeout_s", self.parse_timeout_s, 0.01, 86_400)
        _check("max_commits", self.max_commits, 1, 2**40)
        _check("delta_lines", self.delta_lines, 0, 1_000_000)
        if self.memories not in ("project", "user") and not Path(self.memories).is_absolute():
            raise BadInput(f"memories must be project, user or an absolute path, not {self.memories[:50]!r}")
        _check("max_chunk_chars", self.max_chunk_chars, 50, 100_000)
        _check("min_chunk_chars", self.min_chunk_chars, 1, self.max_chunk_chars)
        _check("rrf_k", self.rrf_k, 1, 1_000_000)
        _check("lexical_weight", self.lexical_weight, 0, 1000)
        _check("semantic_weight", self.semantic_weight, 0, 1000)
        _check("limit", self.limit, 1, 1000)
        _check("max_response_kb", self.max_response_kb, 0, 1_000_000)
        _check("first_answer_s", self.first_answer_s, 0, 86_400)
        _check("lock_timeout_s", self.lock_timeout_s, 0, 86_400)
        _check("repair_ms", self.repair_ms, 0, 60_000)
        _check("debounce_ms", self.debounce_ms, 0, 600_000)
        _check("git_debounce_s", self.git_debounce_s, 0, 3_600)
        _check("bulk_threshold", self.bulk_threshold, 1, 1_000_000)
        _check("poll_s", self.poll_s, 0.05, 86_400)
        _check("reconcile_s", self.reconcile_s, 0, 31_536_000)
        _check("daemon_idle_s", self.daemon_idle_s, 0.1, 31_536_000)
        _check("ask_above_files", self.ask_above_files, 0, 2**40)


def _check(name: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:
        raise BadInput(f"{name} must be between {low:,} and {high:,}, not {value:,}")


SETTINGS = {it.name: it for it in fields(Settings)}
SECRETS = frozenset(name for name, it in SETTINGS.items() if it.metadata["secret"])
"""Settings that are neither flags, which every process can see, nor in files, which are copied."""
_SERVERS = ("ollama", "tei", "openai")
_ONLY_BY_THE_USER = (
    "data_dir",
    "git_directories",
    "reranker_model",
    "show_secrets",
    "any_root",
    "ask_above_files",
    "extra_extensions",
)
"""What a file may not set at all: it would bring its own models, or open what is closed."""
_ONLY_TRUE = ("default_excludes", "gitignore")
_ONLY_FALSE = ("background",)
_ONLY_LESS = (
    "max_file_bytes", "max_files", "max_total_bytes", "memory_mb", "workers", "encoder_threads", "parse_timeout_s",
)  # fmt: skip
"""What keeps a machine from being flooded: a file may lower it, never raise it."""
_MOST_WORKERS = 8  # as many as are started by default
_USER_VARIABLE = "SUDO_UID"


def load_settings(
    *,
    flags: Mapping[str, object],
    environment: Mapping[str, str],
    folder: Path | None,
    defaults: Settings | None = None,
) -> Settings:
    """Settings from, in order, flags (None means not given), variables and the nearest `dowse.toml`."""
    values: dict[str, object] = {} if defaults is None else {name: getattr(defaults, name) for name in SETTINGS}
    if folder is not None:
        values |= _from_file(folder, defaults or Settings(), environment)
    for name in SETTINGS:
        text = environment.get(PREFIX + name.upper())
        if text is not None and text != "":
            values[name] = parse_setting(name, text, f"the variable {PREFIX}{name.upper()}")
    for name, value in flags.items():
        if value is not None:
            _refuse_secret(name, f"--{name.replace('_', '-')}")
            values[name] = parse_setting(name, value, f"--{name.replace('_', '-')}")
    return Settings(**values)  # type: ignore[arg-type]


def is_of_another_user(path: Path, environment: Mapping[str, str]) -> bool:
    """Whether a settings file, a link in its place or its directory belongs to somebody else, who must not be obeyed.

    As git has it with `safe.directory`: in a directory like /tmp anybody can put a file above another user's project.
    What root owns is trusted, because root may do anything; whoever became root by sudo is still the same user."""
    user = os.geteuid()
    ours = {user, 0}
    if user == 0 and environment.get(_USER_VARIABLE, "").isdecimal():
        ours.add(int(environment[_USER_VARIABLE]))
    try:
        return not {path.lstat().st_uid, path.stat().st_uid, path.parent.stat().st_uid} <= ours
    except OSError:
        return False  # whoever reads it will be told why that is not possible


def _from_file(folder: Path, usual: Settings, environment: Mapping[str, str]) -> dict[str, object]:
    path = folder / FILE_NAME
    try:
        if not path.exists() or is_of_another_user(path, environment):
            return {}
        if not path.is_file() or path.stat().st_size > _MAX_FILE_BYTES:
            raise BadInput(f"{path} is not a settings file; it must be a regular file of at most 1 MB")
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BadInput(f"can not read {path}: {error}") from error
    unknown = sorted(set(table) - set(SETTINGS))
    if unknown:
        raise BadInput(f"{path} has unknown settings {', '.join(unknown)}; known are {', '.join(SETTINGS)}")
    for name in table:
        _refuse_secret(name, str(path))
    values = {name: parse_setting(name, value, f"{path}: {name}") for name, value in table.items()}
    _refuse_foreign(values, path)
    _refuse_more(values, usual, path)
    if usual.exclude and "exclude" in values:
        values["exclude"] = (*usual.exclude, *values["exclude"])  # type: ignore[misc]
    return {
        name: _inside(folder, value, f"{path}: {name}") if isinstance(value, Path) else value
        for name, value in values.items()
    }


def _refuse_secret(name: str, where: str) -> None:
    if name in SECRETS:
        raise BadInput(f"{where} may not hold {name}, which is a secret; set the variable {PREFIX}{name.upper()}")


def _refuse_foreign(values: Mapping[str, object], path: Path) -> None:
    """Whoever wrote the file may not be the user: it may not choose who is sent every text, nor a model to run."""
    named = [name for name in ("encoder", "reranker") if _is_server(str(values.get(name, "")))]
    if named:
        flag = f"--{named[0]} or the variable {PREFIX}{named[0].upper()}"
        raise BadInput(f"{path}: {named[0]} may not be a server; name it by {flag}")
    for name in _ONLY_BY_THE_USER:
        if name in values:
            raise BadInput(f"{path}: {name} may not be set here; use {_by_the_user(name)}")


def _refuse_more(values: Mapping[str, object], usual: Settings, path: Path) -> None:
    """A file may have less indexed and less done, never more: it may add excludes, and not take them away."""
    for name in _ONLY_TRUE:
        if values.get(name) is False and getattr(usual, name):
            raise BadInput(f"{path}: {name} may not be switched off here; use {_by_the_user(name, 'no-')}")
    for name in _ONLY_FALSE:
        if values.get(name) and not getattr(usual, name):
            raise BadInput(f"{path}: {name} may not be switched on here; use {_by_the_user(name)}")
    for name in _ONLY_LESS:
        most = getattr(usual, name) or _MOST_WORKERS
        value = values.get(name, most)
        if value > most or (name == "memory_mb" and not value):  # type: ignore[operator]
            raise BadInput(f"{path}: {name} may be at most {most:,} here; to raise it, use {_by_the_user(name)}")
    if values.get("memories", usual.memories) not in (usual.memories, "project"):
        raise BadInput(f"{path}: memories may not be user here; use {_by_the_user('memories')}")


def _by_the_user(name: str, negation: str = "") -> str:
    return f"the flag --{negation}{name.replace('_', '-')} or the variable {PREFIX}{name.upper()}"


def _is_server(value: str) -> bool:
    return ":" in value or value in _SERVERS


def _inside(folder: Path, value: Path, where: str) -> Path:
    """A file that comes with a directory may only name places in it: whoever wrote it may not be the user."""
    place = (folder / value).resolve()
    if folder.resolve() not in place.parents:
        raise BadInput(f"{where} must lie inside {folder}; use the flag or the variable to name another place")
    return place


def parse_setting(name: str, value: object, where: str) -> object:
    """The value as the setting's type; says where a wrong one was found."""
    kind = str(SETTINGS[name].type)
    parser = {
        "str": _as_text, "int": _as_int, "float": _as_float, "bool": _as_bool,
        "tuple[str, ...]": _as_texts, "Path | None": _as_path,
    }[kind]  # fmt: skip
    try:
        return parser(value)
    except (ValueError, TypeError) as error:
        raise BadInput(f"{where} must be {_KIND_NAMES[kind]}, not {value!r}") from error


_KIND_NAMES = {
    "str": "text", "int": "a whole number", "float": "a number", "bool": "true or false",
    "tuple[str, ...]": "globs", "Path | None": "a path",
}  # fmt: skip


def _as_text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _as_int(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise TypeError
    return int(value)


def _as_float(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise TypeError
    return float(value)


_BOOLS = {
    "1": True,
    "true": True,
    "yes": True,
    "on": True,
    "0": False,
    "false": False,
    "no": False,
    "off": False,
}


def _as_bool(value: object) -> bool:
    word = str(value).strip().lower()
    if word not in _BOOLS:
        raise ValueError
    return _BOOLS[word]


def _as_texts(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        value = value.split(",")
    if not isinstance(value, list | tuple) or not all(isinstance(it, str) for it in value):
        raise TypeError
    return tuple(it.strip() for it in value if it.strip())


def _as_path(value: object) -> Path:
    if isinstance(value, Path):
        return value
    if not isinstance(value, str) or not value or "\0" in value:
        raise TypeError
    return Path(value).expanduser()
