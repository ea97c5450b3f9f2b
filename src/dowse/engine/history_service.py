"""Questions about git history: commits, diffs, blame and branch status."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dowse.engine.core import EngineCore
from dowse.engine.freshness import FreshnessService
from dowse.engine.history_index import OTHER_FORMAT, HistoryIndex
from dowse.errors import BadInput
from dowse.lookup.history import (
    AUTHOR_FACET,
    PROBLEM_FACET,
    TOUCHES_LINK,
    ActivityAnswer,
    AuthorsAnswer,
    HistoryAnswer,
    HistoryQuery,
    aggregate_authors,
    count_authors,
    count_changes,
    filter_commits,
    find_commits,
    rank_changed_files,
)
from dowse.model import Collection, Record, Scope
from dowse.text.code_names import scope_predicate

if TYPE_CHECKING:
    from dowse.git.blame import Blame
    from dowse.git.commit import Redaction
    from dowse.git.worktree import BranchStatus, Checkout
    from dowse.ingest.sources.git_log import Patch

_MAX_PATH_SUGGESTIONS = 5
_MAX_COMPARED_PATHS = 5000  # names to compare by edit distance; more take too long


@dataclass(frozen=True, slots=True)
class AnswerSource:
    """Whether git or the index answered, with the reason or the limits of the answer."""

    name: str
    reason: str = ""

    def with_problem(self, problem: str) -> AnswerSource:
        """Return a copy with a problem added to the reason; unchanged if it is empty."""
        return AnswerSource(self.name, "; ".join(filter(None, (self.reason, problem))))


class HistoryService:
    def __init__(self, core: EngineCore, freshness: FreshnessService, histories: HistoryIndex) -> None:
        self._core = core
        self._settings = core.settings
        self._sources = core.sources
        self._freshness = freshness
        self._histories = histories

    def checkout(self, place: Path) -> Checkout:
        """Return the repository at or around this directory."""
        from dowse.git.worktree import find_checkout

        found = find_checkout(place)
        if found is None:
            raise BadInput(f"{place} is not in a git repository; pass a directory that is")
        return found

    def commits(
        self, checkout: Checkout, query: HistoryQuery, limit: int | None = None, *, from_git: bool = False
    ) -> tuple[HistoryAnswer, AnswerSource]:
        """Return commits, newest first; a file's commits under all its former names."""
        history, source = self._choose_source(checkout, from_git)
        if history is not None:
            return find_commits(self._core.view(), history.name, query, limit), source
        found, problem = _query_git_log(checkout, query, limit, self._withholding_at(checkout))
        return found, source.with_problem(problem)

    def authors(
        self, checkout: Checkout, query: HistoryQuery, *, from_git: bool = False
    ) -> tuple[AuthorsAnswer, AnswerSource]:
        """Return the authors of the commits, most commits first."""
        history, source = self._choose_source(checkout, from_git)
        if history is not None:
            return count_authors(self._core.view(), history.name, query), source
        found, problem = _query_git_log(checkout, query, None, self._withholding_at(checkout))
        people = aggregate_authors((it.facets.get(AUTHOR_FACET, ""), it.timestamp_ns) for it in found.commits)
        return people, source.with_problem(problem)

    def activity(
        self, checkout: Checkout, query: HistoryQuery, *, from_git: bool = False
    ) -> tuple[ActivityAnswer, AnswerSource]:
        """Return how many of the commits touched each file."""
        history, source = self._choose_source(checkout, from_git)
        if history is not None:
            return count_changes(self._core.view(), history.name, query), source
        found, problem = _query_git_activity(checkout, query, self._withholding_at(checkout))
        return found, source.with_problem(problem)

    def patches(self, checkout: Checkout, history: HistoryAnswer, max_lines: int) -> dict[str, Patch]:
        """Return the commits' changes to the file, by hash."""
        from dowse.ingest.sources.git_log import read_patches

        names, withholding = [it.path for it in history.commits], self._withholding_at(checkout)
        return read_patches(checkout.common, names, history.names, max_lines, withholding=withholding)

    def blame(self, file: Path, start_line: int = 1, end_line: int | None = None) -> Blame:
        """Return the last author of each line of a work tree file, including uncommitted lines."""
        from dowse.git.worktree import find_checkout

        found = find_checkout(file.parent)
        if found is None or found.top is None or not file.is_relative_to(found.top):
            raise BadInput(f"{file} is not in a git work tree")
        return self.blame_in(found, file.relative_to(found.top).as_posix(), start_line, end_line)

    def blame_in(self, checkout: Checkout, path: str, start_line: int = 1, end_line: int | None = None) -> Blame:
        """Do the same for a path in a repository. For a bare one, the last commit is used."""
        from dowse.git.blame import MAX_BLAMED_LINES, blame

        last = start_line + MAX_BLAMED_LINES - 1 if end_line is None else end_line
        withholding = self._withholding_at(checkout)
        return blame(checkout.git_directory, path, start_line, last, checkout.current(path), withholding)

    def branch_status(self, checkout: Checkout) -> BranchStatus:
        from dowse.git.worktree import read_branch_status

        return read_branch_status(checkout)

    def commits_like(self, beginning: str, collection: str | None = None) -> list[Record]:
        """Return the indexed commits whose hashes start with `beginning`, newest first."""
        from dowse.lookup.targets import commits_by_prefix

        return commits_by_prefix(self._core.view(), beginning, collection)

    def changed_paths(self, commit: Record) -> list[str]:
        """Return the paths that an indexed commit created, changed or deleted."""
        return [it.target for it in self._core.view().links(commit) if it.kind == TOUCHES_LINK]

    def commit_count(self, *histories: str) -> int:
        """Return the number of indexed commits, of these histories or of all."""
        names = histories or tuple(it.name for it in self._core.histories())
        return self._core.view().count(Scope(collections=names)) if names else 0

    def is_committed(self, checkout: Checkout, path: str) -> bool:
        """Return whether the last commit contains this file or directory."""
        from dowse.ingest.sources.git_log import is_in_head

        return is_in_head(checkout.git_directory, path)

    def similar_paths(self, checkout: Checkout, path: str) -> list[str]:
        """Return files of the last commit with names similar to this missing one."""
        from dowse.ingest.sources.git_log import files_of_head

        return _rank_similar_paths(path, files_of_head(checkout.git_directory))

    def _withholding_at(self, checkout: Checkout) -> Redaction:
        return self._sources.redaction_for([checkout.top or checkout.common])

    def _choose_source(self, checkout: Checkout, from_git: bool) -> tuple[Collection | None, AnswerSource]:
        if from_git:
            return None, AnswerSource("git")
        if not self._settings.git:
            return None, AnswerSource("git", "histories are not indexed (git = false)")
        self._freshness.check_histories()
        history = self._core.history_at(checkout.common)
        if history is None or not history.synced_at:
            return None, AnswerSource("git", "the history is not indexed yet")
        if history.name in self._histories.outdated_histories():
            return None, AnswerSource("git", "some commits are not indexed yet")
        if history.name in self._histories.histories_of_other_format():
            return None, AnswerSource("git", f"the history is {OTHER_FORMAT}")
        return history, AnswerSource("index", "; ".join(self._history_gaps(history)))

    def _history_gaps(self, history: Collection) -> Iterator[str]:
        """Yield sentences about the parts of the history that the index lacks."""
        from dowse.git.diff_tree import CHANGED_FILES_UNKNOWN, GIT_OUT_OF_MEMORY, PARENTS_NOT_FETCHED
        from dowse.ingest.sources.base import find_cutoff
        from dowse.ingest.sources.commits import WHOLE_HISTORY

        if problem := self._histories.problem_of(history):
            yield problem
        if find_cutoff(self._core.view().skipped_items(), history.name):
            most = self._settings.max_commits
            newest = f"{most:,} commits are" if most > 1 else "commit is"
            yield f"only the newest {newest} indexed; noCache queries git directly"
        unread = sum(it.path != WHOLE_HISTORY for it in self._histories.unread_items(history.name))
        if unread:
            yield f"unreadable commits, which `dowse index` retries: {unread:,}"
        problems = [it for name, _, it in self._core.view().records_with_facet(PROBLEM_FACET) if name == history.name]
        without_files = sum(
            it.startswith((CHANGED_FILES_UNKNOWN, PARENTS_NOT_FETCHED, GIT_OUT_OF_MEMORY)) for it in problems
        )
        if without_files:
            yield f"commits with unknown files, because objects are missing or the clone is shallow: {without_files:,}"


