"""The git tools of the code search contract: commits of a file, their patches, authors, activity, lines, branches."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from dowse.engine.past import Source
from dowse.errors import BadInput
from dowse.ingest.sources.git.work_tree.branches import BranchStatus
from dowse.ingest.sources.git.work_tree.checkout import Checkout
from dowse.lookup.history.question import History, Sought
from dowse.profiles.codesearch_desk import Desk
from dowse.profiles.codesearch_git_json import author_json, blamed_json, branch_json, commit_json
from dowse.profiles.codesearch_git_words import (
    Day,
    File,
    From,
    Message,
    NoCache,
    Repo,
    To,
    Who,
    days,
    path_in,
    repository,
)
from dowse.profiles.codesearch_words import MAX_NUMBER, MaxResults
from dowse.profiles.tool import Param, Reply, Tool

_PATCH_LINES = 200
_PARTIAL = "the clone is shallow, objects are missing, or only the newest commits are indexed"
Line = Annotated[int, Param("From 1", ge=1, le=MAX_NUMBER)]
LastLine = Annotated[int | None, Param("Default: only startLine", ge=1, le=MAX_NUMBER)]


@dataclass(frozen=True, slots=True)
class Asked:
    """A question about commits, and when it was put."""

    tool: str
    started: float
    checkout: Checkout
    sought: Sought
    no_cache: bool = False


class GitTools:
    def __init__(self, desk: Desk, wall_clock: Callable[[], float] = time.time) -> None:
        self._desk = desk
        self._wall_clock = wall_clock

    def tools(self) -> tuple[Tool, ...]:
        return (
            Tool(self.search_git_history, "Commits of a file"),
            Tool(self.search_git_diff, "Commits of a file, with patches"),
            Tool(self.search_git_authors, "Who wrote a file"),
            Tool(self.search_git_activity, "Which files changed"),
            Tool(self.search_git_blame, "Who wrote these lines"),
            Tool(self.search_branch_status, "Where the branch stands"),
        )

    # --- the tools ---

    def search_git_history(
        self,
        repo: Repo,
        file: File,
        from_: From = "",
        to: To = "",
        date: Day = "",
        maxResults: MaxResults = 50,
        author: Who = "",
        message: Message = "",
        noCache: NoCache = False,
    ) -> Reply:
        """The commits that changed a file, under all the names it had, newest first."""
        asked = self._asked("search_git_history", repo, file, days(from_, to, date), author, message, noCache)
        history, source = self._history(asked, maxResults)
        return self._commits(asked, history, source, [commit_json(it) for it in history.commits])

    def search_git_diff(
        self,
        repo: Repo,
        file: File,
        from_: From = "",
        to: To = "",
        date: Day = "",
        maxResults: MaxResults = 50,
        author: Who = "",
        message: Message = "",
    ) -> Reply:
        """The same as search_git_history, with what each commit changed in the file."""
        asked = self._asked("search_git_diff", repo, file, days(from_, to, date), author, message)
        history, source = self._history(asked, maxResults)
        patches = self._desk.engine().patches(asked.checkout, history, _PATCH_LINES)
        rows = [commit_json(it, patches.get(it.path)) for it in history.commits]
        return self._commits(asked, history, source, rows)

    def search_git_authors(
        self,
        repo: Repo,
        path: Annotated[str, Param("A file or directory, from the top of the repository; default: all of it")] = "",
        file: Annotated[str, Param("The same as path")] = "",
        from_: From = "",
        to: To = "",
        top: Annotated[int, Param("How many at most; 0 is all of them", ge=0, le=MAX_NUMBER)] = 10,
        message: Message = "",
        noCache: NoCache = False,
    ) -> Reply:
        """Who changed a file, a directory or the whole repository, by the number of commits."""
        if path and file and path != file:
            raise BadInput("path and file are two names for one thing, and differ here; give one of them")
        asked = self._asked("search_git_authors", repo, path or file, days(from_, to, ""), "", message, noCache)
        found, source = self._desk.engine().authors(asked.checkout, asked.sought, from_git=noCache)
        rows = [author_json(rank, it) for rank, it in enumerate(found.people[: top or None], 1)]
        figures = {"totalCommits": found.commits, "totalAuthors": len(found.people), "returned": len(rows)}
        return self._reply(asked, source, {"authors": rows}, figures, self._unknown(asked, found.commits))

    def search_git_activity(
        self,
        repo: Repo,
        from_: From = "",
        to: To = "",
        date: Day = "",
        author: Who = "",
        message: Message = "",
        noCache: NoCache = False,
    ) -> Reply:
        """Which files changed, those with the most commits first."""
        asked = self._asked("search_git_activity", repo, "", days(from_, to, date), author, message, noCache)
        found, source = self._desk.engine().activity(asked.checkout, asked.sought, from_git=noCache)
        rows = [{"path": path, "commitCount": count} for path, count in found.files]
        figures = {"totalFiles": len(rows), "totalCommits": found.commits}
        return self._reply(asked, source, {"activity": rows}, figures)

    def search_git_blame(self, repo: Repo, file: File, startLine: Line, endLine: LastLine = None) -> Reply:
        """Who last changed each of these lines of a file as it is now, when, and in which commit."""
        started, last = self._desk.now(), startLine if endLine is None else endLine
        if last < startLine:
            raise BadInput(f"endLine {last} is before startLine {startLine}; swap them")
        checkout = repository(repo, self._desk.directory)
        path = _required(path_in(checkout, file))
        found = self._desk.engine().blame_in(checkout, path, startLine, last)
        figures: dict[str, Any] = {"file": path, "returned": len(found.lines), "totalLines": found.total}
        if found.cut:
            figures["linesLeftOut"] = found.cut
        summary = self._desk.summary(started, tool="search_git_blame", **figures)
        return self._desk.reply({"lines": [blamed_json(it) for it in found.lines], "summary": summary})

    def search_branch_status(self, repo: Repo) -> Reply:
        """The current branch, how far it is from the main one, what is not committed, and how old the last fetch is:
        whether what is here is what you think it is."""
        started = self._desk.now()
        status: BranchStatus = self._desk.engine().branch_status(repository(repo, self._desk.directory))
        summary = self._desk.summary(started, tool="search_branch_status")
        return self._desk.reply({**branch_json(status, self._wall_clock()), "summary": summary})

    # --- how they do it ---

    def _asked(
        self,
        tool: str,
        repo: str,
        path: str,
        between: tuple[float | None, float | None],
        author: str,
        message: str,
        no_cache: bool = False,
    ) -> Asked:
        started, checkout = self._desk.now(), repository(repo, self._desk.directory)
        sought = Sought(path_in(checkout, path), *between, author.strip(), message.strip())
        return Asked(tool, started, checkout, sought, no_cache)

    def _history(self, asked: Asked, limit: int) -> tuple[History, Source]:
        _required(asked.sought.path)
        engine = self._desk.engine()
        return engine.commits(asked.checkout, asked.sought, limit or None, from_git=asked.no_cache)

    def _commits(self, asked: Asked, history: History, source: Source, rows: list[dict[str, Any]]) -> Reply:
        figures: dict[str, Any] = {"totalCommits": history.total, "returned": len(rows)}
        if len(history.names) > 1:
            figures["names"] = list(history.names)
        return self._reply(asked, source, {"commits": rows}, figures, self._unknown(asked, history.total))

    def _unknown(self, asked: Asked, found: int) -> str:
        """What to say where nothing was found because no commit knows the path."""
        if found or not asked.sought.path:
            return ""
        engine, path = self._desk.engine(), asked.sought.path
        if engine.commits(asked.checkout, Sought(path), 1, from_git=asked.no_cache)[0].total:
            return ""
        if engine.is_committed(asked.checkout, path):
            return f"{path[:200]} is in the last commit, but no commit that is known tells how it came: {_PARTIAL}"
        similar = engine.similar_paths(asked.checkout, path)
        advice = f"did you mean {', '.join(similar)}?" if similar else "check the path, which is from the top of repo"
        return f"File never tracked in git: {path[:200]}; {advice}"

    def _reply(
        self, asked: Asked, source: Source, rows: dict[str, Any], figures: dict[str, Any], warning: str = ""
    ) -> Reply:
        told = {"tool": asked.tool, **figures, "source": source.name}
        if source.reason:
            told["sourceReason"] = source.reason
        summary = self._desk.summary(asked.started, **told)
        return self._desk.reply({**rows, "summary": summary, **({"warning": warning} if warning else {})})


def _required(path: str) -> str:
    if not path:
        raise BadInput("file must name something in the repository; give its path from the top")
    return path
