"""All settings in one table. Flags override `DOWSE_…` variables, which override `dowse.toml`, which overrides defaults.

Settings are parsed once, at the edge, into a frozen `Settings`. No other code reads the environment.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from dowse.errors import BadInput

SETTINGS_FILE_NAME = "dowse.toml"
ENVIRONMENT_PREFIX = "DOWSE_"
_MAX_SETTINGS_FILE_BYTES = 1_000_000
_MAX_FILE_BYTES_LIMIT = 2**30  # a file is read and decoded in memory as a whole
_MIN_MEMORY_MB = 100  # a parser cannot start with less


def _setting(default: Any, help: str, *, secret: bool = False) -> Any:  # noqa: ANN401 - a field takes its declared type
    return field(default=default, metadata={"help": help, "secret": secret}, repr=not secret)


@dataclass(frozen=True, slots=True)
class Settings:
    index: Path | None = _setting(None, "index file (default: one per root in the data directory)")
    data_dir: Path | None = _setting(None, "directory for indexes and caches (default: the user's data directory)")
    encoder: str = _setting(
        "auto",
        "encoder to use: auto, granite (a local transformer), static (local word vectors distilled from it), hashing, "
        "none, or a server: ollama:MODEL@URL, tei:URL, openai:MODEL@URL",
    )
    encoder_key: str = _setting("", "key of the encoder server (environment variable only)", secret=True)
    encoder_threads: int = _setting(0, "threads of a transformer (0 = one per core)")
    background: bool = _setting(
        True,
        "finish vectors and history in a background process after a command, at the lowest "
        "priority and not on battery; dowse.toml can only turn this off",
    )
    reranker: str = _setting(
        "auto",
        "reranker to use: auto (the one the recipe names), none, cross, late, or a server: tei:URL, cohere:MODEL@URL",
    )
    reranker_model: Path | None = _setting(
        None, "directory with model.onnx and tokenizer.json of another cross-encoder; not in dowse.toml"
    )
    reranker_key: str = _setting("", "key of the reranker server (environment variable only)", secret=True)
    include: tuple[str, ...] = _setting((), "globs of files to index, comma-separated (default: every text file)")
    exclude: tuple[str, ...] = _setting((), "globs of files to leave out, in addition to .gitignore and .dowseignore")
    default_excludes: bool = _setting(True, "leave out lock files, minified code, caches and similar files")
    extra_extensions: tuple[str, ...] = _setting(
        (),
        "extensions to index that are left out by default, comma-separated (example: csv,log); not in dowse.toml",
    )
    gitignore: bool = _setting(True, "leave out files that git ignores")
    show_secrets: bool = _setting(
        False,
        "index and show files with secret names, and do not mask keys and tokens in others; not in dowse.toml",
    )
    max_file_bytes: int = _setting(10_000_000, "skip larger files (they are listed as skipped)")
    max_document_bytes: int = _setting(
        64_000_000, "skip larger documents (PDF, Office …); at least max_file_bytes applies"
    )
    max_files: int = _setting(1_000_000, "maximum number of files per root, in path order")
    max_total_bytes: int = _setting(20_000_000_000, "maximum number of bytes per root, in path order")
    memory_mb: int = _setting(4000, "memory limit in MB for parsing and read-ahead while indexing (0 = no limit)")
    workers: int = _setting(0, "number of processes that parse code (0 = one per core, at most 8)")
    parse_timeout_s: float = _setting(10.0, "seconds to parse one file before it is indexed as plain text instead")
    document_timeout_s: float = _setting(120.0, "seconds to read one document, text recognition included")
    git: bool = _setting(
        True,
        "index the history of repositories below a root: messages and changes of commits; false also drops history "
        "that is already indexed",
    )
    git_directories: tuple[str, ...] = _setting(
        (),
        "other directories, comma-separated, that repositories may use for shared objects or as git directories; not "
        "in dowse.toml",
    )
    max_commits: int = _setting(100_000, "maximum number of commits per repository, newest first")
    diff_lines: int = _setting(200, "maximum number of diff lines indexed per commit")
    memory_location: str = _setting(
        "project",
        "where memories are stored: project (.memories in the root), user (the data directory) or an absolute path",
    )
    max_chunk_chars: int = _setting(2000, "maximum length of a passage in characters")
    min_chunk_chars: int = _setting(
        120, "minimum length of a passage in characters; shorter ones are merged with their neighbours"
    )
    rrf_k: int = _setting(60, "constant k of rank fusion, for recipes that fuse ranks (rifflux, ragdocs, memories)")
    lexical_weight: float = _setting(1.0, "weight of lexical search in hybrid search")
    semantic_weight: float = _setting(
        1.0, "weight of semantic search in hybrid search; only the ratio of the two matters"
    )
    limit: int = _setting(10, "maximum number of hits")
    max_response_kb: int = _setting(16, "maximum size of an answer of the codesearch tools in KB (0 = no limit)")
    first_answer_timeout_s: float = _setting(
        20.0, "seconds that a first search may spend on quick vectors before it answers"
    )
    lock_timeout_s: float = _setting(10.0, "seconds to wait for another process that is writing")
    freshness_timeout_ms: int = _setting(
        250, "milliseconds that an answer may wait for changed files to be indexed (0 = do not wait)"
    )
    watch: bool = _setting(True, "servers watch files for changes; one server watches for all that share an index")
    debounce_ms: int = _setting(500, "milliseconds without changes before files are indexed")
    git_debounce_s: float = _setting(5.0, "seconds without git changes (branches, commits) before they are indexed")
    bulk_threshold: int = _setting(100, "compare the whole root if more files than this change at once")
    poll_s: float = _setting(2.0, "polling interval in seconds where the system cannot report changes")
    reconcile_s: float = _setting(
        3600.0, "seconds between full comparisons of files and index by servers (0 = only at start)"
    )
    share: bool = _setting(
        True,
        "`dowse mcp` connects to one server shared by all agents of an index; false: each runs its own server",
    )
    daemon_idle_s: float = _setting(600.0, "seconds that the shared server keeps running without connections")
    allow_any_root: bool = _setting(False, "allow a home directory or / as a root")
    ask_above_files: int = _setting(
        20_000,
        "a first search asks before it indexes a root with more files than this, or a folder of many projects "
        "(0 = never ask)",
    )

    def __post_init__(self) -> None:
        _check_range("max_file_bytes", self.max_file_bytes, 1, _MAX_FILE_BYTES_LIMIT)
        _check_range("max_document_bytes", self.max_document_bytes, 1, _MAX_FILE_BYTES_LIMIT)
        _check_range("document_timeout_s", self.document_timeout_s, 0.01, 86_400)
        _check_range("max_files", self.max_files, 1, 2**40)
        _check_range("max_total_bytes", self.max_total_bytes, 1, 2**60)
        _check_range("memory_mb", self.memory_mb or _MIN_MEMORY_MB, _MIN_MEMORY_MB, 2**30)
        _check_range("encoder_threads", self.encoder_threads, 0, 256)
        _check_range("workers", self.workers, 0, 64)
        _check_range("parse_timeout_s", self.parse_timeout_s, 0.01, 86_400)
        _check_range("max_commits", self.max_commits, 1, 2**40)
        _check_range("diff_lines", self.diff_lines, 0, 1_000_000)
        if self.memory_location not in ("project", "user") and not Path(self.memory_location).is_absolute():
            raise BadInput(
                f"memory_location must be project, user or an absolute path, not {self.memory_location[:50]!r}"
            )
        _check_range("max_chunk_chars", self.max_chunk_chars, 50, 100_000)
        _check_range("min_chunk_chars", self.min_chunk_chars, 1, self.max_chunk_chars)
        _check_range("rrf_k", self.rrf_k, 1, 1_000_000)
        _check_range("lexical_weight", self.lexical_weight, 0, 1000)
        _check_range("semantic_weight", self.semantic_weight, 0, 1000)
        _check_range("limit", self.limit, 1, 1000)
        _check_range("max_response_kb", self.max_response_kb, 0, 1_000_000)
        _check_range("first_answer_timeout_s", self.first_answer_timeout_s, 0, 86_400)
        _check_range("lock_timeout_s", self.lock_timeout_s, 0, 86_400)
        _check_range("freshness_timeout_ms", self.freshness_timeout_ms, 0, 60_000)
        _check_range("debounce_ms", self.debounce_ms, 0, 600_000)
        _check_range("git_debounce_s", self.git_debounce_s, 0, 3_600)
        _check_range("bulk_threshold", self.bulk_threshold, 1, 1_000_000)
        _check_range("poll_s", self.poll_s, 0.05, 86_400)
        _check_range("reconcile_s", self.reconcile_s, 0, 31_536_000)
        _check_range("daemon_idle_s", self.daemon_idle_s, 0.1, 31_536_000)
        _check_range("ask_above_files", self.ask_above_files, 0, 2**40)


def _check_range(name: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:
        raise BadInput(f"{name} must be between {low:,} and {high:,}, not {value:,}")


SETTINGS = {it.name: it for it in fields(Settings)}
SECRET_SETTINGS = frozenset(name for name, it in SETTINGS.items() if it.metadata["secret"])
"""Settings that may be neither flags, which every process can see, nor in files, which get copied."""
_SERVER_KINDS = ("ollama", "tei", "openai")
_USER_ONLY_SETTINGS = (
    "data_dir",
    "git_directories",
    "reranker_model",
    "show_secrets",
    "allow_any_root",
    "ask_above_files",
    "extra_extensions",
)
"""Settings that a file may not contain: they could load foreign models or expose protected data."""
_ENABLE_ONLY_SETTINGS = ("default_excludes", "gitignore")
_DISABLE_ONLY_SETTINGS = ("background",)
_LOWER_ONLY_SETTINGS = (
    "max_file_bytes", "max_document_bytes", "max_files", "max_total_bytes", "memory_mb", "workers", "encoder_threads",
    "parse_timeout_s", "document_timeout_s",
)  # fmt: skip
"""Resource limits: a file may lower them but not raise them."""
_MAX_DEFAULT_WORKERS = 8  # the default maximum
_USER_VARIABLE = "SUDO_UID"


def load_settings(
    *,
    flags: Mapping[str, object],
    environment: Mapping[str, str],
    folder: Path | None,
    defaults: Settings | None = None,
) -> Settings:
    """Load settings from flags (None means not given), variables and the nearest `dowse.toml`, in this order of
    precedence."""
    values: dict[str, object] = {} if defaults is None else {name: getattr(defaults, name) for name in SETTINGS}
    if folder is not None:
        values |= _load_settings_file(folder, defaults or Settings(), environment)
    for name in SETTINGS:
        variable = environment.get(ENVIRONMENT_PREFIX + name.upper())
        if variable is not None and variable != "":
            values[name] = parse_setting(name, variable, f"the variable {ENVIRONMENT_PREFIX}{name.upper()}")
    for name, value in flags.items():
        if value is not None:
            _reject_secret(name, f"--{name.replace('_', '-')}")
            values[name] = parse_setting(name, value, f"--{name.replace('_', '-')}")
    return Settings(**values)  # type: ignore[arg-type]


def belongs_to_other_user(path: Path, environment: Mapping[str, str]) -> bool:
    """Return whether a settings file, a link in its place or its directory belongs to another user, who is not trusted.

    This follows git's `safe.directory`: in a directory like /tmp anybody can put a file above another user's project.
    Files of root are trusted. After sudo, files of the original user are trusted too.
    """
    user = os.geteuid()
    trusted = {user, 0}
    if user == 0 and environment.get(_USER_VARIABLE, "").isdecimal():
        trusted.add(int(environment[_USER_VARIABLE]))
    try:
        return not {path.lstat().st_uid, path.stat().st_uid, path.parent.stat().st_uid} <= trusted
    except OSError:
        return False  # reading the file will report the error


def _load_settings_file(folder: Path, defaults: Settings, environment: Mapping[str, str]) -> dict[str, object]:
    path = folder / SETTINGS_FILE_NAME
    try:
        if not path.exists() or belongs_to_other_user(path, environment):
            return {}
        if not path.is_file() or path.stat().st_size > _MAX_SETTINGS_FILE_BYTES:
            raise BadInput(f"{path} is not a settings file; it must be a regular file of at most 1 MB")
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BadInput(f"cannot read {path}: {error}") from error
    unknown = sorted(set(table) - set(SETTINGS))
    if unknown:
        raise BadInput(f"{path} has unknown settings {', '.join(unknown)}; choose from {', '.join(SETTINGS)}")
    for name in table:
        _reject_secret(name, str(path))
    values = {name: parse_setting(name, value, f"{path}: {name}") for name, value in table.items()}
    _reject_untrusted(values, path)
    _reject_raised_limits(values, defaults, path)
    if defaults.exclude and "exclude" in values:
        values["exclude"] = (*defaults.exclude, *values["exclude"])  # type: ignore[misc]
    return {
        name: _resolve_inside(folder, value, f"{path}: {name}") if isinstance(value, Path) else value
        for name, value in values.items()
    }


def _reject_secret(name: str, where: str) -> None:
    if name in SECRET_SETTINGS:
        raise BadInput(
            f"{where} must not contain {name}, which is a secret; set the variable {ENVIRONMENT_PREFIX}{name.upper()}"
        )


def _reject_untrusted(values: Mapping[str, object], path: Path) -> None:
    """Reject settings that would send texts to a server or run a model, because the file may come from someone else."""
    servers = [name for name in ("encoder", "reranker") if _is_server(str(values.get(name, "")))]
    if servers:
        flag = f"--{servers[0]} or the variable {ENVIRONMENT_PREFIX}{servers[0].upper()}"
        raise BadInput(f"{path}: {servers[0]} must not be a server; set it with {flag}")
    for name in _USER_ONLY_SETTINGS:
        if name in values:
            raise BadInput(f"{path}: {name} must not be set here; use {_override_hint(name)}")


def _reject_raised_limits(values: Mapping[str, object], defaults: Settings, path: Path) -> None:
    """Reject settings that index or do more than the defaults. A file may add excludes but not remove them."""
    for name in _ENABLE_ONLY_SETTINGS:
        if values.get(name) is False and getattr(defaults, name):
            raise BadInput(f"{path}: {name} must not be turned off here; use {_override_hint(name, 'no-')}")
    for name in _DISABLE_ONLY_SETTINGS:
        if values.get(name) and not getattr(defaults, name):
            raise BadInput(f"{path}: {name} must not be turned on here; use {_override_hint(name)}")
    for name in _LOWER_ONLY_SETTINGS:
        most = getattr(defaults, name) or _MAX_DEFAULT_WORKERS
        value = values.get(name, most)
        if value > most or (name == "memory_mb" and not value):  # type: ignore[operator]
            raise BadInput(f"{path}: {name} may be at most {most:,} here; to raise it, use {_override_hint(name)}")
    if values.get("memory_location", defaults.memory_location) not in (defaults.memory_location, "project"):
        raise BadInput(
            f"{path}: memory_location must be 'project' here; otherwise use {_override_hint('memory_location')}"
        )


def _override_hint(name: str, negation: str = "") -> str:
    return f"the flag --{negation}{name.replace('_', '-')} or the variable {ENVIRONMENT_PREFIX}{name.upper()}"


def _is_server(value: str) -> bool:
    return ":" in value or value in _SERVER_KINDS


def _resolve_inside(folder: Path, value: Path, where: str) -> Path:
    """Resolve a path of a settings file. It must stay inside the folder: the file may come from someone else."""
    resolved = (folder / value).resolve()
    if folder.resolve() not in resolved.parents:
        raise BadInput(f"{where} must be inside {folder}; use the flag or the variable for another path")
    return resolved


def parse_setting(name: str, value: object, where: str) -> object:
    """Convert a value to the type of the setting; `where` names its source in the error."""
    kind = str(SETTINGS[name].type)
    parser = {
        "str": _parse_text, "int": _parse_int, "float": _parse_float, "bool": _parse_bool,
        "tuple[str, ...]": _parse_text_list, "Path | None": _parse_path,
    }[kind]  # fmt: skip
    try:
        return parser(value)
    except (ValueError, TypeError) as error:
        raise BadInput(f"{where} must be {_SETTING_TYPE_NAMES[kind]}, not {value!r}") from error


_SETTING_TYPE_NAMES = {
    "str": "text", "int": "a whole number", "float": "a number", "bool": "true or false",
    "tuple[str, ...]": "globs", "Path | None": "a path",
}  # fmt: skip


def _parse_text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _parse_int(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise TypeError
    return int(value)


def _parse_float(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise TypeError
    return float(value)


_BOOLEAN_WORDS = {
    "1": True,
    "true": True,
    "yes": True,
    "on": True,
    "0": False,
    "false": False,
    "no": False,
    "off": False,
}


def _parse_bool(value: object) -> bool:
    word = str(value).strip().lower()
    if word not in _BOOLEAN_WORDS:
        raise ValueError
    return _BOOLEAN_WORDS[word]


def _parse_text_list(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        value = value.split(",")
    if not isinstance(value, list | tuple) or not all(isinstance(it, str) for it in value):
        raise TypeError
    return tuple(it.strip() for it in value if it.strip())


def _parse_path(value: object) -> Path:
    if isinstance(value, Path):
        return value
    if not isinstance(value, str) or not value or "\0" in value:
        raise TypeError
    return Path(value).expanduser()
