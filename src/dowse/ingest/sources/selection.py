"""What a collection wants, and what it holds back, judged by path alone."""

from __future__ import annotations

from dataclasses import dataclass

from dowse.ingest.sources.defaults import BINARY, why_excluded
from dowse.ingest.sources.part import WHOLE, Part
from dowse.text.globs import Matcher, compile_globs
from dowse.text.secrets import is_secret_file


def hold_nothing(path: str) -> bool:
    return False


def held_below(root: str, show_secrets: bool) -> Matcher:
    """Which paths below the root are held back as files of secrets: the root's own name may tell, too."""
    return hold_nothing if show_secrets else lambda path: is_secret_file(f"{root}/{path}")


@dataclass(frozen=True, slots=True)
class Selection:
    """Paths are relative to the root. What is `held` back would be wanted otherwise, so that it is counted."""

    included: Matcher
    excluded: Matcher
    binary_suffixes: frozenset[str]
    part: Part = WHOLE
    held: Matcher = hold_nothing
    chosen: Matcher = hold_nothing  # what the user's own settings exclude

    def has_directory(self, path: str) -> bool:
        """Whether something in it may be wanted: it is not excluded, and is in the part or leads there."""
        return (self.part.holds(path) or self.part.is_on_the_way(path)) and not self.excluded(path + "/")

    def passes_over(self, path: str) -> bool:
        """Whether a directory of the part is not looked into, although nobody chose that."""
        return self.part.holds(path) and self.excluded(path + "/") and not self.chosen(path + "/")

    def has_file(self, path: str) -> bool:
        if not self.part.holds(path) or self._is_binary(path):
            return False
        return self.included(path) and not self.excluded(path)

    def why_left_out(self, path: str) -> str:
        """Why a file that is not wanted is left out, although nobody chose that; empty where somebody did."""
        if not self.part.holds(path) or not self.included(path) or self.chosen(path):
            return ""
        return BINARY if self._is_binary(path) else why_excluded(path)

    def _is_binary(self, path: str) -> bool:
        stem, _, suffix = path.rpartition("/")[2].rpartition(".")
        return bool(stem) and f".{suffix.lower()}" in self.binary_suffixes


def select(
    include: tuple[str, ...],
    exclude: tuple[str, ...],
    part: Part,
    held: Matcher = hold_nothing,
    chosen: tuple[str, ...] = (),
) -> Selection:
    """No include globs means everything that is not excluded; `chosen` are those excludes that are no default."""
    from dowse.ingest.extract.table import KNOWN_BINARY_SUFFIXES  # brings the extractors with it

    included, excluded = compile_globs(include or ("**",)), compile_globs(exclude)
    return Selection(included, excluded, KNOWN_BINARY_SUFFIXES, part, held, compile_globs(chosen))


def select_folders(exclude: tuple[str, ...]) -> Selection:
    """For judging directories alone, which needs no table of suffixes."""
    return Selection(compile_globs(("**",)), compile_globs(exclude), frozenset())
