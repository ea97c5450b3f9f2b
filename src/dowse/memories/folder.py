"""The folder of memories: notes that are made, extended, replaced, thrown away and merged, each step whole or not."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count
from pathlib import Path, PurePath
from typing import Final

from dowse.errors import BadInput
from dowse.memories import front
from dowse.memories.files import check_size, exists, has_note, move_file, read_file, told, write_file
from dowse.memories.lock import locked, open_folder, sync_folder
from dowse.memories.names import SUFFIXES, alike, file_name
from dowse.memories.ways import lead_to, notes_below, opened_in

TRASH: Final = ".trash"
MAX_BYTES: Final = 10_000_000
_LISTED: Final = '`dowse memories` lists those there are, `search` with kinds ["memory"] finds them'


@dataclass(frozen=True, slots=True)
class Folder:
    """`place` is made when the first memory is, and with it what is above; `private`: for the user's eyes alone.
    Memories may lie in folders of it; a name is the path from here, with or without its suffix."""

    place: Path
    private: bool = False
    timeout_s: float = 10.0

    def create(self, name: str, text: str) -> str:
        """A new memory; the name its file has."""
        name = file_name(name)
        data = _bytes(name, text)
        with self._writing(name, make=True) as folder:
            self._check_free(folder, name)
            lead_to(folder, name, self._mode)
            write_file(folder, name, data)
        return name

    def change(self, name: str, changed: Callable[[str], str]) -> str:
        """Read, change and write: nobody else writes between."""
        with self._writing(name) as folder:
            name = self._found(folder, name)
            write_file(folder, name, _bytes(name, changed(_text(name, read_file(folder, name, MAX_BYTES)))))
        return name

    def append(self, name: str, content: str, renewed: Callable[[str], str] = str) -> str:
        """The content below what is there; `renewed` may change what stands above."""
        return self.change(name, lambda text: front.extended(renewed(text), content))

    def replace(self, name: str, content: str, renewed: Callable[[str], str] = str) -> str:
        """The content in place of the body; the front matter stays as it was written."""
        return self.change(name, lambda text: renewed(front.with_body(text, content)))

    def read(self, name: str) -> tuple[str, str]:
        """The name of its file, and the text."""
        with told(f"read memories in {self.place}"), self._opened(name) as folder:
            name = self._found(folder, name, nearly=True)
            return name, _text(name, read_file(folder, name, MAX_BYTES))

    def throw_away(self, name: str, now: float) -> tuple[str, Path]:
        """Move it to the trash; where it lies there."""
        with self._writing(name) as folder:
            name = self._found(folder, name)
            return name, self._move(folder, name, now)

    def merge(
        self, sources: Sequence[str], target: str, text: Callable[[Sequence[str]], str], now: float
    ) -> tuple[str, tuple[str, ...], tuple[Path, ...]]:
        """One new memory, made from the texts of others, which go to the trash; the target may be one of them. Its
        name, theirs, and where they lie then."""
        target = file_name(target)
        with self._writing(target) as folder:
            names = list(dict.fromkeys(self._found(folder, it) for it in sources))
            if target not in names:
                self._check_free(folder, target)
            texts = [_text(it, read_file(folder, it, MAX_BYTES)) for it in names]
            data = _bytes(target, text(texts))
            # In this order a kill leaves too much behind, never too little.
            thrown = [self._copy(folder, it, now) for it in names if it == target]
            lead_to(folder, target, self._mode)
            write_file(folder, target, data)
            thrown += [self._move(folder, it, now) for it in names if it != target]
        return target, tuple(names), tuple(thrown)

    # --- in the folder ---

    @property
    def _mode(self) -> int:
        return 0o700 if self.private else 0o777

    @contextmanager
    def _writing(self, name: str, *, make: bool = False) -> Iterator[int]:
        with told(f"write {name[:100]!r} in {self.place}"):
            if make:
                self._make()
            with self._explained(name), locked(self.place, self.timeout_s) as folder:
                yield folder

    @contextmanager
    def _opened(self, name: str) -> Iterator[int]:
        with self._explained(name):
            folder = open_folder(self.place)
        try:
            yield folder
        finally:
            os.close(folder)

    @contextmanager
    def _explained(self, name: str) -> Iterator[None]:
        """No folder at all, or a link where it should be."""
        if self.place.is_symlink() or (self.place.exists() and not self.place.is_dir()):
            raise BadInput(f"{self.place} is no directory of its own, and links are not followed; move it away")
        try:
            yield
        except FileNotFoundError:
            raise BadInput(f"there is no memory {file_name(name)!r}; {self.place} does not exist") from None

    def _make(self) -> None:
        if self.place.is_dir() or self.place.is_symlink():
            return
        self.place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with suppress(FileExistsError):
            self.place.mkdir(mode=self._mode)
        sync_folder(self.place.parent)

    def _found(self, folder: int, name: str, *, nearly: bool = False) -> str:
        """The name of the file that is there; `nearly`: one that differs by case or encoding will do."""
        wanted = file_name(name)
        found = next((it for it in (wanted, name) if it.lower().endswith(SUFFIXES) and has_note(folder, it)), None)
        if found is None:
            near = alike(wanted, notes_below(folder))
            if near and nearly:
                return near
            hint = f"{near!r} is nearly so" if near else _LISTED
            raise BadInput(f"there is no memory {wanted!r}; {hint}")
        return found

    def _check_free(self, folder: int, name: str) -> None:
        known = notes_below(folder)
        taken = name if has_note(folder, name) else alike(name, known)
        if taken:
            raise BadInput(
                f"note {taken.removesuffix('.md')!r} exists already; append to it, replace it or use another name"
            )
        folders = {str(it) for note in known for it in PurePath(note).parents}
        near = next((found for it in PurePath(name).parents if (found := alike(str(it), folders))), "")
        if near:
            raise BadInput(f"there is a folder {near!r} already; some systems take the two for one, so write it so")

    # --- the trash ---

    def _move(self, folder: int, name: str, now: float) -> Path:
        with self._trash(folder) as trash:
            thrown = self._free_name(trash, name, now)
            move_file(folder, name, trash, thrown)
        return self.place / TRASH / thrown

    def _copy(self, folder: int, name: str, now: float) -> Path:
        with self._trash(folder) as trash:
            thrown = self._free_name(trash, name, now)
            write_file(trash, thrown, read_file(folder, name, MAX_BYTES))
        return self.place / TRASH / thrown

    @contextmanager
    def _trash(self, folder: int) -> Iterator[int]:
        with suppress(FileExistsError):
            os.mkdir(TRASH, self._mode, dir_fd=folder)
        trash = opened_in(folder, TRASH)
        try:
            yield trash
        finally:
            os.close(trash)

    def _free_name(self, trash: int, name: str, now: float) -> str:
        """In a folder like the one it lay in."""
        stamp = datetime.fromtimestamp(now, UTC).strftime("%Y%m%d_%H%M%S")
        stem = PurePath(name).with_suffix("")
        tries = (f"{stem}_{stamp}{f'_{n}' if n > 1 else ''}.md" for n in count(1))
        lead_to(trash, name, self._mode)
        return next(it for it in tries if not exists(trash, it))


def _text(name: str, data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise BadInput(f"{name} is not UTF-8 text; convert it first, so that nothing of it gets lost") from None


def _bytes(name: str, text: str) -> bytes:
    if "\0" in text:
        raise BadInput(f"what {name} shall hold has a zero byte in it; give text")
    try:
        data = text.encode()
    except UnicodeEncodeError:
        raise BadInput(f"{name} contains invalid Unicode (lone surrogate); give text") from None
    check_size(name, len(data), MAX_BYTES)
    return data
