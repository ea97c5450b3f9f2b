"""Whether a single path would be listed, judged without listing anything."""

from __future__ import annotations

from collections.abc import Callable

from dowse.ingest.sources.doors import Doors, ancestors_and_self, looked_up
from dowse.ingest.sources.git.bare import BareGround
from dowse.ingest.sources.git.repository import GIT_IGNORE_FILE, is_work_tree, rules_above, work_tree_above
from dowse.ingest.sources.git.work_tree.listing import list_kept_though_ignored
from dowse.ingest.sources.ignore_files import NO_RULES, IgnoreRules
from dowse.ingest.sources.selection import Selection


class Kept:
    """What git tracks although it is ignored: one question to git for each repository."""

    def __init__(self) -> None:
        self.files: dict[str, frozenset[str]] = {}  # by the directory a repository begins at, or the root inside of one
        self._folders: set[str] = set()

    def learn(self, root: str, repository: str) -> None:
        place = f"{root}/{repository}" if repository else root
        top = work_tree_above(place)
        prefix = f"{repository}/" if repository else ""
        files = frozenset(prefix + it for it in list_kept_though_ignored(top, place)) if top else frozenset()
        self.files[repository] = files
        for path in files:
            self._folders.update(ancestors_and_self(path.rpartition("/")[0]))

    def has_file(self, path: str) -> bool:
        return any(path in files for files in self.files.values())

    def leads_to_some(self, directory: str) -> bool:
        return directory in self._folders


class Judge:
    """By settings and ignore files, each read once. What git tracks although it is ignored is only known with `kept`.

    `folders` judges directories; `files` makes the selection that judges files, which takes longer to load.
    """

    def __init__(
        self,
        root: str,
        folders: Selection,
        files: Callable[[], Selection],
        doors: Doors,
        use_gitignore: bool,
        kept: Kept | None = None,
    ) -> None:
        self._root = root
        self._folders = folders
        self._make_files = files
        self._files: Selection | None = None
        self._doors = doors
        self._use_gitignore = use_gitignore
        self._kept = kept
        self._ground = BareGround(root)
        self._rules: dict[str, IgnoreRules | None] = {"": self._entered("", self._above(""))}

    def has_directory(self, path: str) -> bool:
        """Whether files in it may be wanted; the root is the empty path."""
        return self.reaches(path) and self._ground.has_wanted(path)

    def reaches(self, path: str) -> bool:
        """Whether files in it may be wanted, or git keeps a repository in it, where work trees may come."""
        return self._inside(path) is not None

    def has_file(self, path: str) -> bool:
        directory, _, name = path.rpartition("/")
        rules, own = self._inside(directory), self._doors.rules(directory)
        if rules is None or own is None or self._ground.around(directory) is not None:
            return False
        selection = self._selection()
        # A linked work tree has a file named `.git`.
        if name == ".git" or not selection.has_file(path) or selection.held(path):
            return False
        base = self._base(directory)
        if own.ignores(base, name):
            return False
        return not rules.ignores(base, name) or bool(self._kept and self._kept.has_file(path))

    def _selection(self) -> Selection:
        if self._files is None:
            self._files = self._make_files()
        return self._files

    def _inside(self, directory: str) -> IgnoreRules | None:
        """The rules of git for the directory's entries, or None if it is not entered."""
        return looked_up(directory, self._rules, self._look_at)

    def _look_at(self, directory: str) -> IgnoreRules | None:
        parent, _, name = directory.rpartition("/")
        rules = self._rules[parent]
        if rules is None or name == ".git" or not self._folders.has_directory(directory):
            return None
        if self._doors.rules(directory) is None or not self._ground.reaches(directory):
            return None
        if rules.ignores(self._base(parent), name + "/") and not (self._kept and self._kept.leads_to_some(directory)):
            return None
        is_nested = self._use_gitignore and is_work_tree(f"{self._root}/{directory}")
        return self._entered(directory, self._above(directory) if is_nested else rules)

    def _entered(self, directory: str, rules: IgnoreRules) -> IgnoreRules:
        return rules.entering(self._base(directory), GIT_IGNORE_FILE) if self._use_gitignore else NO_RULES

    def _above(self, repository: str) -> IgnoreRules:
        """Of the root, or of a repository below it, by the directory it begins at."""
        if not self._use_gitignore:
            return NO_RULES
        if self._kept:
            self._kept.learn(self._root, repository)
        return rules_above(self._base(repository).rstrip("/"))

    def _base(self, directory: str) -> str:
        return f"{self._root}/{directory}/" if directory else f"{self._root}/"
