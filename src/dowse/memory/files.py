"""Read and write note files atomically, below one directory."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import time
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count
from pathlib import Path, PurePath
from typing import Final

from dowse.errors import BadInput
from dowse.memory import frontmatter as front

# --------------------------------------------------------------------------------------------------
# Single-writer lock on the memory folder itself; the system drops it when its owner dies.

_FOLDER_LOCK_POLL_S: Final = 0.002
_FOLDER_OPEN_FLAGS: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def open_folder(place: Path | str, inside: int | None = None) -> int:
    """Open a directory. Refuse links: another user may have made them."""
    return os.open(place, _FOLDER_OPEN_FLAGS, dir_fd=inside)


def sync_folder(place: Path) -> None:
    """Flush the directory entries to disk."""
    folder = os.open(place, _FOLDER_OPEN_FLAGS & ~os.O_NOFOLLOW)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


@contextmanager
def lock_folder(place: Path, timeout_s: float) -> Iterator[int]:
    """Yield the open folder while no other thread or process writes in it.

    The directory itself is locked: a lock file could arrive as a link in a cloned repository.
    """
    deadline = time.monotonic() + timeout_s
    folder = _open_locked(place, deadline)
    try:
        yield folder
    finally:
        os.close(folder)


def _open_locked(place: Path, deadline: float) -> int:
    while True:
        folder = open_folder(place)
        try:
            _wait_for_lock(folder, place, deadline)
            if os.path.samestat(os.fstat(folder), os.lstat(place)):
                return folder
        except BaseException:
            os.close(folder)
            raise
        os.close(folder)  # another directory has replaced it meanwhile


def _wait_for_lock(folder: int, place: Path, deadline: float) -> None:
    while True:
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise BadInput(f"could not lock {place}: another process kept it busy; try again") from None
            time.sleep(_FOLDER_LOCK_POLL_S)
        else:
            return


# --------------------------------------------------------------------------------------------------
# Names of memories: any accepted name is one file inside the folder, on every system.

NOTE_SUFFIXES: Final = (".md", ".markdown")
MAX_NAME_PART_BYTES: Final = 200  # of each part
MAX_NAME_PARTS: Final = 10
_MAX_SHOWN_NAME_CHARS: Final = 60
_FORBIDDEN_CHARS: Final = frozenset('<>:"|?*')
# Device names on some systems, with any extension.
_RESERVED_NAMES: Final = frozenset(
    ("con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))),
)
# A subdirectory shared with files of other programs; it is not searched.
_UNSEARCHED_FOLDER: Final = "indices"


def memory_file_name(name: str) -> str:
    """Return the file path of a memory, relative to the folder; raise BadInput if the name is invalid.

    `notes` and `notes.md` name the same memory, `plans/notes` names another.
    """
    if problem := _name_problem(name):
        shown = repr(name[:_MAX_SHOWN_NAME_CHARS])
        raise BadInput(f"{shown} cannot be a memory name: {problem}; use one like notes.md or plans/q3.md")
    name = unicodedata.normalize("NFC", name)
    suffix = next((it for it in NOTE_SUFFIXES if name.lower().endswith(it)), "")
    return f"{name[: -len(suffix)]}{suffix}" if suffix else f"{name}.md"


def collision_key(name: str) -> str:
    """Return a key that is equal for names some file system treats as the same."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def find_colliding_name(name: str, others: Iterable[str]) -> str:
    """Return the first other name that differs only in case or Unicode encoding; empty if there is none."""
    return next((it for it in others if it != name and collision_key(it) == collision_key(name)), "")


def _name_problem(name: str) -> str:
    parts = name.split("/")
    if len(parts) > MAX_NAME_PARTS:
        return f"it has more than {MAX_NAME_PARTS} parts"
    if len(parts) > 1 and collision_key(parts[0]) == _UNSEARCHED_FOLDER:
        return f"{parts[0]} is not a memory folder"
    if any(collision_key(it).endswith(NOTE_SUFFIXES) for it in parts[:-1]):
        return "one of its folders ends like a note (.md, .markdown)"
    return next((found for it in parts if (found := _name_part_problem(it))), "")


def _name_part_problem(name: str) -> str:
    if not name.strip():
        return "it is empty or has an empty part"
    if "\\" in name:
        return "it contains a backslash; separate folders with /"
    if not name.isprintable():
        return "it contains unprintable characters"
    if name.startswith("."):
        return "it or a part of it starts with a dot"
    if name != name.strip() or name.endswith("."):
        return "it or a part of it starts or ends with a space, or ends with a dot"
    if found := sorted(_FORBIDDEN_CHARS & set(name)):
        return f"it contains {' '.join(found)}"
    if name.partition(".")[0].rstrip().lower() in _RESERVED_NAMES:
        return "it is a reserved device name on some systems"
    if len(unicodedata.normalize("NFC", name).encode()) > MAX_NAME_PART_BYTES:
        return f"it is longer than {MAX_NAME_PART_BYTES} bytes"
    return ""


