"""What of a collection is worth watching: what its source would list, as far as that can be told quickly."""

from __future__ import annotations

from dowse.ingest.sources.defaults import DEFAULT_EXCLUDE
from dowse.ingest.sources.doors import Doors, ancestors_and_self
from dowse.ingest.sources.files import FileSource
from dowse.ingest.sources.git_listing import list_kept_though_ignored
from dowse.ingest.sources.ignore_files import NO_RULES, IgnoreRules
from dowse.ingest.sources.part import part_of
from dowse.ingest.sources.repository import GIT_IGNORE_FILE, is_work_tree, rules_above, work_tree_above
from dowse.ingest.sources.selection import select
from dowse.live.watch.base import Place


def place_of(collection: str, source: FileSource) -> Place:
    """The place whose files the source lists. What it wants is never less than that, and may be a little more."""
    bounds = _Bounds(source)
    return Place(collection, source.root, bounds.wanted_dir, bounds.wanted, bounds.renew)


class _Bounds:
    """Judges paths by globs, ignore files and one question to git, all as they were when last renewed."""

    def __init__(self, source: FileSource) -> None:
        exclude = (*DEFAULT_EXCLUDE, *source.exclude) if source.default_excludes else source.exclude
        self._selection = select(source.include, exclude, part_of(()))
        self._source = source
        self._rules = _Rules(source)

    def wanted_dir(self, path: str) -> bool:
        return self._selection.has_directory(path) and self._rules.enters(path)

    def wanted(self, path: str) -> bool:
        return self._selection.has_file(path) and not self._rules.ignores(path)

    def renew(self) -> bool:
        """Read the rules again. Others may be asked meanwhile: they get an answer by the old ones or the new ones."""
        before, fresh = self._rules, _Rules(self._source)
        for repository in list(before.kept):
            fresh.learn(repository)
        self._rules = fresh
        return before.kept != fresh.kept


class _Rules:
    """What ignore files say about entries of directories; each is read once, when something in it is asked about."""

    def __init__(self, source: FileSource) -> None:
        self._root = str(source.root)
        self._use_gitignore = source.use_gitignore
        self._doors = Doors(self._root, frozenset(str(it.resolve()) for it in source.barred))
        self._inside: dict[str, IgnoreRules] = {}
        self._kept_directories: set[str] = set()
        self.kept: dict[str, frozenset[str]] = {}
        """By repository, by its directory: files that git tracks although they are ignored."""

    def enters(self, directory: str) -> bool:
        if self._doors.rules(directory) is None:
            return False
        parent, _, name = directory.rpartition("/")
        is_ignored = self._git_rules(parent).ignores(self._base(parent), name + "/")
        return not is_ignored or directory in self._kept_directories

    def ignores(self, path: str) -> bool:
        parent, _, name = path.rpartition("/")
        own = self._doors.rules(parent)
        if own is None or own.ignores(self._base(parent), name):
            return True
        is_ignored = self._git_rules(parent).ignores(self._base(parent), name)
        return is_ignored and not any(path in files for files in self.kept.values())

    def learn(self, repository: str) -> None:
        """Ask git about a repository, by the directory it begins at; the first one may begin above the root."""
        place = f"{self._root}/{repository}" if repository else self._root
        top = work_tree_above(place)
        prefix = f"{repository}/" if repository else ""
        files = frozenset(prefix + it for it in list_kept_though_ignored(top, place)) if top else frozenset()
        self.kept[repository] = files
        for path in files:
            self._kept_directories.update(ancestors_and_self(path.rpartition("/")[0]))

    def _git_rules(self, directory: str) -> IgnoreRules:
        """For the entries of the directory. Below an ignored one that holds tracked files, everything counts."""
        if not self._use_gitignore:
            return NO_RULES
        for place in ("", *ancestors_and_self(directory)):
            if place not in self._inside:
                self._inside[place] = self._entered(place)
        return self._inside[directory]

    def _entered(self, directory: str) -> IgnoreRules:
        base = self._base(directory)
        if directory and not is_work_tree(base.rstrip("/")):
            return self._inside[directory.rpartition("/")[0]].entering(base, GIT_IGNORE_FILE)
        self.learn(directory)
        return rules_above(base.rstrip("/")).entering(base, GIT_IGNORE_FILE)

    def _base(self, directory: str) -> str:
        return f"{self._root}/{directory}/" if directory else f"{self._root}/"
