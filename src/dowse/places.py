"""Where things lie on this machine, and how a file there is replaced: data directory, the index of a root."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dowse.config import Settings
from dowse.errors import BadInput

INDEX_NAME = "index.db"
_KEPT = ("indexes", "vectors", "models", "run")  # what the data directory has of ours


@dataclass(frozen=True, slots=True)
class Places:
    data_dir: Path
    memory_folder: Path | None = None  # where the user keeps memories, if not in the data directory

    @classmethod
    def of(cls, settings: Settings) -> Places:
        folder = None if settings.memories in ("project", "user") else Path(settings.memories)
        if settings.data_dir is not None:
            return cls(settings.data_dir.absolute(), folder)
        from platformdirs import user_data_path

        return cls(user_data_path("dowse", appauthor=False), folder)

    @property
    def vectors(self) -> Path:
        """Vectors by text, shared by every index of this user."""
        return self.data_dir / "vectors"

    @property
    def models(self) -> Path:
        return self.data_dir / "models"

    @property
    def memories(self) -> Path:
        """What the user wants to be remembered in every project."""
        return self.memory_folder or self.data_dir / "memories"

    @property
    def indexes(self) -> Path:
        """One directory for each root that is indexed."""
        return self.data_dir / "indexes"

    def index_of(self, root: Path) -> Path:
        """A root's index: readable by its name, unique by its path."""
        key = hashlib.sha256(str(root).encode("utf-8", "surrogateescape")).hexdigest()[:12]
        name = "".join(letter if letter.isalnum() or letter in "-_." else "_" for letter in root.name) or "root"
        return self.indexes / f"{name[:60]}-{key}" / INDEX_NAME

    def index_of_all(self, roots: Sequence[Path]) -> Path:
        """One index for a set of roots, whatever their order: a place of its own, which is that of none of them."""
        every = sorted({str(it) for it in roots})
        key = hashlib.sha256("\0".join(every).encode("utf-8", "surrogateescape")).hexdigest()[:12]
        return self.indexes / f"{len(every)}-roots-{key}" / INDEX_NAME

    def root_of(self, index: Path, inside: Path) -> Path | None:
        """The root whose standard place this index lies in: `inside` or a directory above it. None for any other
        index, which may hold whatever its user brings in."""
        return next((it for it in (inside, *inside.parents) if self.index_of(it) == index), None)


# What lies below is made up by the system as it is read; some of it never ends, some does something when read.
_NO_FILES = (Path("/proc"), Path("/sys"), Path("/dev"))
_BUT_FILES = Path("/dev/shm")


def checked_root(root: Path, *, any_root: bool, data_dir: Path | None = None) -> Path:
    """The root as an absolute path; refuses what nobody means to index whole, and what is no place for files."""
    try:
        resolved = root.expanduser().resolve()
        exists = resolved.exists()
        str(resolved).encode()
    except (OSError, RuntimeError, ValueError) as error:
        # Names too long or with a NUL, links that lead to themselves, directories that may not be entered.
        raise BadInput(f"{str(root)[-100:]!r} can not be used: {error.args[-1]}; name an existing directory") from None
    if not exists:
        raise BadInput(f"{root} does not exist; name an existing directory")
    if not any_root and resolved in (Path("/"), Path.home().resolve()):
        raise BadInput(f"{resolved} is too broad to index; name a directory below it, or pass --any-root")
    made_up = any(resolved.is_relative_to(it) for it in _NO_FILES) and not resolved.is_relative_to(_BUT_FILES)
    if made_up and resolved.is_dir():
        raise BadInput(f"{resolved} holds no files but what the system makes up; name a directory with files")
    if data_dir is not None and _is_ours(resolved, data_dir.resolve()):
        raise BadInput(f"{resolved} is where indexes are kept, and can not be indexed; name another directory")
    return resolved


def is_directory(place: Path) -> bool:
    """Also of a place that may not be looked at: then it is none."""
    try:
        return place.is_dir()
    except OSError:
        return False


def leads_elsewhere(root: Path) -> bool:
    """Whether a link has taken the place of a stored root, which is a real path, or of a directory above it: nobody
    named what it leads to."""
    return root.is_absolute() and os.path.realpath(root) != str(root)


def is_stored_root(root: Path) -> bool:
    """Whether a stored root is there, and still the directory that was named."""
    return is_directory(root) and not leads_elsewhere(root)


def _is_ours(place: Path, data_dir: Path) -> bool:
    """A project may lie in a data directory that somebody chose; what we keep there is none."""
    return place == data_dir or any(place.is_relative_to(data_dir / it) for it in _KEPT)


def replace_file(path: Path, data: bytes, mode: int = 0o600) -> None:
    """Written aside, flushed and renamed, so that nobody ever sees half a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f".{path.name}.{os.urandom(8).hex()}")
    try:
        with os.fdopen(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        aside.chmod(mode)
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)