def _query_git_log(
    checkout: Checkout, query: HistoryQuery, limit: int | None, withholding: Redaction
) -> tuple[HistoryAnswer, str]:
    """Query git; return the commits and a sentence about those git could not read."""
    from dowse.ingest.sources.git_log import GitLog
    from dowse.lookup.history import FileHistory, follow_renames

    log = GitLog(checkout.common, withholding=withholding)
    file_history = follow_renames(log, query.path) if query.path else FileHistory(())
    is_inside = scope_predicate(query.scope("", ()))
    return filter_commits(
        (it for it in log.commits(file_history.names) if is_inside(it)), file_history, query, log, limit
    ), log.problem


def _query_git_activity(checkout: Checkout, query: HistoryQuery, withholding: Redaction) -> tuple[ActivityAnswer, str]:
    from dowse.ingest.sources.git_log import GitLog

    found, problem = _query_git_log(checkout, query, None, withholding)
    changes = GitLog(checkout.common).changes([it.path for it in found.commits])
    counted = Counter(path for _, made in changes for path in {it.path for it in made})
    return rank_changed_files(counted, found.total), problem


def _rank_similar_paths(path: str, known: list[str]) -> list[str]:
    """Return paths with the same file name first, ignoring case; then paths with a similar spelling."""
    from difflib import get_close_matches

    name = path.rpartition("/")[2].lower()
    alike = sorted((it for it in known if it.rpartition("/")[2].lower() == name), key=len)
    near = (
        get_close_matches(path, known, n=_MAX_PATH_SUGGESTIONS, cutoff=0.7) if len(known) <= _MAX_COMPARED_PATHS else []
    )
    return list(dict.fromkeys((*alike, *near)))[:_MAX_PATH_SUGGESTIONS]
