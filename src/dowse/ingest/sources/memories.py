"""A folder of memories as a source: every note in it, whatever git ignores, and nothing that was thrown away."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from dowse.ingest.sources.files import FileSource

FORM: Final = "memory"
FOLDER: Final = ".memories"  # in a root
TRASH: Final = ".trash"


def memory_files(root: Path, under: tuple[str, ...] = (), *, show_secrets: bool = False) -> FileSource:
    return FileSource(
        root,
        include=("*.[mM][dD]", "*.[mM][aA][rR][kK][dD][oO][wW][nN]"),
        exclude=(f"/{TRASH}/", "/indices/", ".*"),
        default_excludes=False,
        use_gitignore=False,
        show_secrets=show_secrets,
        under=under,
        form=FORM,
        is_stored=True,
    )
