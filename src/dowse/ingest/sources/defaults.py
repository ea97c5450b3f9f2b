"""What a collection of files leaves out unless its settings say otherwise, and how that is told."""

from __future__ import annotations

from collections.abc import Iterable

from dowse.text.globs import compile_globs

MAX_FILE_BYTES = 10_000_000

# Directories that tools fill: version control, environments, caches, build output.
_TOOL_DIRECTORIES = (
    ".git/ .hg/ .svn/ .jj/ .venv/ venv/ site-packages/ node_modules/ bower_components/ __pycache__/"
    " __pypackages__/ .mypy_cache/ .pytest_cache/ .ruff_cache/ .hypothesis/ .tox/ .nox/ .eggs/ *.egg-info/"
    " .cache/ .parcel-cache/ .gradle/ .terraform/ .next/ .nuxt/ .svelte-kit/ .idea/ .vs/ .ipynb_checkpoints/"
    " .Trash-*/ .env/"
)
# Files that tools write: nobody searches for what they say, and they are large.
_GENERATED_FILES = (
    "*.lock package-lock.json npm-shrinkwrap.json pnpm-lock.yaml go.sum *.min.js *.min.css *.bundle.js *.map"
    " *.pb.go *_pb2.py *_pb2_grpc.py *.snap *~ *.tmp *.bak *.orig *.rej"
)
# Files that nobody calls theirs: they are not counted as left out.
_SYSTEM_FILES = ".DS_Store Thumbs.db *.swp *.swo *.sqlite-wal *.sqlite-journal"
# Data that is text only by accident: words are rare in it, lines and files are long.
_DATA_FILES = "*.svg *.po *.pot *.csv *.tsv *.jsonl *.ndjson *.geojson *.log"

DEFAULT_EXCLUDE: tuple[str, ...] = tuple(
    f"{_TOOL_DIRECTORIES} {_GENERATED_FILES} {_SYSTEM_FILES} {_DATA_FILES}".split()
)

BINARY = "binary"
_REASONS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("data", tuple(_DATA_FILES.split())),
    ("generated", tuple(_GENERATED_FILES.split())),
)


def default_exclude(extensions: Iterable[str] = ()) -> tuple[str, ...]:
    """The default globs, without those that name one of these extensions (`csv`, `.log`)."""
    lifted = {f"*.{it.strip().lstrip('.').lower()}" for it in extensions}
    return tuple(glob for glob in DEFAULT_EXCLUDE if glob not in lifted)


def why_excluded(path: str) -> str:
    """Which kind of file the default globs leave out here; empty for one that is not counted."""
    return next((reason for reason, globs in _REASONS if compile_globs(globs)(path)), "")