# --------------------------------------------------------------------------------------------------
# Safe path traversal below the memory folder: opens one component at a time, so that no link leads out of it.


@contextmanager
def open_parent(folder: int, path: str) -> Iterator[tuple[int, str]]:
    """Yield the open parent directory of a file, and the file's name in it; raise FileNotFoundError if it is
    missing."""
    *above, name = path.split("/")
    place = os.dup(folder)
    try:
        for part in above:
            place = _descend(place, part)
        yield place, name
    finally:
        os.close(place)


def make_parents(folder: int, path: str, mode: int) -> None:
    """Create the missing parent directories of a file."""
    place = os.dup(folder)
    try:
        for part in path.split("/")[:-1]:
            with suppress(FileExistsError):
                os.mkdir(part, mode, dir_fd=place)
                os.fsync(place)
            place = _descend(place, part)
    finally:
        os.close(place)


def list_notes(folder: int) -> list[str]:
    """Return the relative paths of all notes."""
    found: list[str] = []
    for place, folders, names, _ in os.fwalk(".", dir_fd=folder):
        # No valid name is deeper, and a hostile tree may be deeper than the walk can follow.
        is_deepest = place.count("/") + 1 >= MAX_NAME_PARTS
        folders[:] = [] if is_deepest else [it for it in folders if not it.startswith(".")]
        found += [f"{place}/{it}".removeprefix("./") for it in names if it.lower().endswith(NOTE_SUFFIXES)]
    return sorted(found)


def open_subfolder(place: int, part: str) -> int:
    """Open a subdirectory; raise BadInput if it is a link or a file."""
    try:
        return open_folder(part, place)
    except OSError as error:
        if error.errno in (errno.ENOTDIR, errno.ELOOP):
            raise BadInput(f"{part} is not a directory, and links are not followed; move it away") from None
        raise


def _descend(place: int, part: str) -> int:
    """Open a subdirectory and close its parent."""
    inside = open_subfolder(place, part)
    os.close(place)
    return inside


# --------------------------------------------------------------------------------------------------
# File operations below an open directory: atomic, and without following links.

# One name is enough, because only the owner of the folder lock writes. A leftover of a killed process is replaced.
TEMPORARY_NAME: Final = ".writing"
_READ_FLAGS: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_WRITE_FLAGS: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@contextmanager
def os_errors_as_bad_input(doing: str) -> Iterator[None]:
    """Convert an OSError to BadInput."""
    try:
        yield
    except OSError as error:
        raise BadInput(f"cannot {doing}: {error.strerror}; check the disk and its permissions") from error


def path_exists(folder: int, path: str) -> bool:
    return _mode_at_path(folder, path) is not None


def note_exists(folder: int, path: str) -> bool:
    """Return whether the path exists; raise BadInput if it is a directory."""
    mode = _mode_at_path(folder, path)
    if mode is not None and stat.S_ISDIR(mode):
        raise BadInput(f"{path} is a directory, not a memory; rename it or use another name")
    return mode is not None


def read_note_file(folder: int, path: str, max_bytes: int) -> bytes:
    """Read a file; raise FileNotFoundError if it is missing, BadInput if it is not a regular file or too large."""
    with open_parent(folder, path) as (place, name):
        _check_regular(path, _mode_in_directory(place, name))
        with os.fdopen(os.open(name, _READ_FLAGS, dir_fd=place), "rb") as file:
            data = file.read(max_bytes + 1)
    check_note_size(path, len(data), max_bytes)
    return data


def check_note_size(name: str, size: int, max_bytes: int) -> None:
    if size > max_bytes:
        raise BadInput(f"{name} would be larger than {max_bytes:,} bytes; write another memory")


def write_note_file(folder: int, path: str, data: bytes) -> None:
    """Write to a temporary file, flush and rename: after a kill or on a full disk, the old or the new file is
    complete."""
    with open_parent(folder, path) as (place, name):
        mode = _mode_in_directory(place, name)
        _check_regular(path, mode)
        _write_atomically(place, name, data, mode)


def move_note_file(folder: int, path: str, target_folder: int, target_path: str) -> None:
    """Move a file atomically and durably. The caller makes sure that the new name is free."""
    with open_parent(folder, path) as (old, name), open_parent(target_folder, target_path) as (new, new_name):
        _check_regular(path, _mode_in_directory(old, name))
        os.rename(name, new_name, src_dir_fd=old, dst_dir_fd=new)
        os.fsync(new)
        os.fsync(old)


