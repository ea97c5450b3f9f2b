"""Where indexes, caches and sockets live, and which directory a command works on."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from dowse.config import Settings
from dowse.errors import BadInput

INDEX_FILE_NAME = "index.db"
_DATA_SUBDIRECTORIES = ("indexes", "vectors", "models", "run")  # our subdirectories of the data directory


@dataclass(frozen=True, slots=True)
class DataPaths:
    data_dir: Path
    memory_folder: Path | None = None  # the user's memory folder, if it is not in the data directory

    @classmethod
    def of(cls, settings: Settings) -> DataPaths:
        folder = None if settings.memory_location in ("project", "user") else Path(settings.memory_location)
        if settings.data_dir is not None:
            return cls(settings.data_dir.absolute(), folder)
        from platformdirs import user_data_path

        return cls(user_data_path("dowse", appauthor=False), folder)

    @property
    def vectors(self) -> Path:
        """Return the cache of vectors by text, shared by all indexes of this user."""
        return self.data_dir / "vectors"

    @property
    def models(self) -> Path:
        return self.data_dir / "models"

    @property
    def memories(self) -> Path:
        """Return the folder of the user's memories, which apply to every project."""
        return self.memory_folder or self.data_dir / "memories"

    @property
    def indexes(self) -> Path:
        """Return the parent directory of all indexes; each root has one."""
        return self.data_dir / "indexes"

    def index_path(self, root: Path) -> Path:
        """Return the index file of a root. Its directory has a readable name and a hash of the path."""
        key = hashlib.sha256(str(root).encode("utf-8", "surrogateescape")).hexdigest()[:12]
        name = "".join(letter if letter.isalnum() or letter in "-_." else "_" for letter in root.name) or "root"
        return self.indexes / f"{name[:60]}-{key}" / INDEX_FILE_NAME

    def joint_index_path(self, roots: Sequence[Path]) -> Path:
        """Return the index file of a set of roots, independent of their order."""
        paths = sorted({str(it) for it in roots})
        key = hashlib.sha256("\0".join(paths).encode("utf-8", "surrogateescape")).hexdigest()[:12]
        return self.indexes / f"{len(paths)}-roots-{key}" / INDEX_FILE_NAME

    def root_of_index(self, index: Path, inside: Path) -> Path | None:
        """Return the root that owns this index: `inside` or a directory above it. Return None for an index at another
        path."""
        return next((it for it in (inside, *inside.parents) if self.index_path(it) == index), None)


# Virtual file systems: some files there never end, and some have side effects when read.
_VIRTUAL_FILE_SYSTEMS = (Path("/proc"), Path("/sys"), Path("/dev"))
_SHARED_MEMORY = Path("/dev/shm")


def check_root(root: Path, *, allow_any_root: bool, data_dir: Path | None = None) -> Path:
    """Return the root as an absolute path. Reject roots that are too broad or cannot contain files."""
    try:
        resolved = root.expanduser().resolve()
        exists = resolved.exists()
        str(resolved).encode()
    except (OSError, RuntimeError, ValueError) as error:
        # Names that are too long or contain NUL, link loops, and directories without access.
        raise BadInput(f"{str(root)[-100:]!r} cannot be used: {error.args[-1]}; pass an existing directory") from None
    if not exists:
        raise BadInput(f"{root} does not exist; pass an existing directory")
    if not allow_any_root and resolved in (Path("/"), Path.home().resolve()):
        raise BadInput(f"{resolved} is too broad to index; pass a directory below it, or --allow-any-root")
    is_virtual = any(resolved.is_relative_to(it) for it in _VIRTUAL_FILE_SYSTEMS) and not resolved.is_relative_to(
        _SHARED_MEMORY
    )
    if is_virtual and resolved.is_dir():
        raise BadInput(f"{resolved} is a virtual file system; pass a directory with regular files")
    if data_dir is not None and _is_data_directory(resolved, data_dir.resolve()):
        raise BadInput(f"{resolved} holds Dowse's indexes and cannot be indexed; pass another directory")
    return resolved


def is_directory(place: Path) -> bool:
    """Return whether the path is a directory; False if it cannot be accessed."""
    try:
        return place.is_dir()
    except OSError:
        return False


def is_redirected_root(root: Path) -> bool:
    """Return whether a symbolic link has replaced a stored root or a directory above it.

    Stored roots are real paths, so the user never named the target of that link.
    """
    return root.is_absolute() and os.path.realpath(root) != str(root)


def is_intact_root(root: Path) -> bool:
    """Return whether a stored root still exists and is still the directory that was named."""
    return is_directory(root) and not is_redirected_root(root)


def _is_data_directory(place: Path, data_dir: Path) -> bool:
    """Return whether the path is the data directory or one of our subdirectories; projects may be elsewhere in it."""
    return place == data_dir or any(place.is_relative_to(data_dir / it) for it in _DATA_SUBDIRECTORIES)


def replace_file(path: Path, data: bytes, mode: int = 0o600) -> None:
    """Write a temporary file, flush it and rename it, so that no reader sees a partial file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.urandom(8).hex()}")
    try:
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(mode)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


# --------------------------------------------------------------------------------------------------
# Look up each directory on the way to a path once.

_CachedValue = TypeVar("_CachedValue")


def cached_with_ancestors(
    directory: str, known: dict[str, _CachedValue], look_at: Callable[[str], _CachedValue]
) -> _CachedValue:
    """Return the cached value of a directory. Missing values are computed for its ancestors first, each once."""
    if directory not in known:
        for place in ancestors_and_self(directory):
            if place not in known:
                known[place] = look_at(place)
    return known[directory]


def ancestors_and_self(directory: str) -> Iterator[str]:
    """Yield `a`, `a/b`, `a/b/c` for `a/b/c`; nothing for the root."""
    end = directory.find("/")
    while end >= 0:
        yield directory[:end]
        end = directory.find("/", end + 1)
    if directory:
        yield directory
