"""Commits, authors, lines and branches under the keys of the code search contract."""

from __future__ import annotations

from typing import Any

from dowse.ingest.sources.git.patches import Patch
from dowse.ingest.sources.git.work_tree.blame import BlamedLine
from dowse.ingest.sources.git.work_tree.branches import BranchStatus
from dowse.lookup.history.history import person
from dowse.lookup.history.question import AUTHOR, Author
from dowse.model import Record
from dowse.profiles.codesearch_git_words import moment_text
from dowse.text.surrogates import spelt_out
from dowse.text.times import ago

_NS_PER_SECOND = 1_000_000_000
_NO_COMMIT = "0" * 40
_NOT_COMMITTED = "Not Committed Yet"
_OLD_FETCH_S = 86_400


def commit_json(record: Record, patch: Patch | None = None) -> dict[str, Any]:
    name, email = person(record.facets.get(AUTHOR, ""))
    row = {
        "hash": record.path,
        "date": moment_text(record.moment_ns / _NS_PER_SECOND),
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


def author_json(rank: int, author: Author) -> dict[str, Any]:
    return {
        "rank": rank,
        "name": author.name,
        "email": author.email,
        "commits": author.commits,
        "firstChange": moment_text(author.first_at),
        "lastChange": moment_text(author.last_at),
    }


def blamed_json(blamed: BlamedLine) -> dict[str, Any]:
    written = blamed.writing
    return {
        "line": blamed.line,
        "hash": written.commit or _NO_COMMIT,
        "author": written.author if written.commit else _NOT_COMMITTED,
        "email": written.email,
        "date": moment_text(written.at) if written.commit else None,
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
        "dirtyFiles": [spelt_out(it) for it in status.dirty],
        "dirtyFileCount": len(status.dirty),
        "lastFetchTime": None if fetched is None else moment_text(fetched),
        "fetchAge": None if fetched is None else ago(fetched, now),
        "fetchWarning": _fetch_warning(fetched, now),
        "warning": _warning(status) or None,
    }


def _fetch_warning(fetched: float | None, now: float) -> str | None:
    if fetched is None or now - fetched < _OLD_FETCH_S:
        return None
    return f"The last fetch was {ago(fetched, now)}; others may have pushed since: `git fetch` tells."


def _warning(status: BranchStatus) -> str:
    """What keeps the work tree from being what the main branch is."""
    reasons = []
    if not status.current:
        reasons.append("no branch is checked out (detached HEAD)")
    elif status.current != status.main:
        reasons.append(f"the current branch is '{status.current}', not {status.main or 'main or master'}")
    if status.behind:
        reasons.append(f"it is {status.behind:,} commits behind {status.compared}")
    if status.problem:
        reasons.append(f"what is not committed is not known: {status.problem}")
    text = "; ".join(reasons)
    return text[:1].upper() + text[1:]
