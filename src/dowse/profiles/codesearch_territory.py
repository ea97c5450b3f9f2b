"""The directory a question is about: which indexed files lie in it, and what their full paths are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dowse.errors import BadInput
from dowse.model import EVERYTHING, Collection, Scope
from dowse.profiles.codesearch_words import Keep, slashes


@dataclass(frozen=True, slots=True)
class Territory:
    """`places` are the roots of all collections by name, `roots` those of the ones in `scope`. `part` is the way from
    the one root to the directory, where that lies deeper."""

    directory: Path
    places: Mapping[str, str]
    roots: Mapping[str, str]
    scope: Scope
    part: str = ""

    def full(self, collection: str, path: str) -> str:
        return f"{self.places[collection].rstrip('/')}/{path}"

    def below(self, path: str) -> bool:
        """Whether a path in a collection lies in the directory."""
        return not self.part or path.startswith(f"{self.part}/")

    def without(self, excluded: Sequence[str]) -> Territory:
        """Less the collections that are excluded as a whole, because their root's path has one of the texts in it."""
        texts = [slashes(it) for it in excluded if it]
        kept = {name: root for name, root in self.roots.items() if not any(it in slashes(root) + "/" for it in texts)}
        return self if len(kept) == len(self.roots) else replace(self, roots=kept, scope=_scope(kept, self.places))

    def keep(self, *, extension: Keep | None = None, having: str = "", excluded: Sequence[str] = ()) -> Keep | None:
        """What decides by a path in a collection; None where every path is kept."""
        texts = [slashes(it) for it in excluded if it]
        part = slashes(having)
        if extension is None and not texts and not part:
            return self.below if self.part else None

        def is_kept(path: str) -> bool:
            if not self.below(path) or (extension is not None and not extension(path)):
                return False
            full = list(self._in_full(path))
            return any(part in it for it in full) and not any(text in it for text in texts for it in full)

        return is_kept

    def _in_full(self, path: str) -> Iterator[str]:
        return (slashes(f"{root.rstrip('/')}/{path}") for root in self.roots.values())


def territory_of(directory: Path, collections: Sequence[Collection]) -> Territory:
    """The collections at and below the directory, or the part of the one it lies in."""
    places = {it.name: it.root for it in collections}
    below = {it.name: it.root for it in collections if _is_in(Path(it.root), directory)}
    around = [it for it in collections if it.name not in below and _is_in(directory, Path(it.root))]
    if not around:
        return Territory(directory, places, below, _scope(below, places))
    nearest = max(around, key=lambda it: len(it.root))
    if below:
        raise BadInput(f"{directory} lies in {nearest.root} and has roots of its own in it; ask for one of them")
    inside = {nearest.name: nearest.root}
    part = directory.relative_to(nearest.root).as_posix()
    return Territory(directory, places, inside, _scope(inside, places), part)


def _scope(roots: Mapping[str, str], places: Mapping[str, str]) -> Scope:
    """No filter where it would let everything in: that is quicker. None of the collections is asked for by a name that
    none has."""
    return EVERYTHING if roots.keys() == places.keys() else Scope(collections=tuple(roots) or ("",))


def located(given: str, server_dir: Path) -> Path:
    """The directory that is meant, which must be the server's or lie below it, links followed."""
    if not given.strip():
        return server_dir
    try:
        place = (server_dir / given.replace("\\", "/")).resolve()
        is_directory = place.is_dir()
    except (OSError, RuntimeError, ValueError) as error:
        raise BadInput(f"dir {given[:100]!r} can not be used: {error.args[-1]}") from None
    if not _is_in(place, server_dir):
        raise BadInput(
            f"Server started with --dir {server_dir.as_posix()}. For other directories, start another server "
            "or use the command line."
        )
    if not is_directory:
        raise BadInput(f"dir {given[:100]!r} is not a directory below {server_dir.as_posix()}")
    return place


def _is_in(place: Path, directory: Path) -> bool:
    return place == directory or directory in place.parents
