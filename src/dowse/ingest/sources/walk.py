"""Walk a directory tree: ignore rules, git's list of files, size limits, and skipped paths with reasons."""

from __future__ import annotations

import errno
import os
import stat
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from dowse.git.ignore import NO_RULES, IgnoreRules, build_pathspecs
from dowse.git.repository import (
    GIT_IGNORE_FILE,
    has_foreign_git,
    ignore_rules_above,
    is_bare,
    is_work_tree,
    read_small_text,
    work_tree_above,
)
from dowse.git.worktree import list_tracked_ignored, list_work_tree
from dowse.ingest.extract.documents import is_document
from dowse.ingest.sources.base import Listing
from dowse.model import Item
from dowse.paths import ancestors_and_self, cached_with_ancestors
from dowse.safe_open import file_kind
from dowse.text.globs import PathPredicate, compile_globs
from dowse.text.secrets import HELD_BACK_REASON, is_secret_file
from dowse.text.unicode import escape_invalid_bytes, is_valid_name

# --------------------------------------------------------------------------------------------------
# The default excludes of a collection of files, and their names in reports.

MAX_FILE_BYTES = 10_000_000
MAX_DOCUMENT_BYTES = 64_000_000

# Directories filled by tools: version control, environments, caches, build output.
_TOOL_DIRECTORIES = (
    ".git/ .hg/ .svn/ .jj/ .venv/ venv/ site-packages/ node_modules/ bower_components/ __pycache__/"
    " __pypackages__/ .mypy_cache/ .pytest_cache/ .ruff_cache/ .hypothesis/ .tox/ .nox/ .eggs/ *.egg-info/"
    " .cache/ .parcel-cache/ .gradle/ .terraform/ .next/ .nuxt/ .svelte-kit/ .idea/ .vs/ .ipynb_checkpoints/"
    " .Trash-*/ .env/"
)
# Files written by tools: large, and no one searches for their content.
_GENERATED_FILES = (
    "*.lock package-lock.json npm-shrinkwrap.json pnpm-lock.yaml go.sum *.min.js *.min.css *.bundle.js *.map"
    " *.pb.go *_pb2.py *_pb2_grpc.py *.snap *~ *.tmp *.bak *.orig *.rej"
)
# Files of the system, not of the user: they are not counted as left out.
_SYSTEM_FILES = ".DS_Store Thumbs.db *.swp *.swo *.sqlite-wal *.sqlite-journal"
# Data files that happen to be text: few words, long lines, large files.
_DATA_FILES = "*.svg *.po *.pot *.csv *.tsv *.jsonl *.ndjson *.geojson *.log"

DEFAULT_EXCLUDE: tuple[str, ...] = tuple(
    f"{_TOOL_DIRECTORIES} {_GENERATED_FILES} {_SYSTEM_FILES} {_DATA_FILES}".split()
)

BINARY_KIND = "binary"
_REASONS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("data", tuple(_DATA_FILES.split())),
    ("generated", tuple(_GENERATED_FILES.split())),
)


