"""What the arguments of the git tools of the code search contract mean: repositories, paths in them, days."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path, PurePosixPath
from typing import Annotated

from dowse.errors import BadInput
from dowse.ingest.sources.git.asking import is_called_so
from dowse.ingest.sources.git.work_tree.checkout import Checkout, checkout_at
from dowse.profiles.tool import Param
from dowse.text.times import in_calendar

Repo = Annotated[str, Param("The repository: '.' is the one of the server's directory; or one in it, by path")]
File = Annotated[str, Param("Path of a file or directory, from the top of the repository")]
From = Annotated[str, Param("First day, YYYY-MM-DD (UTC)")]
To = Annotated[str, Param("Last day, YYYY-MM-DD (UTC)")]
Day = Annotated[str, Param("One day, YYYY-MM-DD (UTC), in place of from and to")]
Who = Annotated[str, Param("Part of the author's name or address; case is ignored")]
Message = Annotated[str, Param("Part of the commit message; case is ignored")]
NoCache = Annotated[bool, Param("Ask git itself and not the index")]

_MAX_PATH_CHARS = 4000
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


def repository(given: str, server_dir: Path) -> Checkout:
    """It must be the one around the server's directory, or lie in that; links are followed."""
    if not given.strip():
        raise BadInput("repo must not be empty; '.' is the repository of the server's directory")
    try:
        place = (server_dir / given.replace("\\", "/")).resolve()
        found = checkout_at(place) if place.is_dir() else None
    except (OSError, RuntimeError, ValueError) as error:
        raise BadInput(f"repo {given[:100]!r} can not be used: {error.args[-1]}") from None
    around = checkout_at(server_dir)
    if not place.is_relative_to(server_dir) and (around is None or found != around):
        raise BadInput(
            f"Server started with --dir {server_dir.as_posix()}. For other repositories, start another server."
        )
    if found is None:
        raise BadInput(f"repo {given[:100]!r} is no git repository, and in none")
    return found


def path_in(checkout: Checkout, given: str, name: str = "file") -> str:
    """From the top of the repository, with `/`; an absolute path below it will do, and so will backslashes and spaces
    around it, where nothing has a name with these."""
    if "\0" in given or len(given) > _MAX_PATH_CHARS:
        raise BadInput(f"{name} can be no path: it has a zero byte in it, or is too long")
    text = _from_top(checkout, given)
    if text != text.strip() and not is_called_so(checkout.git_directory, text):
        text = _from_top(checkout, text.strip())
    if "\\" in text and not is_called_so(checkout.git_directory, text):
        text = _from_top(checkout, text.replace("\\", "/"))
    path = PurePosixPath(text)
    if path.is_absolute() or ".." in path.parts:
        raise BadInput(f"{name} {given[:100]!r} leaves the repository; give a path from its top")
    return "" if path == PurePosixPath(".") else path.as_posix()


def _from_top(checkout: Checkout, path: str) -> str:
    """An absolute path below the top as seen from there; any other as it is."""
    if path.startswith("/") and checkout.top is not None and Path(path).is_relative_to(checkout.top):
        return Path(path).relative_to(checkout.top).as_posix()
    return path


def days(first: str, last: str, only: str) -> tuple[float | None, float | None]:
    """The moments from the beginning of the first day to the end of the last one."""
    if only and (first or last):
        raise BadInput("date is one day: give it, or from and to, but not both")
    since = _day("date" if only else "from", only or first)
    until = _day("date" if only else "to", only or last)
    if since and until and since > until:
        raise BadInput(f"from {since} is after to {until}; swap them")
    end = None if until is None else _begins(until) + timedelta(days=1, microseconds=-1).total_seconds()
    return None if since is None else _begins(since), end


def _day(name: str, text: str) -> date | None:
    if not text.strip():
        return None
    try:
        if _DAY.fullmatch(text.strip()):
            return date.fromisoformat(text.strip())
    except ValueError:
        pass  # such as the 30th of February
    raise BadInput(f"{name} {text[:50]!r} is not a day; write it as YYYY-MM-DD, e.g. 2026-11-02")


def _begins(day: date) -> float:
    return datetime.combine(day, time(), UTC).timestamp()


def moment_text(seconds: float) -> str:
    return in_calendar(seconds).strftime("%Y-%m-%d %H:%M:%S +0000")
