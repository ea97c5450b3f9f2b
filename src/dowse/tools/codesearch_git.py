"""The codesearch tools for git."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from datetime import time as datetime_time
from pathlib import Path, PurePosixPath
from typing import Annotated, Any

from dowse.engine.history_service import AnswerSource
from dowse.errors import BadInput
from dowse.git.blame import BlamedLine
from dowse.git.runner import is_committed_name
from dowse.git.worktree import BranchStatus, Checkout, find_checkout
from dowse.ingest.sources.git_log import Patch
from dowse.lookup.history import AUTHOR_FACET, AuthorActivity, HistoryAnswer, HistoryQuery, split_author
from dowse.model import Record
from dowse.text.times import format_ago, to_datetime
from dowse.text.unicode import escape_invalid_bytes
from dowse.tools.codesearch_context import ToolContext
from dowse.tools.render import MAX_INT32, MaxResultsArg
from dowse.tools.tool import Param, Tool, ToolReply

# --------------------------------------------------------------------------------------------------
# Arguments of the code search git tools: repositories, paths in them, days.

RepoArg = Annotated[str, Param("Repository: '.' for that of the server's directory, or the path of one inside it")]
FileArg = Annotated[str, Param("Path of a file or directory, relative to the repository")]
FromDayArg = Annotated[str, Param("First day, YYYY-MM-DD (UTC)")]
ToDayArg = Annotated[str, Param("Last day, YYYY-MM-DD (UTC)")]
DayArg = Annotated[str, Param("One day, YYYY-MM-DD (UTC), instead of from and to")]
AuthorArg = Annotated[str, Param("Part of the author's name or address; case is ignored")]
MessageArg = Annotated[str, Param("Part of the commit message; case is ignored")]
NoCacheArg = Annotated[bool, Param("Read from git instead of the index")]

_MAX_PATH_CHARS = 4000
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


def resolve_repository(argument: str, server_dir: Path) -> Checkout:
    """Return the repository at a path, following symlinks. It must contain the server's directory or lie inside it."""
    if not argument.strip():
        raise BadInput("repo must not be empty; pass '.' for the repository of the server's directory")
    try:
        path = (server_dir / argument.replace("\\", "/")).resolve()
        checkout = find_checkout(path) if path.is_dir() else None
    except (OSError, RuntimeError, ValueError) as error:
        raise BadInput(f"repo {argument[:100]!r} cannot be used: {error.args[-1]}") from None
    enclosing = find_checkout(server_dir)
    if not path.is_relative_to(server_dir) and (enclosing is None or checkout != enclosing):
        raise BadInput(
            f"Server started with --dir {server_dir.as_posix()}. For other repositories, start another server."
        )
    if checkout is None:
        raise BadInput(f"repo {argument[:100]!r} is not in a git repository")
    return checkout


def resolve_repository_path(checkout: Checkout, argument: str, name: str = "file") -> str:
    """Return the path relative to the top of the repository, with `/`. An absolute path inside it is accepted.
    Backslashes and surrounding spaces are kept only if a committed path has them."""
    if "\0" in argument or len(argument) > _MAX_PATH_CHARS:
        raise BadInput(f"{name} is not a valid path: it contains a null byte or is too long")
    text = _from_top(checkout, argument)
    if text != text.strip() and not is_committed_name(checkout.git_directory, text):
        text = _from_top(checkout, text.strip())
    if "\\" in text and not is_committed_name(checkout.git_directory, text):
        text = _from_top(checkout, text.replace("\\", "/"))
    path = PurePosixPath(text)
    if path.is_absolute() or ".." in path.parts:
        raise BadInput(f"{name} {argument[:100]!r} is outside the repository; pass a path relative to it")
    return "" if path == PurePosixPath(".") else path.as_posix()


def _from_top(checkout: Checkout, path: str) -> str:
    """Make an absolute path inside the repository relative; return any other path unchanged."""
    if path.startswith("/") and checkout.top is not None and Path(path).is_relative_to(checkout.top):
        return Path(path).relative_to(checkout.top).as_posix()
    return path


