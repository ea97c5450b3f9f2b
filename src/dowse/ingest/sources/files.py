"""Files of a directory tree as a source of records."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from dowse.errors import BadInput, Unreadable
from dowse.ingest.extract.documents import is_document
from dowse.ingest.sources.base import Listing, ListingScope
from dowse.ingest.sources.walk import (
    DEFAULT_EXCLUDE,
    MAX_DOCUMENT_BYTES,
    MAX_FILE_BYTES,
    WHOLE_TREE,
    PathSelection,
    SizeLimits,
    TooManyItems,
    WalkResult,
    default_excludes_for,
    secret_file_matcher,
    subtree_of,
    walk_files,
)
from dowse.model import Freshness, Item
from dowse.paths import is_redirected_root
from dowse.safe_open import FileChangedError, NotRegularError, open_below, read_file
from dowse.text.globs import PathPredicate, compile_globs
from dowse.text.secrets import HELD_BACK_REASON, is_secret_file, mask_secrets

if TYPE_CHECKING:
    from dowse.ingest.sources.walk import PathFilter, TrackedIgnoredFiles

READ_ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class FileSource:
    """Lists the files that git would not ignore, reads nothing outside the root, and follows no links.

    Unless `show_secrets` is set, secret files are withheld, and known secret values are masked in all others.

    - `exclude` is added to the default excludes; `extensions` exempts files with these extensions from the defaults.
    - `paths` limits the listing to these directories and files.
    - `barred_directories` are absolute directories that are not entered, for example the roots of other collections.
    - `source_kind` is the kind of its items.
    - `is_stored`: the root is a real path, which is no longer read once it leads elsewhere.
    """

    root: Path
    _: KW_ONLY
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    default_excludes: bool = True
    extensions: tuple[str, ...] = ()
    max_file_bytes: int = MAX_FILE_BYTES
    max_document_bytes: int = MAX_DOCUMENT_BYTES
    use_gitignore: bool = True
    show_secrets: bool = False
    paths: tuple[str, ...] = ()
    barred_directories: frozenset[Path] = frozenset()
    source_kind: str = ""
    is_stored: bool = False

    def listing(self) -> Listing:
        for place in self.paths:
            if not _stays_inside(place.removesuffix("/")):
                raise BadInput(f"{place!r} is not a path inside {self.root}; give a relative path without '..'")
        root = self._resolved_root()
        listing = self._walk(root).listing()
        if self.source_kind:
            listing.items = [replace(item, source_kind=self.source_kind) for item in listing.items]
        listing.is_empty = not listing.items and has_no_files(root)
        return listing

    def has_more_than(self, count: int) -> bool:
        """Return whether a listing would have more items than this; stop at the first one more."""
        try:
            self._walk(self._resolved_root(), count)
        except TooManyItems:
            return True
        return False

    def _walk(self, root: str, most: int | None = None) -> WalkResult:
        # Imported here because only listing needs them; reading and freshness checks start faster without.
        from dowse.ingest.sources.walk import make_selection, walk_files

        return walk_files(
            root,
            make_selection(
                self.include,
                self._exclude_globs_for_root(),
                subtree_of(self.paths),
                self._secret_matcher(),
                self.exclude,
            ),
            self._resolved_barred(),
            use_gitignore=self.use_gitignore,
            sizes=self._sizes,
            most=most,
        )

    def read(self, item: Item) -> tuple[Item, bytes]:
        if not _stays_inside(item.path):
            raise Unreadable("the path leads out of the collection")
        if self._secret_matcher()(item.path):
            raise Unreadable(HELD_BACK_REASON)
        if self._leads_elsewhere():
            raise Unreadable(f"{self.root} now leads elsewhere", lasting=False)
        for _ in range(READ_ATTEMPTS):
            try:
                with open_below(str(self.root), item.path) as handle:
                    status, content = read_file(handle, self._sizes.of(item.path))
            except FileChangedError:
                continue
            except NotRegularError as error:
                raise Unreadable(str(error), lasting=False) from error
            except OSError as error:
                raise Unreadable(f"cannot be read: {error.strerror}", lasting=False) from error
            if too_large := self._sizes.refusal(item.path, status.st_size):
                raise Unreadable(too_large)
            # The text of a document is masked once it is extracted.
            shown, count = (content, 0) if self.show_secrets or is_document(item.path) else mask_secrets(content)
            return Item(item.path, status.st_size, status.st_mtime_ns, self.source_kind, count), shown
        raise Unreadable("the file changed while it was read", lasting=False)

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

    def path_filter(self, kept: TrackedIgnoredFiles | None = None) -> PathFilter:
        """Return a filter for single paths by the current settings and ignore files. `kept` adds files that git tracks
        although they are ignored."""
        from dowse.ingest.sources.walk import DirectoryFilter, PathFilter, make_directory_selection, make_selection

        root = str(self.root.resolve())
        folders = make_directory_selection(self._exclude_globs_for_root())
        directory_filter = DirectoryFilter(root, self._resolved_barred())
        files = partial(
            make_selection, self.include, self._exclude_globs_for_root(), WHOLE_TREE, self._secret_matcher()
        )
        return PathFilter(root, folders, files, directory_filter, self.use_gitignore, kept)

    def left_out(self) -> PathPredicate:
        """Return a predicate for paths that the name, the settings or `.dowseignore` exclude. A path need not exist."""
        from dowse.ingest.sources.walk import DirectoryFilter
        from dowse.text.globs import compile_globs

        root, excluded, is_secret = (
            str(self.root.resolve()),
            compile_globs(self._exclude_globs_for_root()),
            self._secret_matcher(),
        )
        directory_filter = DirectoryFilter(root, frozenset())

        def is_left_out(path: str) -> bool:
            if is_secret(path) or excluded(path) or not _stays_inside(path):
                return True
            directory, _, name = path.rpartition("/")
            rules = directory_filter.rules(directory)
            return rules is None or rules.ignores(f"{root}/{directory}/" if directory else f"{root}/", name)

        return is_left_out

    @property
    def _sizes(self) -> SizeLimits:
        return SizeLimits(self.max_file_bytes, self.max_document_bytes)

    def _secret_matcher(self) -> PathPredicate:
        return secret_file_matcher(str(self.root), self.show_secrets)

    def _exclude_globs_for_root(self) -> tuple[str, ...]:
        return (*default_excludes_for(self.extensions), *self.exclude) if self.default_excludes else self.exclude

    def _resolved_barred(self) -> frozenset[str]:
        return frozenset(str(place.resolve()) for place in self.barred_directories)

    def _leads_elsewhere(self) -> bool:
        return self.is_stored and is_redirected_root(self.root)

    def _resolved_root(self) -> str:
        """Resolve the root, which may be a link or lie below one. No link below the root is followed."""
        try:
            root = self.root.resolve(strict=True)
            if self._leads_elsewhere():
                raise BadInput(f"{self.root} now leads to {root}; to index that, add it as a separate root")
            with os.scandir(root):
                return str(root)
        except (FileNotFoundError, NotADirectoryError) as error:
            is_missing = isinstance(error, FileNotFoundError)
            problem = "does not exist" if is_missing else "is not a directory"
            raise BadInput(f"{self.root} {problem}; give the directory that holds the files") from error
        except (OSError, RuntimeError) as error:
            raise BadInput(f"{self.root} cannot be read ({error}); check the path and its permissions") from error


def has_no_files(place: str) -> bool:
    """Return whether there is no file below: the directory was emptied, or its disk is not mounted."""
    return Path(place).is_dir() and not any(names for _, _, names in os.walk(place))


def _stays_inside(path: str) -> bool:
    """Return whether the path, by its text, names something below the directory it is joined to."""
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        return False
    return "\0" not in path and not any(part in ("", ".", "..") for part in path.split("/"))


# --------------------------------------------------------------------------------------------------
# List the files below a directory by name, as they are now, including kinds that are never indexed.

_ANY_SIZE = 2**63


def list_file_names(
    root: str, listing_scope: ListingScope, *, exclude: tuple[str, ...] = (), use_gitignore: bool = True
) -> list[Item]:
    """Return regular files, without links, by path relative to `root`, which is absolute and resolved."""
    directory = listing_scope.directory.strip("/")
    if "\0" in directory or any(part in (".", "..") for part in directory.split("/")):
        raise BadInput(
            f"{listing_scope.directory!r} is not a directory inside {root}; give a relative path without '..'"
        )
    if not Path(root, directory).is_dir():
        raise BadInput(f"{root}/{directory} is not a directory; check the path")
    if listing_scope.include_ignored:
        items = list(_walk_all(root, directory, listing_scope))
    else:
        items = _list_wanted(root, directory, (*DEFAULT_EXCLUDE, *exclude), use_gitignore)
    under_depth = directory.count("/") + 1 if directory else 0
    return [it for it in items if _is_in_scope(it.path, listing_scope, under_depth)]


def _is_in_scope(path: str, listing_scope: ListingScope, under_depth: int) -> bool:
    parts = path.split("/")[under_depth:]
    if listing_scope.max_depth and len(parts) > listing_scope.max_depth:
        return False
    return listing_scope.include_hidden or not any(part.startswith(".") for part in parts)


def _list_wanted(root: str, directory: str, exclude: tuple[str, ...], use_gitignore: bool) -> list[Item]:
    part = subtree_of((directory,) if directory else ())
    selection = PathSelection(compile_globs(("**",)), compile_globs(exclude), frozenset(), part, is_secret_file)
    found = walk_files(root, selection, frozenset(), use_gitignore=use_gitignore, sizes=SizeLimits(_ANY_SIZE))
    return found.listing().items


def _walk_all(root: str, directory: str, listing_scope: ListingScope) -> Iterator[Item]:
    """Yield every file. Unreadable directories are skipped, as `find` would."""
    start = f"{root}/{directory}" if directory else root
    for current, folders, names in os.walk(start):
        inside = current.removeprefix(root).strip("/")
        depth = current.removeprefix(start).count("/")
        folders[:] = sorted(it for it in folders if _descends(it, depth, listing_scope))
        for name in sorted(names):
            path = f"{inside}/{name}" if inside else name
            item = _item(root, path)
            if item is not None:
                yield item


def _descends(name: str, depth: int, listing_scope: ListingScope) -> bool:
    return (listing_scope.include_hidden or not name.startswith(".")) and not (
        listing_scope.max_depth and depth + 1 >= listing_scope.max_depth
    )


def _item(root: str, path: str) -> Item | None:
    try:
        status = os.lstat(f"{root}/{path}")
        path.encode()
    except (OSError, UnicodeEncodeError):
        return None
    return Item(path, status.st_size, status.st_mtime_ns) if stat.S_ISREG(status.st_mode) else None


# --------------------------------------------------------------------------------------------------
# A folder of memories as a source: every note in it, even if git ignores it, but not the trash.

MEMORY_SOURCE_KIND: Final = "memory"
MEMORIES_FOLDER: Final = ".memories"  # in a root
MEMORIES_TRASH: Final = ".trash"


def memory_source(root: Path, subpaths: tuple[str, ...] = (), *, show_secrets: bool = False) -> FileSource:
    return FileSource(
        root,
        include=("*.[mM][dD]", "*.[mM][aA][rR][kK][dD][oO][wW][nN]"),
        exclude=(f"/{MEMORIES_TRASH}/", "/indices/", ".*"),
        default_excludes=False,
        use_gitignore=False,
        show_secrets=show_secrets,
        paths=subpaths,
        source_kind=MEMORY_SOURCE_KIND,
        is_stored=True,
    )
