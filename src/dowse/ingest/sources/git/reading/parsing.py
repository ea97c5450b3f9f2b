"""Reads what `git diff-tree` writes of one commit: its head, the files it touched, and the lines it changed."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from dowse.ingest.sources.git.reading.told import Person, Told, Touched
from dowse.ingest.sources.git.withholding import MASKING, Withholding
from dowse.text.surrogates import spelt_out

FORMAT: Final = "--format=%H%x00%P%x00%an%x00%ae%x00%at%x00%cn%x00%ce%x00%ct%x00%B%x00"
LONGEST_LINE: Final = 500
LONG_HEAD: Final = "its message, names or parents are too long: only their beginning was read, and not what it changed"
_FIELDS: Final = 9
_LATEST: Final = 9_000_000_000  # seconds: later moments do not fit into nanoseconds
# How many digits git shows depends on how many objects there are at the moment.
# This line is never the first one, and a literal is found faster than the beginning of any line.
_OBJECTS: Final = re.compile(r"\nindex ([0-9a-f]{7})[0-9a-f]*\.\.([0-9a-f]{7})[0-9a-f]*")
_TOO_LONG: Final = re.compile(rf"^(.{{{LONGEST_LINE}}}).+$", re.MULTILINE)


def told_of(
    frame: bytes, delta_lines: int, problem: str = "", *, is_cut: bool = False, withholding: Withholding = MASKING
) -> Told:
    """Raises ValueError for what is not a whole head, which git writes first, unless it is cut."""
    values = 0

    def mask(data: bytes) -> bytes:
        nonlocal values
        data, count = withholding.masked(data)
        values += count
        return data

    fields = frame.split(b"\0", _FIELDS)
    if is_cut and len(fields) <= _FIELDS:
        fields += [b""] * (_FIELDS + 1 - len(fields))
        problem = LONG_HEAD
    hash, parents, name, email, at, committer, its_email, its_at, message, rest = fields
    entries, patch = _entries(rest)
    odd = sum(not _is_text(path) for _, *paths in entries for path in paths)
    files = [_touched(*it) for it in entries]
    # Of a commit that touched none of them, the patch need not be taken apart.
    is_whole = files and not any(withholding.is_left_out(path) for it in files for path in it[1:] if path)
    patch, left_out = (patch, 0) if is_whole else withholding.told(patch)
    delta, omitted = cut_delta(patch, delta_lines, mask)
    message = mask(message)
    problems = [problem, f"{odd:,} of its paths are not valid UTF-8" if odd else ""]
    return Told(
        hash=_text(hash),
        parents=_text(parents).split(),
        author=Person(_text(name), _text(email), seconds(at)),
        committer=Person(_text(committer), _text(its_email), seconds(its_at)),
        message=_text(message).strip("\n"),
        files=files,
        delta=delta,
        omitted=omitted,
        is_cut=is_cut,
        problem="; ".join(filter(None, problems)),
        left_out=left_out,
        masked=values,
    )


def seconds(text: bytes) -> int:
    """A moment as git tells it, which may be anything in a commit that was not made by git."""
    try:
        return max(-_LATEST, min(int(text), _LATEST))
    except ValueError:
        return 0


def _as_it_is(data: bytes) -> bytes:
    return data


def cut_delta(patch: bytes, lines: int, mask: Callable[[bytes], bytes] = _as_it_is) -> tuple[str, int]:
    """The first lines, masked before those that are very long are cut, and how many more there are."""
    first = patch.split(b"\n", lines)
    end = len(patch) - len(first.pop()) if len(first) > lines else len(patch)
    kept = _OBJECTS.sub(r"\nindex \1..\2", _text(mask(patch[:end])).replace("\0", "\ufffd"))
    if max(map(len, first), default=0) > LONGEST_LINE:
        kept = _TOO_LONG.sub(r"\1…", kept)
    return kept.removesuffix("\n"), patch.count(b"\n", end)


def _entries(rest: bytes) -> tuple[list[tuple[bytes, ...]], bytes]:
    """Status, path and, of what was renamed or copied, the new path of each file; and what comes behind them."""
    entries: list[tuple[bytes, ...]] = []
    at = rest.find(b":") if rest[:3].lstrip(b"\0\n").startswith(b":") else len(rest)
    while rest.startswith(b":", at):
        about, at = _field(rest, at)
        path, at = _field(rest, at)
        status = about.rpartition(b" ")[2][:1]
        if status in (b"R", b"C"):
            new_path, at = _field(rest, at)
            entries.append((status, path, new_path))
        elif path:
            entries.append((status, path))
    return entries, rest[at + 1 :]


def _field(rest: bytes, at: int) -> tuple[bytes, int]:
    """Up to the next zero byte; nothing where there is none, because the output was cut off."""
    end = rest.find(b"\0", at)
    return (rest[at:end], end + 1) if end >= 0 else (b"", len(rest))


def _touched(status: bytes, path: bytes, new_path: bytes = b"") -> Touched:
    return Touched(_text(status), spelt_out(new_path or path), spelt_out(path) if new_path else "")


def _text(data: bytes) -> str:
    return data.decode(errors="replace")


def _is_text(path: bytes) -> bool:
    try:
        path.decode()
    except UnicodeDecodeError:
        return False
    return True
