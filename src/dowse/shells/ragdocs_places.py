"""Where the configuration file of mcp-markdown-ragdocs may lie; the front of a server must not import more to know."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

FOLDER, NAME = ".mcp-markdown-ragdocs", "config.toml"


def configuration_places(folder: Path, environment: Mapping[str, str]) -> list[Path]:
    """In this directory or one above it, else among the user's own; the first that is there counts."""
    around = [it / FOLDER / NAME for it in (folder, *folder.parents)]
    home = environment.get("HOME", "")
    settings = environment.get("XDG_CONFIG_HOME") or (f"{home}/.config" if home else "")
    return [*around, Path(settings) / FOLDER.removeprefix(".") / NAME] if settings else around
