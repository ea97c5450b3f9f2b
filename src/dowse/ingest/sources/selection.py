"""What a collection wants, judged by path alone."""

from __future__ import annotations

from dataclasses import dataclass

from dowse.ingest.sources.part import WHOLE, Part
from dowse.text.globs import Matcher, compile_globs


@dataclass(frozen=True, slots=True)
class Selection:
    """Paths are relative to the root."""

    included: Matcher
    excluded: Matcher
    binary_suffixes: frozenset[str]
    part: Part = WHOLE

    def has_directory(self, path: str) -> bool:
        """Whether something in it may be wanted: it is not excluded, and is in the part or leads there."""
        return (self.part.holds(path) or self.part.is_on_the_way(path)) and not self.excluded(path + "/")

    def has_file(self, path: str) -> bool:
        if not self.part.holds(path) or self._is_binary(path):
            return False
        return self.included(path) and not self.excluded(path)

    def _is_binary(self, path: str) -> bool:
        return "." + path.rpartition(".")[2].lower() in self.binary_suffixes


def select(include: tuple[str, ...], exclude: tuple[str, ...], part: Part) -> Selection:
    """No include globs means everything that is not excluded."""
    from dowse.ingest.extract.table import KNOWN_BINARY_SUFFIXES  # brings the extractors with it

    return Selection(compile_globs(include or ("**",)), compile_globs(exclude), KNOWN_BINARY_SUFFIXES, part)


def select_folders(exclude: tuple[str, ...]) -> Selection:
    """For judging directories alone, which needs no table of suffixes."""
    return Selection(compile_globs(("**",)), compile_globs(exclude), frozenset())