def default_excludes_for(extensions: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the default globs, without those that match one of these extensions (`csv`, `.log`)."""
    lifted = {f"*.{it.strip().lstrip('.').lower()}" for it in extensions}
    return tuple(glob for glob in DEFAULT_EXCLUDE if glob not in lifted)


def excluded_kind(path: str) -> str:
    """Return the kind of file that the default globs exclude here; empty if it is not counted."""
    return next((reason for reason, globs in _REASONS if compile_globs(globs)(path)), "")


# --------------------------------------------------------------------------------------------------
# A subtree selection: some files and directories of a root, with everything below them.


@dataclass(frozen=True, slots=True)
class Subtree:
    """`paths` are relative to the root (none: the whole root); `ancestors` are their parent directories."""

    paths: frozenset[str]
    ancestors: frozenset[str]

    @property
    def is_whole(self) -> bool:
        return not self.paths

    def holds(self, path: str) -> bool:
        return self.is_whole or path in self.paths or not self.paths.isdisjoint(_ancestors(path))

    def leads_into(self, directory: str) -> bool:
        """Return whether a selected path lies below the directory."""
        return directory in self.ancestors

    def paths_below(self, directory: str) -> list[str] | None:
        """Return the selected paths below the directory, relative to it; None if the whole directory is selected."""
        if not directory or self.is_whole:
            return None if self.is_whole else sorted(self.paths)
        if self.holds(directory):
            return None
        prefix = f"{directory}/"
        return sorted(place.removeprefix(prefix) for place in self.paths if place.startswith(prefix))


def subtree_of(places: Iterable[str]) -> Subtree:
    wanted = frozenset(place.removesuffix("/") for place in places)
    return Subtree(wanted, frozenset(above for place in wanted for above in _ancestors(place)))


WHOLE_TREE = subtree_of(())


def _ancestors(path: str) -> Iterator[str]:
    """Yield `a`, `a/b` for `a/b/c`."""
    end = path.find("/")
    while end >= 0:
        yield path[:end]
        end = path.find("/", end + 1)


# --------------------------------------------------------------------------------------------------
# Select paths by include and exclude globs, suffix and secret names.


def match_nothing(path: str) -> bool:
    return False


def secret_file_matcher(root: str, show_secrets: bool) -> PathPredicate:
    """Return a matcher of secret files below the root, whose path may make a file secret too."""
    return match_nothing if show_secrets else lambda path: is_secret_file(f"{root}/{path}")


@dataclass(frozen=True, slots=True)
class PathSelection:
    """The paths that a collection wants, relative to the root. `is_secret` matches secret files that would be wanted
    otherwise; they are counted."""

    included: PathPredicate
    excluded: PathPredicate
    binary_suffixes: frozenset[str]
    subtree: Subtree = WHOLE_TREE
    is_secret: PathPredicate = match_nothing
    user_excluded: PathPredicate = match_nothing  # excluded by the user's own settings

    def has_directory(self, path: str) -> bool:
        """Return whether the directory may hold wanted files: not excluded, and inside the subtree or leading there."""
        return (self.subtree.holds(path) or self.subtree.leads_into(path)) and not self.excluded(path + "/")

    def is_excluded_directory(self, path: str) -> bool:
        """Return whether the default rules, not the user's, exclude a directory of the subtree."""
        return self.subtree.holds(path) and self.excluded(path + "/") and not self.user_excluded(path + "/")

    def has_file(self, path: str) -> bool:
        if not self.subtree.holds(path) or self._is_binary(path):
            return False
        return self.included(path) and not self.excluded(path)

    def exclusion_kind(self, path: str) -> str:
        """Return why the default rules leave out an unwanted file; empty if the user's settings do."""
        if not self.subtree.holds(path) or not self.included(path) or self.user_excluded(path):
            return ""
        return BINARY_KIND if self._is_binary(path) else excluded_kind(path)

    def _is_binary(self, path: str) -> bool:
        stem, _, suffix = path.rpartition("/")[2].rpartition(".")
        return bool(stem) and f".{suffix.lower()}" in self.binary_suffixes


def make_selection(
    include: tuple[str, ...],
    exclude: tuple[str, ...],
    part: Subtree,
    held: PathPredicate = match_nothing,
    chosen: tuple[str, ...] = (),
) -> PathSelection:
    """Compile a selection. No include globs means everything not excluded; `chosen` are the user's own excludes."""
    from dowse.ingest.extract.registry import KNOWN_BINARY_SUFFIXES  # imports the extractors

    included, excluded = compile_globs(include or ("**",)), compile_globs(exclude)
    return PathSelection(included, excluded, KNOWN_BINARY_SUFFIXES, part, held, compile_globs(chosen))


def make_directory_selection(exclude: tuple[str, ...]) -> PathSelection:
    """Compile a selection of directories only, which needs no table of suffixes."""
    return PathSelection(compile_globs(("**",)), compile_globs(exclude), frozenset())


# --------------------------------------------------------------------------------------------------
# The result of a file walk: items, refused paths with reasons, and unreadable directories.

NO_SUFFIX = "no suffix"


class TooManyItems(Exception):
    """A walk that only counts has found more items than its limit."""


class WalkResult:
    """The findings of one walk below `root`, which is absolute and resolved.

    With `most`, it raises TooManyItems at the first item beyond that number.
    """

    __slots__ = (
        "_is_secret",
        "_items",
        "_left_out",
        "_most",
        "_passed_over",
        "_refused",
        "_root",
        "_sizes",
        "_unseen",
    )

    def __init__(
        self, root: str, sizes: SizeLimits, is_secret: PathPredicate = match_nothing, most: int | None = None
    ) -> None:
        self._root = root
        self._is_secret = is_secret
        self._sizes = sizes
        self._most = most
        self._items: dict[str, Item] = {}
        self._refused: dict[str, str] = {}
        self._unseen: set[str] = set()
        self._left_out: Counter[tuple[str, str]] = Counter()
        self._passed_over: set[str] = set()

    def listing(self) -> Listing:
        items = [self._items[path] for path in sorted(self._items)]
        names = Counter(it.rpartition("/")[2] + "/" for it in self._passed_over)
        listing = Listing(items, sorted(self._refused.items()), sorted(self._unseen), excluded_files=self._left_out)
        listing.excluded_directories = names
        return listing

    def count_excluded_file(self, path: str, reason: str) -> None:
        """Count a regular file that is left out. Its path is not kept, because there may be millions."""
        stem, _, suffix = path.rpartition("/")[2].rpartition(".")
        self._left_out[reason, f".{suffix.lower()}" if stem else NO_SUFFIX] += 1

    def count_excluded_directory(self, directory: str) -> None:
        """Count a directory that is not entered, once."""
        self._passed_over.add(escape_invalid_bytes(directory))

    def add(self, path: str, status: os.stat_result) -> None:
        """Add an entry that is not a directory. `status` is that of the entry itself, not of a link's target."""
        if stat.S_ISLNK(status.st_mode):
            self._add_link(path)
        elif not stat.S_ISREG(status.st_mode):
            self.refuse(path, f"{file_kind(status.st_mode)}, not a regular file")
        elif self._is_secret(path):
            self.refuse(path, HELD_BACK_REASON)
        elif too_large := self._sizes.refusal(path, status.st_size):
            self.refuse(path, too_large)
        elif not is_valid_name(path):
            self.refuse(path, "its name is not valid UTF-8; rename it")
        else:
            self._items[path] = Item(path, status.st_size, status.st_mtime_ns)
            if self._most is not None and len(self._items) > self._most:
                raise TooManyItems

    def refuse(self, path: str, reason: str) -> None:
        self._refused[escape_invalid_bytes(path)] = reason

    def close(self, directory: str, error: OSError) -> None:
        """Record a directory that could not be read. One that has just disappeared is not reported as refused."""
        self._unseen.add(escape_invalid_bytes(directory + "/") if directory else "")
        if not isinstance(error, FileNotFoundError | NotADirectoryError):
            self.refuse(directory or ".", f"the directory cannot be read: {error.strerror}")

    def copy_unreadable(self, other: WalkResult) -> None:
        """Copy only the unreadable directories of another walk."""
        self._unseen |= other._unseen
        for prefix in other._unseen:
            directory = prefix.rstrip("/") or "."
            if directory in other._refused:
                self._refused[directory] = other._refused[directory]

    def _add_link(self, path: str) -> None:
        """Refuse a link unless it leads into the root: then its target is listed under its real path."""
        try:
            target = os.path.realpath(f"{self._root}/{path}", strict=True)
        except OSError as error:
            loops = error.errno == errno.ELOOP
            self.refuse(path, "a symbolic link that leads to itself" if loops else "a broken symbolic link")
            return
        if target != self._root and not target.startswith(self._root.rstrip("/") + "/"):
            self.refuse(path, "a symbolic link that points out of the collection; links are not followed")


class SizeLimits(NamedTuple):
    """The largest file that is read, in bytes. Documents have a limit of their own: most of a PDF is pictures."""

    file_bytes: int
    document_bytes: int = 0

    def of(self, path: str) -> int:
        return max(self) if is_document(path) else self.file_bytes

    def refusal(self, path: str, size: int) -> str:
        """Return why a file of this size is not read; empty if it is."""
        limit = self.of(path)
        if size <= limit:
            return ""
        setting = "max_document_bytes" if is_document(path) else "max_file_bytes"
        return f"{size / 1e6:,.1f} MB, larger than {setting} ({limit / 1e6:,.1f} MB)"


# --------------------------------------------------------------------------------------------------
# Decide which directories may be entered, by `.dowseignore` files and a list of barred directories.

DOWSE_IGNORE_FILE = ".dowseignore"


class DirectoryFilter:
    """Ignore rules by directory, each loaded once. `barred` are absolute resolved paths. The root is always open."""

    __slots__ = ("_barred", "_root", "_rules")

    def __init__(self, root: str, barred: frozenset[str]) -> None:
        self._root = root
        self._barred = barred
        self._rules: dict[str, IgnoreRules | None] = {"": NO_RULES.enter(f"{root}/", DOWSE_IGNORE_FILE)}

    def rules(self, directory: str) -> IgnoreRules | None:
        """Return the rules for the directory's entries, or None if it must not be entered."""
        return cached_with_ancestors(directory, self._rules, self._look_at)

    def _look_at(self, directory: str) -> IgnoreRules | None:
        parent, _, name = directory.rpartition("/")
        rules = self._rules[parent]
        if rules is None or f"{self._root}/{directory}" in self._barred:
            return None
        if rules.ignores(f"{self._root}/{parent}/" if parent else f"{self._root}/", name + "/"):
            return None
        return rules.enter(f"{self._root}/{directory}/", DOWSE_IGNORE_FILE)


# --------------------------------------------------------------------------------------------------
# Bare repositories below a root. Only the work trees inside of one hold files to index.

_GIT = ".git"


class BareRepositories:
    """The directories of a root that belong to a bare repository, each checked once. The root is the empty path."""

    __slots__ = ("_containing", "_root")

    def __init__(self, root: str) -> None:
        self._root = root
        self._containing: dict[str, str | None] = {"": root if is_bare(root) else None}

    def enclosing_repository(self, directory: str) -> str | None:
        """Return the bare repository that holds the directory; None outside of one and inside its work trees."""
        return cached_with_ancestors(directory, self._containing, self._find_containing)

    def may_hold_files(self, directory: str) -> bool:
        """Return whether the directory may hold files to index. Not cached, because work trees come and go."""
        bare = self.enclosing_repository(directory)
        return bare is None or any(it.startswith(f"{self._absolute(directory)}/") for it in find_work_trees(bare))

    def may_enter(self, directory: str) -> bool:
        """Like `may_hold_files`, but also true for a bare repository itself, where a work tree may appear."""
        return self.enclosing_repository(directory) == self._absolute(directory) or self.may_hold_files(directory)

    def _find_containing(self, directory: str) -> str | None:
        place = self._absolute(directory)
        around = self._containing[directory.rpartition("/")[0]]
        if around is None:
            return place if is_bare(place) else None
        return None if _has_git(place) else around

    def _absolute(self, directory: str) -> str:
        return f"{self._root}/{directory}" if directory else self._root


def work_tree_entries(bare: str) -> set[str]:
    """Return the names of entries in a bare repository that are work trees or lead to one."""
    return {it.removeprefix(f"{bare}/").partition("/")[0] for it in find_work_trees(bare)}


def find_work_trees(bare: str) -> list[str]:
    """Return the work trees directly in the bare repository, and the deeper ones that git has registered.

    This includes one whose `.git` file is out of date because everything was moved: it still holds the user's files.
    """
    return [it for it in dict.fromkeys((*_subdirectories(bare), *_registered_work_trees(bare))) if _has_git(it)]


def _registered_work_trees(bare: str) -> Iterator[str]:
    for folder in _subdirectories(f"{bare}/worktrees"):
        gitdir = read_small_text(Path(folder, "gitdir")).rstrip("\r\n")
        top, _, name = os.path.normpath(f"{folder}/{gitdir}" if gitdir[:1] != "/" else gitdir).rpartition("/")
        if name == _GIT and top.startswith(f"{bare}/"):
            yield top


def _has_git(place: str) -> bool:
    return os.path.lexists(f"{place}/{_GIT}")


def _subdirectories(place: str) -> list[str]:
    try:
        with os.scandir(place) as scan:
            return sorted(entry.path for entry in scan if entry.is_dir(follow_symlinks=False))
    except OSError:
        return []


@dataclass(frozen=True, slots=True)
class DirectoryWalker:
    root: str
    selection: PathSelection
    directory_filter: DirectoryFilter
    bare_repositories: BareRepositories
    use_gitignore: bool

    def walk(self, territory: str, result: WalkResult) -> list[str]:
        """Add the files of the territory to the result; return the repositories nested in it."""
        nested: list[str] = []
        pending = [(territory, ignore_rules_above(self._absolute(territory)) if self.use_gitignore else NO_RULES)]
        while pending:
            directory, outer_rules = pending.pop()
            if directory != territory and self._is_nested(directory):
                nested.append(directory)
                continue
            try:
                pending += self._visit(directory, outer_rules, result)
            except OSError as error:
                result.close(directory, error)
        return nested

    def _visit(self, directory: str, outer_rules: IgnoreRules, result: WalkResult) -> list[tuple[str, IgnoreRules]]:
        """Add the directory's files to the result; return its subdirectories with the rules for their entries."""
        dowse_rules = self.directory_filter.rules(directory)
        if dowse_rules is None or not self.bare_repositories.may_enter(directory):
            return []
        base = self._absolute(directory) + "/"
        with os.scandir(base) as scan:
            entries = [entry for entry in scan if entry.name != ".git"]
        rules = outer_rules.enter(base, GIT_IGNORE_FILE) if self.use_gitignore else NO_RULES
        prefix = f"{directory}/" if directory else ""
        is_outside_bare = self.bare_repositories.enclosing_repository(directory) is None
        files = [entry for entry in entries if not entry.is_dir(follow_symlinks=False)]
        for entry in files if is_outside_bare else ():
            path = prefix + entry.name
            if self.selection.has_file(path):
                if not _is_ignored((rules, dowse_rules), base, entry.name):
                    _add_entry(result, path, entry)
            elif (why := self.selection.exclusion_kind(path)) and not _is_ignored(
                (rules, dowse_rules), base, entry.name
            ):
                _count_left_out(result, path, entry, why)
        names = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
        wanted = [name for name in names if self.selection.has_directory(prefix + name)]
        for name in set(names).difference(wanted) if is_outside_bare else ():
            if self.selection.is_excluded_directory(prefix + name) and not rules.ignores(base, name + "/"):
                result.count_excluded_directory(prefix + name)
        return [(prefix + name, rules) for name in wanted if not rules.ignores(base, name + "/")]

    def _is_nested(self, directory: str) -> bool:
        return self.use_gitignore and is_work_tree(self._absolute(directory))

    def _absolute(self, directory: str) -> str:
        return f"{self.root}/{directory}" if directory else self.root


def _is_ignored(stacks: Iterable[IgnoreRules], base: str, name: str) -> bool:
    return any(rules.ignores(base, name) for rules in stacks)


def _count_left_out(result: WalkResult, path: str, entry: os.DirEntry[str], why: str) -> None:
    if entry.is_file(follow_symlinks=False):
        result.count_excluded_file(path, why)


def _add_entry(result: WalkResult, path: str, entry: os.DirEntry[str]) -> None:
    try:
        result.add(path, entry.stat(follow_symlinks=False))
    except FileNotFoundError:
        return  # deleted since the directory was read


# --------------------------------------------------------------------------------------------------
# Add the files that git lists in a work tree, after checking each on disk: the git index may contain anything.


class GitListingFilter:
    __slots__ = ("_bare", "_directory_filter", "_enterable", "_passed_over_cache", "_root", "_selection")

    def __init__(
        self, root: str, selection: PathSelection, directory_filter: DirectoryFilter, bare: BareRepositories
    ) -> None:
        self._root = root
        self._selection = selection
        self._directory_filter = directory_filter
        self._bare = bare
        self._enterable = {"": True}
        self._passed_over_cache = {"": ""}

    def add_files(self, territory: str, names: Iterable[str], result: WalkResult) -> list[str]:
        """Add the named files to the result; return the repositories nested in the territory."""
        prefix = f"{territory}/" if territory else ""
        paths = (prefix + name.removesuffix("/") for name in names)
        return [path for path in paths if self._add_or_is_nested(path, result)]

    def _add_or_is_nested(self, path: str, result: WalkResult) -> bool:
        """Return whether the path is a nested repository; if it is a file, add it to the result."""
        directory = path.rpartition("/")[0]
        try:
            if not self._may_enter(directory):
                return False
            status = os.lstat(f"{self._root}/{path}")
        except (FileNotFoundError, NotADirectoryError):
            return False  # still in the git index, but deleted
        except OSError as error:
            result.close(directory, error)
            return False
        if stat.S_ISDIR(status.st_mode):
            place = f"{self._root}/{path}"
            return self._selection.has_directory(path) and (is_work_tree(place) or has_foreign_git(place))
        # Git only takes a directory with `.git` for a repository, and lists the files of a bare one like any others.
        if self._bare.enclosing_repository(directory) is None:
            self._add_file(path, status, result)
        return False

    def _add_file(self, path: str, status: os.stat_result, result: WalkResult) -> None:
        directory, _, name = path.rpartition("/")
        if self._selection.has_file(path):
            if not self._ignores(directory, name):
                result.add(path, status)
        elif passed_over := self._find_passed_over(directory):
            result.count_excluded_directory(passed_over)
        elif (
            (kind := self._selection.exclusion_kind(path))
            and stat.S_ISREG(status.st_mode)
            and not self._ignores(directory, name)
        ):
            result.count_excluded_file(path, kind)

    def _find_passed_over(self, directory: str) -> str:
        """Return the outermost ancestor directory that is not entered; empty if there is none."""
        return cached_with_ancestors(directory, self._passed_over_cache, self._compute_passed_over)

    def _compute_passed_over(self, directory: str) -> str:
        above = self._passed_over_cache[directory.rpartition("/")[0]]
        return above or (directory if self._selection.is_excluded_directory(directory) else "")

    def _may_enter(self, directory: str) -> bool:
        """Return whether no component of the path is a link, barred, ignored, or part of a bare repository."""
        return cached_with_ancestors(directory, self._enterable, self._compute_may_enter)

    def _compute_may_enter(self, directory: str) -> bool:
        if not self._enterable[directory.rpartition("/")[0]]:
            return False
        is_real = stat.S_ISDIR(os.lstat(f"{self._root}/{directory}").st_mode)
        return is_real and self._bare.may_enter(directory) and self._directory_filter.rules(directory) is not None

    def _ignores(self, directory: str, name: str) -> bool:
        rules = self._directory_filter.rules(directory)
        base = f"{self._root}/{directory}/" if directory else f"{self._root}/"
        return rules is None or rules.ignores(base, name)


# --------------------------------------------------------------------------------------------------
# List a root repository by repository: git lists each work tree, and the rest is walked.


@dataclass(frozen=True, slots=True)
class FileWalker:
    """Lists a root by territories: a directory up to, but not including, the repositories nested in it."""

    root: str
    walk: DirectoryWalker
    work_tree: GitListingFilter
    sizes: SizeLimits
    max_items: int | None = None

    def run(self) -> WalkResult:
        result = WalkResult(self.root, self.sizes, self.walk.selection.is_secret, self.max_items)
        pending = [""]
        while pending:
            pending += self._list_files(pending.pop(), result)
        return result

    def _list_files(self, territory: str, result: WalkResult) -> list[str]:
        """Add the files of the territory to the result; return the repositories nested in it."""
        absolute = f"{self.root}/{territory}" if territory else self.root
        # In a bare repository, git would list that repository and not the work tree around it. If `.git` leads to a
        # repository that is not read, git would list nothing.
        top = work_tree_above(absolute) if self.walk.use_gitignore and not is_bare(absolute) else None
        top = None if has_foreign_git(absolute) else top
        listed = list_work_tree(top, absolute, self._pathspecs_for(territory, absolute)) if top else None
        if listed is None:
            return self.walk.walk(territory, result)
        if listed.is_incomplete:
            self._find_unreadable(territory, result)
        return self.work_tree.add_files(territory, listed.names, result)

    def _pathspecs_for(self, territory: str, absolute: str) -> list[str] | None:
        """Return the pathspecs of the wanted part of the territory; None for all of it."""
        inside = self.walk.selection.subtree.paths_below(territory)
        return None if inside is None else build_pathspecs(absolute, inside)

    def _find_unreadable(self, territory: str, result: WalkResult) -> None:
        """Find unreadable directories by walking, because git reports them only in prose."""
        walked = WalkResult(self.root, self.sizes)
        self.walk.walk(territory, walked)
        result.copy_unreadable(walked)


def walk_files(
    root: str,
    selection: PathSelection,
    barred: frozenset[str],
    *,
    use_gitignore: bool,
    sizes: SizeLimits,
    most: int | None = None,
) -> WalkResult:
    """List everything below `root` (absolute, resolved) that the selection wants. Raises TooManyItems if there are more
    than `most` items."""
    directory_filter = DirectoryFilter(root, barred)
    bare = BareRepositories(root)
    walk = DirectoryWalker(root, selection, directory_filter, bare, use_gitignore)
    return FileWalker(root, walk, GitListingFilter(root, selection, directory_filter, bare), sizes, most).run()


# --------------------------------------------------------------------------------------------------
# Decide whether a single path would be listed, without listing anything.


class TrackedIgnoredFiles:
    """Files that git tracks although they are ignored, from one git command per repository."""

    def __init__(self) -> None:
        self.files: dict[str, frozenset[str]] = {}  # by the top directory of a repository, or the root inside of one
        self._folders: set[str] = set()

    def load_repository(self, root: str, repository: str) -> None:
        place = f"{root}/{repository}" if repository else root
        top = work_tree_above(place)
        prefix = f"{repository}/" if repository else ""
        files = frozenset(prefix + it for it in list_tracked_ignored(top, place)) if top else frozenset()
        self.files[repository] = files
        for path in files:
            self._folders.update(ancestors_and_self(path.rpartition("/")[0]))

    def has_file(self, path: str) -> bool:
        return any(path in files for files in self.files.values())

    def holds_some(self, directory: str) -> bool:
        return directory in self._folders


class PathFilter:
    """Filters paths by settings and ignore files, each read once. `kept` adds files that git tracks although ignored.

    `folders` selects directories. `files` creates the selection of files, which takes longer to load.
    """

    def __init__(
        self,
        root: str,
        folders: PathSelection,
        files: Callable[[], PathSelection],
        directory_filter: DirectoryFilter,
        use_gitignore: bool,
        kept: TrackedIgnoredFiles | None = None,
    ) -> None:
        self._root = root
        self._folders = folders
        self._make_files = files
        self._files: PathSelection | None = None
        self._directory_filter = directory_filter
        self._use_gitignore = use_gitignore
        self._tracked_ignored = kept
        self._bare = BareRepositories(root)
        self._rules: dict[str, IgnoreRules | None] = {"": self._enter("", self._rules_above(""))}

    def has_directory(self, path: str) -> bool:
        """Return whether the directory may hold wanted files. The root is the empty path."""
        return self.may_enter(path) and self._bare.may_hold_files(path)

    def may_enter(self, path: str) -> bool:
        """Return whether the directory may hold wanted files, or is a bare repository, where work trees may appear."""
        return self._rules_inside(path) is not None

    def has_file(self, path: str) -> bool:
        directory, _, name = path.rpartition("/")
        rules, dowse_rules = self._rules_inside(directory), self._directory_filter.rules(directory)
        if rules is None or dowse_rules is None or self._bare.enclosing_repository(directory) is not None:
            return False
        selection = self._selection()
        # A linked work tree has a file named `.git`.
        if name == ".git" or not selection.has_file(path) or selection.is_secret(path):
            return False
        base = self._absolute_prefix(directory)
        if dowse_rules.ignores(base, name):
            return False
        return not rules.ignores(base, name) or bool(self._tracked_ignored and self._tracked_ignored.has_file(path))

    def _selection(self) -> PathSelection:
        if self._files is None:
            self._files = self._make_files()
        return self._files

    def _rules_inside(self, directory: str) -> IgnoreRules | None:
        """Return git's rules for the directory's entries, or None if it is not entered."""
        return cached_with_ancestors(directory, self._rules, self._load_rules)

    def _load_rules(self, directory: str) -> IgnoreRules | None:
        parent, _, name = directory.rpartition("/")
        rules = self._rules[parent]
        if rules is None or name == ".git" or not self._folders.has_directory(directory):
            return None
        if self._directory_filter.rules(directory) is None or not self._bare.may_enter(directory):
            return None
        if rules.ignores(self._absolute_prefix(parent), name + "/") and not (
            self._tracked_ignored and self._tracked_ignored.holds_some(directory)
        ):
            return None
        is_nested = self._use_gitignore and is_work_tree(f"{self._root}/{directory}")
        return self._enter(directory, self._rules_above(directory) if is_nested else rules)

    def _enter(self, directory: str, rules: IgnoreRules) -> IgnoreRules:
        return rules.enter(self._absolute_prefix(directory), GIT_IGNORE_FILE) if self._use_gitignore else NO_RULES

    def _rules_above(self, repository: str) -> IgnoreRules:
        """Return git's rules that apply at the root or at the top of a nested repository."""
        if not self._use_gitignore:
            return NO_RULES
        if self._tracked_ignored:
            self._tracked_ignored.load_repository(self._root, repository)
        return ignore_rules_above(self._absolute_prefix(repository).rstrip("/"))

    def _absolute_prefix(self, directory: str) -> str:
        return f"{self._root}/{directory}/" if directory else f"{self._root}/"
