"""The files below a directory as a source."""

from __future__ import annotations

import os
import stat
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from dowse.errors import BadInput, Unreadable
from dowse.ingest.sources.base import Listing
from dowse.ingest.sources.defaults import MAX_FILE_BYTES, default_exclude
from dowse.ingest.sources.ledger import Ledger, TooManyItems, too_large
from dowse.ingest.sources.part import WHOLE, part_of
from dowse.ingest.sources.regular_file import ChangingError, NotRegularError, opened_below, read_whole
from dowse.ingest.sources.selection import held_below
from dowse.model import Freshness, Item
from dowse.places import leads_elsewhere
from dowse.text.globs import Matcher
from dowse.text.secrets import HELD_BACK, masked

if TYPE_CHECKING:
    from dowse.ingest.sources.judge import Judge, Kept

READ_ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class FileSource:
    """Lists what git would not ignore, reads nothing outside the root, and follows no links. Files of secrets are held
    back, and known values masked in all others, whoever reads them, unless it shall `show_secrets`.

    `exclude` comes on top of the default excludes, which let files with these `extensions` in; `under` narrows the
    listing to these directories and files; `barred` are absolute directories that are not entered, such as other
    collections' roots; `form` is that of its items. `is_stored`: the root is a real path, and read no
    more once it leads elsewhere.
    """

    root: Path
    _: KW_ONLY
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    default_excludes: bool = True
    extensions: tuple[str, ...] = ()
    max_file_bytes: int = MAX_FILE_BYTES
    use_gitignore: bool = True
    show_secrets: bool = False
    under: tuple[str, ...] = ()
    barred: frozenset[Path] = frozenset()
    form: str = ""
    is_stored: bool = False

    def listing(self) -> Listing:
        for place in self.under:
            if not _stays_inside(place.removesuffix("/")):
                raise BadInput(f"{place!r} is not a path inside {self.root}; give it relative to that, without '..'")
        root = self._resolved_root()
        listing = self._survey(root).listing()
        if self.form:
            listing.items = [replace(item, form=self.form) for item in listing.items]
        listing.vacant = not listing.items and holds_no_file(root)
        return listing

    def has_more_than(self, count: int) -> bool:
        """Whether a listing would have more items than this; it stops looking at the first one more."""
        try:
            self._survey(self._resolved_root(), count)
        except TooManyItems:
            return True
        return False

    def _survey(self, root: str, most: int | None = None) -> Ledger:
        # Only listing needs what these import; reading and checking freshness start quicker without.
        from dowse.ingest.sources.selection import select
        from dowse.ingest.sources.survey import survey

        return survey(
            root,
            select(self.include, self._excluded(), part_of(self.under), self._held(), self.exclude),
            self._barred(),
            use_gitignore=self.use_gitignore,
            max_file_bytes=self.max_file_bytes,
            most=most,
        )

    def read(self, item: Item) -> tuple[Item, bytes]:
        if not _stays_inside(item.path):
            raise Unreadable("its path leads out of the collection")
        if self._held()(item.path):
            raise Unreadable(HELD_BACK)
        if self._leads_elsewhere():
            raise Unreadable(f"{self.root} leads elsewhere now", lasting=False)
        for _ in range(READ_ATTEMPTS):
            try:
                with opened_below(str(self.root), item.path) as handle:
                    status, content = read_whole(handle, self.max_file_bytes)
            except ChangingError:
                continue
            except NotRegularError as error:
                raise Unreadable(str(error), lasting=False) from error
            except OSError as error:
                raise Unreadable(f"cannot be read: {error.strerror}", lasting=False) from error
            if status.st_size > self.max_file_bytes:
                raise Unreadable(too_large(status.st_size, self.max_file_bytes))
            shown, count = (content, 0) if self.show_secrets else masked(content)
            return Item(item.path, status.st_size, status.st_mtime_ns, self.form, count), shown
        raise Unreadable("changing while it is read", lasting=False)

    def freshness(self, item: Item) -> Freshness:
        if self._leads_elsewhere():
            return "gone"
        try:
            status = os.lstat(f"{self.root}/{item.path}")
        except (FileNotFoundError, NotADirectoryError):
            return "gone"
        except OSError:
            return "unknown"
        if not stat.S_ISREG(status.st_mode):
            return "gone"
        return "fresh" if (status.st_size, status.st_mtime_ns) == (item.size, item.mtime_ns) else "changed"

    def judge(self, kept: Kept | None = None) -> Judge:
        """For single paths, as settings and ignore files are now; with `kept`, as git tracks them, too."""
        from dowse.ingest.sources.doors import Doors
        from dowse.ingest.sources.judge import Judge
        from dowse.ingest.sources.selection import select, select_folders

        root = str(self.root.resolve())
        folders = select_folders(self._excluded())
        doors = Doors(root, self._barred())
        files = partial(select, self.include, self._excluded(), WHOLE, self._held())
        return Judge(root, folders, files, doors, self.use_gitignore, kept)

    def left_out(self) -> Matcher:
        """Whether a path, which need not exist any more, is left out by its name, the settings or `.dowseignore`."""
        from dowse.ingest.sources.doors import Doors
        from dowse.text.globs import compile_globs

        root, excluded, held = str(self.root.resolve()), compile_globs(self._excluded()), self._held()
        doors = Doors(root, frozenset())

        def is_left_out(path: str) -> bool:
            if held(path) or excluded(path) or not _stays_inside(path):
                return True
            directory, _, name = path.rpartition("/")
            rules = doors.rules(directory)
            return rules is None or rules.ignores(f"{root}/{directory}/" if directory else f"{root}/", name)

        return is_left_out

    def _held(self) -> Matcher:
        return held_below(str(self.root), self.show_secrets)

    def _excluded(self) -> tuple[str, ...]:
        return (*default_exclude(self.extensions), *self.exclude) if self.default_excludes else self.exclude

    def _barred(self) -> frozenset[str]:
        return frozenset(str(place.resolve()) for place in self.barred)

    def _leads_elsewhere(self) -> bool:
        return self.is_stored and leads_elsewhere(self.root)

    def _resolved_root(self) -> str:
        """The root may be a link, or lie below one; from here on no link is followed."""
        try:
            root = self.root.resolve(strict=True)
            if self._leads_elsewhere():
                raise BadInput(f"{self.root} leads to {root} now; to index that, name it as a root of its own")
            with os.scandir(root):
                return str(root)
        except (FileNotFoundError, NotADirectoryError) as error:
            is_missing = isinstance(error, FileNotFoundError)
            problem = "does not exist" if is_missing else "is not a directory"
            raise BadInput(f"{self.root} {problem}; give the directory that holds the files") from error
        except (OSError, RuntimeError) as error:
            raise BadInput(f"{self.root} cannot be read ({error}); check the path and its permissions") from error


def holds_no_file(place: str) -> bool:
    """Whether there is no file at all below: an emptied directory, or one whose disk is not mounted."""
    return Path(place).is_dir() and not any(names for _, _, names in os.walk(place))


def _stays_inside(path: str) -> bool:
    """Whether the path names something below the directory it is joined to, as far as its text goes."""
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        return False
    return "\0" not in path and not any(part in ("", ".", "..") for part in path.split("/"))
