"""What happened in a repository: commits of a file, authors, activity, who wrote a line, where a branch stands.

Asked of the index while that knows every commit, else of git itself: the answer is that of this moment either way, and
says which.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dowse.engine.fresh import Fresh
from dowse.engine.recent import OTHERWISE
from dowse.errors import BadInput
from dowse.lookup.history.history import activity, authors, chosen, commits, most_changed, written
from dowse.lookup.history.question import AUTHOR, PROBLEM, TOUCHES, Activity, Authors, History, Sought
from dowse.model import Collection, Record, Scope
from dowse.text.scopes import inside

if TYPE_CHECKING:
    from dowse.ingest.sources.git.patches import Patch
    from dowse.ingest.sources.git.withholding import Withholding
    from dowse.ingest.sources.git.work_tree.blame import Blame
    from dowse.ingest.sources.git.work_tree.branches import BranchStatus
    from dowse.ingest.sources.git.work_tree.checkout import Checkout

_SUGGESTIONS = 5
_COMPARED = 5000  # names that are compared letter by letter; more take too long


@dataclass(frozen=True, slots=True)
class Source:
    """Who answered, and why it was not the index, or what it does not know."""

    name: str
    reason: str = ""

    def but(self, problem: str) -> Source:
        """The same with something more to be said of it, if that is anything."""
        return Source(self.name, "; ".join(filter(None, (self.reason, problem))))


class Past(Fresh):
    def checkout(self, place: Path) -> Checkout:
        """The repository that holds this directory, or is it."""
        from dowse.ingest.sources.git.work_tree.checkout import checkout_at

        found = checkout_at(place)
        if found is None:
            raise BadInput(f"{place} is in no git repository; name a directory that is")
        return found

    def commits(
        self, checkout: Checkout, sought: Sought, limit: int | None = None, *, from_git: bool = False
    ) -> tuple[History, Source]:
        """Newest first; of a file under all the names it had."""
        history, source = self._answering(checkout, from_git)
        if history is not None:
            return commits(self._store, history.name, sought, limit), source
        found, problem = _logged(checkout, sought, limit, self._withholding_at(checkout))
        return found, source.but(problem)

    def authors(self, checkout: Checkout, sought: Sought, *, from_git: bool = False) -> tuple[Authors, Source]:
        """Who wrote the commits, the busiest first."""
        history, source = self._answering(checkout, from_git)
        if history is not None:
            return authors(self._store, history.name, sought), source
        found, problem = _logged(checkout, sought, None, self._withholding_at(checkout))
        people = written((it.facets.get(AUTHOR, ""), it.moment_ns) for it in found.commits)
        return people, source.but(problem)

    def activity(self, checkout: Checkout, sought: Sought, *, from_git: bool = False) -> tuple[Activity, Source]:
        """How many of the commits touched each file."""
        history, source = self._answering(checkout, from_git)
        if history is not None:
            return activity(self._store, history.name, sought), source
        found, problem = _logged_activity(checkout, sought, self._withholding_at(checkout))
        return found, source.but(problem)

    def patches(self, checkout: Checkout, history: History, max_lines: int) -> dict[str, Patch]:
        """What the commits changed in the file, by hash."""
        from dowse.ingest.sources.git.patches import patches

        names, withholding = [it.path for it in history.commits], self._withholding_at(checkout)
        return patches(checkout.common, names, history.names, max_lines, withholding=withholding)

    def blame(self, file: Path, start_line: int = 1, end_line: int | None = None) -> Blame:
        """Who last wrote each line of a file in a work tree, as it is now."""
        from dowse.ingest.sources.git.work_tree.checkout import checkout_at

        found = checkout_at(file.parent)
        if found is None or found.top is None or not file.is_relative_to(found.top):
            raise BadInput(f"{file} is in no git work tree")
        return self.blame_in(found, file.relative_to(found.top).as_posix(), start_line, end_line)

    def blame_in(self, checkout: Checkout, path: str, start_line: int = 1, end_line: int | None = None) -> Blame:
        """The same for a path from the top of a repository, which may be bare: its last commit counts then."""
        from dowse.ingest.sources.git.work_tree.blame import MAX_LINES, blame

        last = start_line + MAX_LINES - 1 if end_line is None else end_line
        withholding = self._withholding_at(checkout)
        return blame(checkout.git_directory, path, start_line, last, checkout.current(path), withholding)

    def branch_status(self, checkout: Checkout) -> BranchStatus:
        from dowse.ingest.sources.git.work_tree.branches import branch_status

        return branch_status(checkout)

    def commits_like(self, beginning: str, collection: str | None = None) -> list[Record]:
        """The indexed commits whose hashes begin so, newest first."""
        from dowse.lookup.called import commits_like

        return commits_like(self._store, beginning, collection)

    def touched(self, commit: Record) -> list[str]:
        """The paths that an indexed commit made, changed or deleted."""
        return [it.target for it in self._store.links(commit) if it.kind == TOUCHES]

    def commit_count(self, *histories: str) -> int:
        """How many commits are indexed, of these histories or of all."""
        names = histories or tuple(it.name for it in self.histories())
        return self._store.count(Scope(collections=names)) if names else 0

    def is_committed(self, checkout: Checkout, path: str) -> bool:
        """Whether the last commit has this file or directory."""
        from dowse.ingest.sources.git.log import is_in_head

        return is_in_head(checkout.git_directory, path)

    def similar_paths(self, checkout: Checkout, path: str) -> list[str]:
        """Files of the last commit whose names are like this one, which none has."""
        from dowse.ingest.sources.git.log import files_of_head

        return _similar(path, files_of_head(checkout.git_directory))

    def _withholding_at(self, checkout: Checkout) -> Withholding:
        return self._withholding([checkout.top or checkout.common])

    def _answering(self, checkout: Checkout, from_git: bool) -> tuple[Collection | None, Source]:
        if from_git:
            return None, Source("git")
        if not self.settings.git:
            return None, Source("git", "histories are not indexed (git = false)")
        self._newest.look()
        history = self._history_at(checkout.common)
        if history is None or not history.synced_at:
            return None, Source("git", "the history is not indexed yet")
        if history.name in self.histories_behind():
            return None, Source("git", "commits came or went that are not indexed yet")
        if history.name in self.histories_told_otherwise():
            return None, Source("git", f"the history is {OTHERWISE}")
        return history, Source("index", "; ".join(self._lacking(history)))

    def _lacking(self, history: Collection) -> Iterator[str]:
        """What the index does not know of the history."""
        from dowse.ingest.sources.budget import cut_of
        from dowse.ingest.sources.git.commits import WHOLE
        from dowse.ingest.sources.git.reading.reader import NO_FILES, NO_PARENTS, TOO_LARGE

        if problem := self._problem_of(history):
            yield problem
        if cut_of(self._store.skipped(), history.name):
            most = self.settings.max_commits
            newest = f"{most:,} commits are" if most > 1 else "commit is"
            yield f"only the newest {newest} indexed; noCache asks git itself"
        unread = sum(it.path != WHOLE for it in self._unread(history.name))
        if unread:
            yield f"commits that could not be read, which `dowse index` tries again: {unread:,}"
        problems = [it for name, _, it in self._store.faceted(PROBLEM) if name == history.name]
        untold = sum(it.startswith((NO_FILES, NO_PARENTS, TOO_LARGE)) for it in problems)
        if untold:
            yield f"commits whose files are not known, because objects are missing or the clone is shallow: {untold:,}"


def _logged(checkout: Checkout, sought: Sought, limit: int | None, withholding: Withholding) -> tuple[History, str]:
    """With what git could not tell of."""
    from dowse.ingest.sources.git.log import GitLog
    from dowse.lookup.history.following import Life, life_of

    log = GitLog(checkout.common, withholding=withholding)
    life = life_of(log, sought.path) if sought.path else Life(())
    is_inside = inside(sought.scope("", ()))
    return chosen((it for it in log.commits(life.names) if is_inside(it)), life, sought, log, limit), log.problem


def _logged_activity(checkout: Checkout, sought: Sought, withholding: Withholding) -> tuple[Activity, str]:
    from dowse.ingest.sources.git.log import GitLog

    found, problem = _logged(checkout, sought, None, withholding)
    changes = GitLog(checkout.common).changes([it.path for it in found.commits])
    counted = Counter(path for _, made in changes for path in {it.path for it in made})
    return most_changed(counted, found.total), problem


def _similar(path: str, known: list[str]) -> list[str]:
    """Those with the same last part first, whatever its case; then those that are spelt nearly so."""
    from difflib import get_close_matches

    name = path.rpartition("/")[2].lower()
    alike = sorted((it for it in known if it.rpartition("/")[2].lower() == name), key=len)
    near = get_close_matches(path, known, n=_SUGGESTIONS, cutoff=0.7) if len(known) <= _COMPARED else []
    return list(dict.fromkeys((*alike, *near)))[:_SUGGESTIONS]