def parse_day_range(first: str, last: str, only: str) -> tuple[float | None, float | None]:
    """Return the timestamps of the start of the first day and the end of the last."""
    if only and (first or last):
        raise BadInput("date and from/to are mutually exclusive; pass date for a single day")
    since = _parse_day("date" if only else "from", only or first)
    until = _parse_day("date" if only else "to", only or last)
    if since and until and since > until:
        raise BadInput(f"from {since} is after to {until}; swap them")
    end = None if until is None else _day_start(until) + timedelta(days=1, microseconds=-1).total_seconds()
    return None if since is None else _day_start(since), end


def _parse_day(name: str, text: str) -> date | None:
    if not text.strip():
        return None
    try:
        if _DAY.fullmatch(text.strip()):
            return date.fromisoformat(text.strip())
    except ValueError:
        pass  # such as February 30
    raise BadInput(f"{name} {text[:50]!r} is not a day; write it as YYYY-MM-DD, e.g. 2026-11-02")


def _day_start(day: date) -> float:
    return datetime.combine(day, datetime_time(), UTC).timestamp()


def format_commit_time(seconds: float) -> str:
    return to_datetime(seconds).strftime("%Y-%m-%d %H:%M:%S +0000")


# --------------------------------------------------------------------------------------------------
# Commits, authors, blamed lines and branches as JSON of the code search contract.

_NS_PER_SECOND = 1_000_000_000
_NO_COMMIT = "0" * 40
_NOT_COMMITTED = "Not Committed Yet"
_OLD_FETCH_S = 86_400


def commit_json(record: Record, patch: Patch | None = None) -> dict[str, Any]:
    name, email = split_author(record.facets.get(AUTHOR_FACET, ""))
    row = {
        "hash": record.path,
        "date": format_commit_time(record.timestamp_ns / _NS_PER_SECOND),
        "author": name,
        "email": email,
        "message": record.title,
    }
    return row if patch is None else {**row, "patch": _patch_text(patch)}


def _patch_text(patch: Patch) -> str:
    if patch.problem:
        return f"({patch.problem})"
    more = f"{'more than ' if patch.cut else ''}{patch.omitted:,} lines omitted"
    return f"{patch.text}\n... ({more})" if patch.omitted or patch.cut else patch.text


def author_json(rank: int, author: AuthorActivity) -> dict[str, Any]:
    return {
        "rank": rank,
        "name": author.name,
        "email": author.email,
        "commits": author.commits,
        "firstChange": format_commit_time(author.first_at),
        "lastChange": format_commit_time(author.last_at),
    }


def blamed_json(blamed: BlamedLine) -> dict[str, Any]:
    written = blamed.writing
    return {
        "line": blamed.line,
        "hash": written.commit or _NO_COMMIT,
        "author": written.author if written.commit else _NOT_COMMITTED,
        "email": written.email,
        "date": format_commit_time(written.at) if written.commit else None,
        "content": blamed.content,
    }


def branch_json(status: BranchStatus, now: float) -> dict[str, Any]:
    fetched = status.fetched_at
    return {
        "currentBranch": status.current or "HEAD",
        "isMainBranch": bool(status.current) and status.current == status.main,
        "mainBranch": status.main or None,
        "behindMain": status.behind,
        "aheadOfMain": status.ahead,
        "dirtyFiles": [escape_invalid_bytes(it) for it in status.dirty],
        "dirtyFileCount": len(status.dirty),
        "lastFetchTime": None if fetched is None else format_commit_time(fetched),
        "fetchAge": None if fetched is None else format_ago(fetched, now),
        "fetchWarning": _fetch_warning(fetched, now),
        "warning": _branch_warning(status) or None,
    }


def _fetch_warning(fetched: float | None, now: float) -> str | None:
    if fetched is None or now - fetched < _OLD_FETCH_S:
        return None
    return f"The last fetch was {format_ago(fetched, now)}; there may be newer commits; run `git fetch`."


def _branch_warning(status: BranchStatus) -> str:
    """Describe how the work tree differs from the main branch."""
    reasons = []
    if not status.current:
        reasons.append("no branch is checked out (detached HEAD)")
    elif status.current != status.main:
        reasons.append(f"the current branch is '{status.current}', not {status.main or 'main or master'}")
    if status.behind:
        reasons.append(f"it is {status.behind:,} commits behind {status.compared}")
    if status.problem:
        reasons.append(f"uncommitted changes are unknown: {status.problem}")
    text = "; ".join(reasons)
    return text[:1].upper() + text[1:]


