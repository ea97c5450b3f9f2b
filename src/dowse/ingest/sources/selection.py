"""What a collection wants, judged by path alone."""

from __future__ import annotations

from dataclasses import dataclass

from dowse.text.globs import Matcher, compile_globs


@dataclass(frozen=True, slots=True)
class Selection:
    """Paths are relative to the root; `under` narrows it to one directory or file."""

    included: Matcher
    excluded: Matcher
    binary_suffixes: frozenset[str]
    under: str

    def has_directory(self, path: str) -> bool:
        """Whether something in it may be wanted: it is not excluded, and is below `under` or leads there."""
        return not self.excluded(path + "/") and (self._is_under(path) or self.under.startswith(path + "/"))

    def has_file(self, path: str) -> bool:
        if not self._is_under(path) or self._is_binary(path):
            return False
        return self.included(path) and not self.excluded(path)

    def _is_under(self, path: str) -> bool:
        return not self.under or path == self.under or path.startswith(self.under + "/")

    def _is_binary(self, path: str) -> bool:
        return "." + path.rpartition(".")[2].lower() in self.binary_suffixes


def select(include: tuple[str, ...], exclude: tuple[str, ...], under: str) -> Selection:
    """No include globs means everything that is not excluded."""
    from dowse.ingest.extract.table import KNOWN_BINARY_SUFFIXES  # brings the extractors with it

    return Selection(compile_globs(include or ("**",)), compile_globs(exclude), KNOWN_BINARY_SUFFIXES, under)