def _write_atomically(folder: int, name: str, data: bytes, mode: int | None) -> None:
    """Write with the permissions of `mode`; None: a new file with the user's umask."""
    try:
        with suppress(FileNotFoundError):
            os.unlink(TEMPORARY_NAME, dir_fd=folder)
        with os.fdopen(os.open(TEMPORARY_NAME, _WRITE_FLAGS, 0o666, dir_fd=folder), "wb") as file:
            file.write(data)
            file.flush()
            if mode is not None:
                os.fchmod(file.fileno(), stat.S_IMODE(mode))
            os.fsync(file.fileno())
        os.rename(TEMPORARY_NAME, name, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError:
        with suppress(OSError):
            os.unlink(TEMPORARY_NAME, dir_fd=folder)
        raise
    os.fsync(folder)


def _check_regular(path: str, mode: int | None) -> None:
    if mode is not None and not stat.S_ISREG(mode):
        raise BadInput(f"{path} is not a regular file, and links are not followed; replace it with the file itself")


def _mode_at_path(folder: int, path: str) -> int | None:
    try:
        with open_parent(folder, path) as (place, name):
            return _mode_in_directory(place, name)
    except FileNotFoundError:
        return None


def _mode_in_directory(folder: int, name: str) -> int | None:
    """Return file type and permissions; None if nothing exists."""
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return None


TRASH_FOLDER: Final = ".trash"
MAX_MEMORY_BYTES: Final = 10_000_000
_LIST_HINT: Final = '`dowse memories` lists them, `search` with kinds ["memory"] finds them'


@dataclass(frozen=True, slots=True)
class MemoryFolder:
    """A directory of memories, created with the first one. `private`: readable by the user alone.

    Memories may lie in subdirectories; a name is the relative path, with or without its suffix.
    """

    directory: Path
    private: bool = False
    timeout_s: float = 10.0

    def create(self, name: str, text: str) -> str:
        """Write a new memory; return its file name."""
        name = memory_file_name(name)
        data = _encode_note(name, text)
        with self._writing(name, make=True) as folder:
            self._check_free(folder, name)
            make_parents(folder, name, self._mode)
            write_note_file(folder, name, data)
        return name

    def change(self, name: str, changed: Callable[[str], str]) -> str:
        """Read, change and write a memory under the folder lock."""
        with self._writing(name) as folder:
            name = self._find(folder, name)
            write_note_file(
                folder,
                name,
                _encode_note(name, changed(_decode_note(name, read_note_file(folder, name, MAX_MEMORY_BYTES)))),
            )
        return name

    def append(self, name: str, content: str, renewed: Callable[[str], str] = str) -> str:
        """Append the content to the body; `renewed` may update the front matter."""
        return self.change(name, lambda text: front.append_paragraph(renewed(text), content))

    def replace(self, name: str, content: str, renewed: Callable[[str], str] = str) -> str:
        """Replace the body with the content; keep the front matter."""
        return self.change(name, lambda text: renewed(front.with_body(text, content)))

    def read(self, name: str) -> tuple[str, str]:
        """Return the file name and the text."""
        with os_errors_as_bad_input(f"read memories in {self.directory}"), self._open_folder(name) as folder:
            name = self._find(folder, name, nearly=True)
            return name, _decode_note(name, read_note_file(folder, name, MAX_MEMORY_BYTES))

    def move_to_trash(self, name: str, now: float) -> tuple[str, Path]:
        """Move a memory to the trash; return its name and its path there."""
        with self._writing(name) as folder:
            name = self._find(folder, name)
            return name, self._move(folder, name, now)

    def merge(
        self, sources: Sequence[str], target: str, text: Callable[[Sequence[str]], str], now: float
    ) -> tuple[str, tuple[str, ...], tuple[Path, ...]]:
        """Write one new memory from the texts of others, and move those to the trash. The target may be one of them.

        Return the target's file name, the sources' file names and their paths in the trash.
        """
        target = memory_file_name(target)
        with self._writing(target) as folder:
            names = list(dict.fromkeys(self._find(folder, it) for it in sources))
            if target not in names:
                self._check_free(folder, target)
            texts = [_decode_note(it, read_note_file(folder, it, MAX_MEMORY_BYTES)) for it in names]
            data = _encode_note(target, text(texts))
            # In this order a kill leaves a duplicate, never a loss.
            trashed = [self._copy(folder, it, now) for it in names if it == target]
            make_parents(folder, target, self._mode)
            write_note_file(folder, target, data)
            trashed += [self._move(folder, it, now) for it in names if it != target]
        return target, tuple(names), tuple(trashed)

    # --- inside the folder ---

    @property
    def _mode(self) -> int:
        return 0o700 if self.private else 0o777

    @contextmanager
    def _writing(self, name: str, *, make: bool = False) -> Iterator[int]:
        with os_errors_as_bad_input(f"write {name[:100]!r} in {self.directory}"):
            if make:
                self._make()
            with self._explain_missing(name), lock_folder(self.directory, self.timeout_s) as folder:
                yield folder

    @contextmanager
    def _open_folder(self, name: str) -> Iterator[int]:
        with self._explain_missing(name):
            folder = open_folder(self.directory)
        try:
            yield folder
        finally:
            os.close(folder)

    @contextmanager
    def _explain_missing(self, name: str) -> Iterator[None]:
        """Turn a missing folder, or a link in its place, into BadInput."""
        if self.directory.is_symlink() or (self.directory.exists() and not self.directory.is_dir()):
            raise BadInput(f"{self.directory} is not a directory, and links are not followed; move it away")
        try:
            yield
        except FileNotFoundError:
            raise BadInput(f"no memory named {memory_file_name(name)!r}; {self.directory} does not exist") from None

    def _make(self) -> None:
        if self.directory.is_dir() or self.directory.is_symlink():
            return
        self.directory.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with suppress(FileExistsError):
            self.directory.mkdir(mode=self._mode)
        sync_folder(self.directory.parent)

    def _find(self, folder: int, name: str, *, nearly: bool = False) -> str:
        """Return the file name of an existing memory; `nearly`: accept a difference in case or Unicode encoding."""
        wanted = memory_file_name(name)
        found = next(
            (it for it in (wanted, name) if it.lower().endswith(NOTE_SUFFIXES) and note_exists(folder, it)), None
        )
        if found is None:
            near = find_colliding_name(wanted, list_notes(folder))
            if near and nearly:
                return near
            hint = f"did you mean {near!r}?" if near else _LIST_HINT
            raise BadInput(f"no memory named {wanted!r}; {hint}")
        return found

    def _check_free(self, folder: int, name: str) -> None:
        known = list_notes(folder)
        taken = name if note_exists(folder, name) else find_colliding_name(name, known)
        if taken:
            raise BadInput(
                f"note {taken.removesuffix('.md')!r} exists already; append to it, replace it or use another name"
            )
        folders = {str(it) for note in known for it in PurePath(note).parents}
        near = next((found for it in PurePath(name).parents if (found := find_colliding_name(str(it), folders))), "")
        if near:
            raise BadInput(f"folder {near!r} exists already, and some systems treat both as one; use that name")

    # --- the trash ---

    def _move(self, folder: int, name: str, now: float) -> Path:
        with self._trash(folder) as trash:
            trashed = self._free_name(trash, name, now)
            move_note_file(folder, name, trash, trashed)
        return self.directory / TRASH_FOLDER / trashed

    def _copy(self, folder: int, name: str, now: float) -> Path:
        with self._trash(folder) as trash:
            trashed = self._free_name(trash, name, now)
            write_note_file(trash, trashed, read_note_file(folder, name, MAX_MEMORY_BYTES))
        return self.directory / TRASH_FOLDER / trashed

    @contextmanager
    def _trash(self, folder: int) -> Iterator[int]:
        with suppress(FileExistsError):
            os.mkdir(TRASH_FOLDER, self._mode, dir_fd=folder)
        trash = open_subfolder(folder, TRASH_FOLDER)
        try:
            yield trash
        finally:
            os.close(trash)

    def _free_name(self, trash: int, name: str, now: float) -> str:
        """Return an unused trash name below the same subdirectory, and create that."""
        stamp = datetime.fromtimestamp(now, UTC).strftime("%Y%m%d_%H%M%S")
        stem = PurePath(name).with_suffix("")
        tries = (f"{stem}_{stamp}{f'_{n}' if n > 1 else ''}.md" for n in count(1))
        make_parents(trash, name, self._mode)
        return next(it for it in tries if not path_exists(trash, it))


def _decode_note(name: str, data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise BadInput(f"{name} is not UTF-8 text; convert it first, so that nothing is lost") from None


def _encode_note(name: str, text: str) -> bytes:
    if "\0" in text:
        raise BadInput(f"{name} contains a null byte; remove it")
    try:
        data = text.encode()
    except UnicodeEncodeError:
        raise BadInput(f"{name} contains invalid Unicode (lone surrogate); remove it") from None
    check_note_size(name, len(data), MAX_MEMORY_BYTES)
    return data
