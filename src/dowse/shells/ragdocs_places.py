"""Where files of mcp-markdown-ragdocs may lie: its configuration, and the memories that its users have already.

The front of a server must not import more to know."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

FOLDER, NAME = ".mcp-markdown-ragdocs", "config.toml"


def configuration_places(folder: Path, environment: Mapping[str, str]) -> list[Path]:
    """In this directory or one above it, else among the user's own; the first that is there counts."""
    around = [it / FOLDER / NAME for it in (folder, *folder.parents)]
    own = own_configuration(environment)
    return around if own is None else [*around, own]


def own_configuration(environment: Mapping[str, str]) -> Path | None:
    folder = _own(environment, "XDG_CONFIG_HOME", ".config")
    return None if folder is None else folder / NAME


def own_memories(environment: Mapping[str, str]) -> Path | None:
    folder = _own(environment, "XDG_DATA_HOME", ".local/share")
    return None if folder is None else folder / "memories"


def _own(environment: Mapping[str, str], variable: str, below_home: str) -> Path | None:
    home = environment.get("HOME", "")
    place = environment.get(variable) or (f"{home}/{below_home}" if home else "")
    return Path(place) / FOLDER.removeprefix(".") if place else None
