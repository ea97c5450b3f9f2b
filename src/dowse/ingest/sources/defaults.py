"""What a collection of files leaves out unless its settings say otherwise."""

from __future__ import annotations

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
    " *.pb.go *_pb2.py *_pb2_grpc.py *.snap .DS_Store Thumbs.db *.swp *.swo *~ *.tmp *.bak *.orig *.rej"
)
# Data that is text only by accident: words are rare in it, lines and files are long.
_DATA_FILES = "*.svg *.po *.pot *.csv *.tsv *.jsonl *.ndjson *.geojson *.log *.sqlite-wal *.sqlite-journal"

DEFAULT_EXCLUDE: tuple[str, ...] = tuple(f"{_TOOL_DIRECTORIES} {_GENERATED_FILES} {_DATA_FILES}".split())
