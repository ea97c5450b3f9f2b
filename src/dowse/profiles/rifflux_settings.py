"""How a server of the Rifflux contract is set: defaults of its own, and the original's variables for ours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from dowse.config import Settings
from dowse.errors import BadInput

INDEX = Path(".tmp/rifflux/rifflux.db")

# The contract's globs alone decide what is indexed, so what git ignores or we would leave out is taken too.
DEFAULTS = Settings(
    index=INDEX,
    git=False,
    watch=False,
    repair_ms=0,
    gitignore=False,
    default_excludes=False,
    include=("*.md",),
    exclude=(
        ".git/*", ".venv/*", "**/__pycache__/*", "**/.pytest_cache/*", "**/.ruff_cache/*", "**/node_modules/*",
    ),
)  # fmt: skip

# The original's variables, and the settings they stand for here.
ALIASES: Mapping[str, str] = {
    "RIFFLUX_DB_PATH": "DOWSE_INDEX",
    "RIFFLUX_MAX_CHUNK_CHARS": "DOWSE_MAX_CHUNK_CHARS",
    "RIFFLUX_MIN_CHUNK_CHARS": "DOWSE_MIN_CHUNK_CHARS",
    "RIFFLUX_RRF_K": "DOWSE_RRF_K",
    "RIFFLUX_EMBEDDING_BACKEND": "DOWSE_ENCODER",
    "RIFFLUX_INDEX_INCLUDE_GLOBS": "DOWSE_INCLUDE",
    "RIFFLUX_INDEX_EXCLUDE_GLOBS": "DOWSE_EXCLUDE",
    "RIFFLUX_FILE_WATCHER": "DOWSE_WATCH",
    "RIFFLUX_FILE_WATCHER_DEBOUNCE_MS": "DOWSE_DEBOUNCE_MS",
}

_ON = ("1", "true", "yes", "on")


@dataclass(frozen=True, slots=True)
class Options:
    """What the original's other variables switch."""

    auto_reindex: bool = False
    auto_reindex_paths: tuple[str, ...] = (".",)
    auto_reindex_min_interval_s: float = 2.0
    watched: tuple[str, ...] = ()


def with_aliases(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment with `RIFFLUX_…` standing in for `DOWSE_…` where only the former is set."""
    renamed = {ours: environment[theirs] for theirs, ours in ALIASES.items() if environment.get(theirs)}
    return renamed | {name: text for name, text in environment.items() if text}


def options_from(environment: Mapping[str, str]) -> Options:
    seconds = environment.get("RIFFLUX_AUTO_REINDEX_MIN_INTERVAL_SECONDS") or "2.0"
    paths = environment.get("RIFFLUX_AUTO_REINDEX_PATHS") or "."
    try:
        interval_s = max(0.0, float(seconds))
    except ValueError:
        raise BadInput(f"RIFFLUX_AUTO_REINDEX_MIN_INTERVAL_SECONDS must be a number, not {seconds!r}") from None
    enabled = _is_on(environment, "RIFFLUX_AUTO_REINDEX_ON_SEARCH")
    return Options(enabled, _listed(paths), interval_s, _watched(environment))


def _watched(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Without paths of its own, the watcher follows what is indexed before a search."""
    if not _is_on(environment, "RIFFLUX_FILE_WATCHER"):
        return ()
    return _listed(
        environment.get("RIFFLUX_FILE_WATCHER_PATHS") or environment.get("RIFFLUX_AUTO_REINDEX_PATHS") or "."
    )


def _listed(paths: str) -> tuple[str, ...]:
    return tuple(it.strip() for it in paths.split(",") if it.strip())


def _is_on(environment: Mapping[str, str], variable: str) -> bool:
    return environment.get(variable, "").strip().lower() in _ON