_PATCH_LINES = 200
_PARTIAL_HISTORY_TEXT = "the clone is shallow, objects are missing, or only the newest commits are indexed"
FirstLine = Annotated[int, Param("First line, counted from 1", ge=1, le=MAX_INT32)]
LastLine = Annotated[int | None, Param("Last line; default: startLine", ge=1, le=MAX_INT32)]


@dataclass(frozen=True, slots=True)
class GitRequest:
    """A query for commits, with the time it started."""

    tool: str
    started: float
    checkout: Checkout
    query: HistoryQuery
    no_cache: bool = False


class GitTools:
    def __init__(self, context: ToolContext, wall_clock: Callable[[], float] = time.time) -> None:
        self._context = context
        self._wall_clock = wall_clock

    def tools(self) -> tuple[Tool, ...]:
        return (
            Tool(self.search_git_history, "Commits of a file"),
            Tool(self.search_git_diff, "Commits of a file, with patches"),
            Tool(self.search_git_authors, "Authors of a file"),
            Tool(self.search_git_activity, "Changed files"),
            Tool(self.search_git_blame, "Blame lines"),
            Tool(self.search_branch_status, "Branch status"),
        )

    # --- the tools ---

    def search_git_history(
        self,
        repo: RepoArg,
        file: FileArg,
        from_: FromDayArg = "",
        to: ToDayArg = "",
        date: DayArg = "",
        maxResults: MaxResultsArg = 50,
        author: AuthorArg = "",
        message: MessageArg = "",
        noCache: NoCacheArg = False,
    ) -> ToolReply:
        """List the commits that changed a file, under all its former names, newest first."""
        request = self._build_request(
            "search_git_history", repo, file, parse_day_range(from_, to, date), author, message, noCache
        )
        history, source = self._history(request, maxResults)
        return self._commits_reply(request, history, source, [commit_json(it) for it in history.commits])

    def search_git_diff(
        self,
        repo: RepoArg,
        file: FileArg,
        from_: FromDayArg = "",
        to: ToDayArg = "",
        date: DayArg = "",
        maxResults: MaxResultsArg = 50,
        author: AuthorArg = "",
        message: MessageArg = "",
    ) -> ToolReply:
        """Same as search_git_history, with each commit's changes to the file."""
        request = self._build_request("search_git_diff", repo, file, parse_day_range(from_, to, date), author, message)
        history, source = self._history(request, maxResults)
        patches = self._context.engine().history.patches(request.checkout, history, _PATCH_LINES)
        rows = [commit_json(it, patches.get(it.path)) for it in history.commits]
        return self._commits_reply(request, history, source, rows)

    def search_git_authors(
        self,
        repo: RepoArg,
        path: Annotated[str, Param("File or directory, relative to the repository; default: all of it")] = "",
        file: Annotated[str, Param("Same as path")] = "",
        from_: FromDayArg = "",
        to: ToDayArg = "",
        top: Annotated[int, Param("Maximum number of authors (0 = no limit)", ge=0, le=MAX_INT32)] = 10,
        message: MessageArg = "",
        noCache: NoCacheArg = False,
    ) -> ToolReply:
        """List who changed a file, a directory or the whole repository, ranked by number of commits."""
        if path and file and path != file:
            raise BadInput("path and file are names for the same parameter but differ; pass one of them")
        request = self._build_request(
            "search_git_authors", repo, path or file, parse_day_range(from_, to, ""), "", message, noCache
        )
        contributors, source = self._context.engine().history.authors(request.checkout, request.query, from_git=noCache)
        rows = [author_json(rank, it) for rank, it in enumerate(contributors.people[: top or None], 1)]
        figures = {
            "totalCommits": contributors.commits,
            "totalAuthors": len(contributors.people),
            "returned": len(rows),
        }
        return self._reply(
            request, source, {"authors": rows}, figures, self._unknown_path_warning(request, contributors.commits)
        )

    def search_git_activity(
        self,
        repo: RepoArg,
        from_: FromDayArg = "",
        to: ToDayArg = "",
        date: DayArg = "",
        author: AuthorArg = "",
        message: MessageArg = "",
        noCache: NoCacheArg = False,
    ) -> ToolReply:
        """List the changed files, those with the most commits first."""
        request = self._build_request(
            "search_git_activity", repo, "", parse_day_range(from_, to, date), author, message, noCache
        )
        activity, source = self._context.engine().history.activity(request.checkout, request.query, from_git=noCache)
        rows = [{"path": path, "commitCount": count} for path, count in activity.files]
        figures = {"totalFiles": len(rows), "totalCommits": activity.commits}
        return self._reply(request, source, {"activity": rows}, figures)

    def search_git_blame(
        self, repo: RepoArg, file: FileArg, startLine: FirstLine, endLine: LastLine = None
    ) -> ToolReply:
        """Show who last changed each of these lines of the current file, when, and in which commit."""
        started, last = self._context.now(), startLine if endLine is None else endLine
        if last < startLine:
            raise BadInput(f"endLine {last} is before startLine {startLine}; swap them")
        checkout = resolve_repository(repo, self._context.directory)
        path = _require_path(resolve_repository_path(checkout, file))
        blame = self._context.engine().history.blame_in(checkout, path, startLine, last)
        figures: dict[str, Any] = {"file": path, "returned": len(blame.lines), "totalLines": blame.total}
        if blame.cut:
            figures["linesLeftOut"] = blame.cut
        summary = self._context.summary(started, tool="search_git_blame", **figures)
        return self._context.reply({"lines": [blamed_json(it) for it in blame.lines], "summary": summary})

    def search_branch_status(self, repo: RepoArg) -> ToolReply:
        """Show the current branch, its distance from the main branch, uncommitted files, and the age of the last fetch.
        Use it to check that the checkout is what you expect."""
        started = self._context.now()
        status: BranchStatus = self._context.engine().history.branch_status(
            resolve_repository(repo, self._context.directory)
        )
        summary = self._context.summary(started, tool="search_branch_status")
        return self._context.reply({**branch_json(status, self._wall_clock()), "summary": summary})

    # --- helpers ---

    def _build_request(
        self,
        tool: str,
        repo: str,
        path: str,
        time_range: tuple[float | None, float | None],
        author: str,
        message: str,
        no_cache: bool = False,
    ) -> GitRequest:
        started, checkout = self._context.now(), resolve_repository(repo, self._context.directory)
        query = HistoryQuery(resolve_repository_path(checkout, path), *time_range, author.strip(), message.strip())
        return GitRequest(tool, started, checkout, query, no_cache)

    def _history(self, request: GitRequest, limit: int) -> tuple[HistoryAnswer, AnswerSource]:
        _require_path(request.query.path)
        engine = self._context.engine()
        return engine.history.commits(request.checkout, request.query, limit or None, from_git=request.no_cache)

    def _commits_reply(
        self, request: GitRequest, history: HistoryAnswer, source: AnswerSource, rows: list[dict[str, Any]]
    ) -> ToolReply:
        figures: dict[str, Any] = {"totalCommits": history.total, "returned": len(rows)}
        if len(history.names) > 1:
            figures["names"] = list(history.names)
        return self._reply(
            request, source, {"commits": rows}, figures, self._unknown_path_warning(request, history.total)
        )

    def _unknown_path_warning(self, request: GitRequest, found: int) -> str:
        """Explain an empty result for a path that no commit has."""
        if found or not request.query.path:
            return ""
        engine, path = self._context.engine(), request.query.path
        if engine.history.commits(request.checkout, HistoryQuery(path), 1, from_git=request.no_cache)[0].total:
            return ""
        if engine.history.is_committed(request.checkout, path):
            return (
                f"{path[:200]} is in the last commit, but none of the known commits changed it: {_PARTIAL_HISTORY_TEXT}"
            )
        similar = engine.history.similar_paths(request.checkout, path)
        advice = f"did you mean {', '.join(similar)}?" if similar else "check the path, which is relative to repo"
        return f"File never tracked in git: {path[:200]}; {advice}"

    def _reply(
        self,
        request: GitRequest,
        source: AnswerSource,
        rows: dict[str, Any],
        figures: dict[str, Any],
        warning: str = "",
    ) -> ToolReply:
        fields = {"tool": request.tool, **figures, "source": source.name}
        if source.reason:
            fields["sourceReason"] = source.reason
        summary = self._context.summary(request.started, **fields)
        return self._context.reply({**rows, "summary": summary, **({"warning": warning} if warning else {})})


def _require_path(path: str) -> str:
    if not path:
        raise BadInput("file must be a path inside the repository, relative to its top")
    return path
