"""What of a collection is worth watching: what its source would list, as far as that can be told quickly."""

from __future__ import annotations

from dowse.ingest.sources.files import FileSource
from dowse.ingest.sources.judge import Judge, Kept
from dowse.live.watch.base import Place


def place_of(collection: str, source: FileSource) -> Place:
    """The place whose files the source lists. What it wants is never less than that, and may be a little more."""
    bounds = _Bounds(source)
    return Place(collection, source.root, bounds.wanted_dir, bounds.wanted, bounds.renew)


class _Bounds:
    """Judges paths by globs, ignore files and one question to git, all as they were when last renewed."""

    def __init__(self, source: FileSource) -> None:
        self._source = source
        self._judge, self._kept = self._judged()

    def wanted_dir(self, path: str) -> bool:
        """Also one in which git keeps a repository: that it is there, not what is in it, is worth knowing."""
        return self._judge.reaches(path)

    def wanted(self, path: str) -> bool:
        return self._judge.has_file(path)

    def renew(self) -> bool:
        """Read the rules again. Others may be asked meanwhile: they get an answer by the old ones or the new ones."""
        before = self._kept
        self._judge, self._kept = self._judged()
        for repository in list(before.files):
            self._judge.has_directory(repository)
        return before.files != self._kept.files

    def _judged(self) -> tuple[Judge, Kept]:
        kept = Kept()
        return self._source.judge(kept), kept
