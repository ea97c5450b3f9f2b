"""Branches, tags and their tips."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Final

from dowse.git.repository import HEAD_FILE, REF_KINDS, iterate_loose_refs, list_directory, read_small_text
from dowse.git.runner import find_blocking_file, run_on_history

_HEX: Final = frozenset("0123456789abcdef")
_USUAL_PREFIXES: Final = tuple(f"refs/{kind}/" for kind in REF_KINDS)
_SYMBOLIC: Final = "ref: "
_MAX_SYMBOLIC_DEPTH: Final = 5  # symbolic refs may be chained this deep in git
_SHALLOW: Final = "shallow"
_MAX_SHALLOW_CHARS: Final = 16_000_000  # some hundred thousand hashes; a clone usually has a few
_REPLACED_FILES: Final = (HEAD_FILE, "packed-refs", _SHALLOW, "reftable/tables.list")


@dataclass(frozen=True, slots=True)
class RefSnapshot:
    """`token` changes whenever the input of a history may have changed. `heads` are the commits of work trees that are
    on no branch, or on a ref outside of branches, tags and remotes."""

    token: str
    heads: tuple[str, ...]


def read_refs(git_directory: str) -> RefSnapshot | None:
    """Read the refs of a repository; None if there is none or it cannot be read."""
    token = refs_token(git_directory)  # taken before reading, so that a change in between is found the next time
    if token is None or not _read_ref_line(git_directory, HEAD_FILE) or find_blocking_file(git_directory):
        return None
    heads = (HEAD_FILE, *_linked_heads(git_directory))
    at = (
        text if is_object_hash(text := _read_ref_line(git_directory, it)) else _resolve_head(git_directory, it)
        for it in heads
    )
    return RefSnapshot(token, tuple(sorted({*at} - {""})))


def refs_token(git_directory: str) -> str | None:
    """Return a hash of the state of all refs; None if there is no HEAD. A moved repository has another one.

    Every query needs it, so only HEADs are read. Git replaces the other files as a whole, so their stat shows changes.
    """
    names = (HEAD_FILE, *_linked_heads(git_directory))
    unusual = (it for name in names for it in _unusual_targets(git_directory, name))
    stamps = [*_file_stamps(git_directory, (*_REPLACED_FILES, *names[1:], *unusual)), *_loose_ref_stamps(git_directory)]
    if not stamps or not stamps[0].startswith(HEAD_FILE):
        return None
    return hashlib.sha256("\0".join((git_directory, *stamps)).encode(errors="surrogateescape")).hexdigest()


def is_object_hash(text: str) -> bool:
    """Return whether the text is a full object hash, which git cannot take for anything else."""
    return len(text) in (40, 64) and _HEX.issuperset(text)


def to_stdin_lines(names: Iterable[str]) -> bytes:
    """Format hashes for the standard input of git."""
    return "".join(f"{it}\n" for it in names).encode("ascii")


def read_shallow_commits(git_directory: str) -> frozenset[str]:
    """Return the commits whose parents were not fetched."""
    return frozenset(
        filter(is_object_hash, read_small_text(Path(git_directory, _SHALLOW), max_chars=_MAX_SHALLOW_CHARS).split())
    )


def _linked_heads(git_directory: str) -> list[str]:
    """Return the HEAD files of the linked work trees."""
    return [f"worktrees/{it.name}/{HEAD_FILE}" for it in list_directory(f"{git_directory}/worktrees")]


def _unusual_target(head: str) -> str:
    """Return the target of a symbolic HEAD if it lies outside of branches, tags and remotes."""
    target = head.removeprefix(_SYMBOLIC) if head.startswith(_SYMBOLIC) else ""
    is_usual = target.startswith(_USUAL_PREFIXES) or ".." in target.split("/") or not target.startswith("refs/")
    return "" if is_usual else target


def _unusual_targets(git_directory: str, head: str, deepest: int = _MAX_SYMBOLIC_DEPTH) -> Iterator[str]:
    """Yield the unusual refs that a HEAD leads to, followed through symbolic refs.

    Each is yielded as a ref of the HEAD's own work tree and as a shared one, because git looks in both places.
    """
    own, text = head.removesuffix(HEAD_FILE), _read_ref_line(git_directory, head)
    while deepest and (target := _unusual_target(text)):
        yield from dict.fromkeys((own + target, target))
        text = _read_ref_line(git_directory, own + target) or _read_ref_line(git_directory, target)
        deepest -= 1


def _read_ref_line(git_directory: str, name: str) -> str:
    return read_small_text(Path(git_directory, name)).strip()


def _resolve_head(git_directory: str, head: str) -> str:
    """Return the commit of a HEAD that leads to an unusual ref. Git resolves it, because the ref may be packed."""
    for target in _unusual_targets(git_directory, head, 1):
        found = run_on_history(git_directory, "rev-parse", "--verify", "--quiet", target)
        if found is not None and is_object_hash(name := found.stdout.decode(errors="replace").strip()):
            return name
    return ""


def _file_stamps(git_directory: str, names: Iterable[str]) -> Iterator[str]:
    for name in names:
        with suppress(OSError):
            yield _format_stamp(name, Path(git_directory, name).stat())


def _format_stamp(name: str, status: os.stat_result) -> str:
    return f"{name} {status.st_size} {status.st_mtime_ns} {status.st_ino}"


def _loose_ref_stamps(git_directory: str) -> Iterator[str]:
    for name, entry in iterate_loose_refs(git_directory):
        with suppress(OSError):
            yield _format_stamp(name, entry.stat())


# --------------------------------------------------------------------------------------------------
# The ref tips of a damaged repository: which of them can be read, and which lead to a missing object.

_HEAD_LABEL: Final = "HEAD of a work tree"
_MAX_NAMED_REFS: Final = 3
_TIP_HASH_DIGITS: Final = 12
_MAX_REF_CHARS: Final = 100
_MAX_TAG_DEPTH: Final = 5  # a tag may point to a tag


@dataclass(frozen=True, slots=True)
class RefTips:
    """`readable` are object hashes; `lost` are refs with the hash of the missing object."""

    readable: tuple[str, ...]
    lost: tuple[tuple[str, str], ...]

    def sentence(self) -> str:
        """Describe the lost refs; empty if there are none."""
        named = [
            f"{ref[:_MAX_REF_CHARS]} leads to {name[:_TIP_HASH_DIGITS]}" for ref, name in self.lost[:_MAX_NAMED_REFS]
        ]
        more = f" and {len(self.lost) - _MAX_NAMED_REFS:,} more" if len(self.lost) > _MAX_NAMED_REFS else ""
        return f"{', '.join(named)}{more}: missing or damaged" if named else ""


def read_ref_tips(git_directory: Path, heads: Iterable[str]) -> RefTips | None:
    """Check all ref tips; None if git cannot list them. Refs that name no object at all are not included."""
    if find_blocking_file(str(git_directory)):
        return None
    form = "--format=%(objectname) %(refname)"
    listed = run_on_history(str(git_directory), "for-each-ref", form, *(f"refs/{kind}/" for kind in REF_KINDS))
    if listed is None or listed.returncode:
        return None
    # Only a line feed ends a row; other line separators can be part of a ref name.
    rows = (line.decode(errors="replace").partition(" ") for line in listed.stdout.split(b"\n"))
    ends = [*((name, ref) for name, _, ref in rows if is_object_hash(name)), *((it, _HEAD_LABEL) for it in heads)]
    lost = _find_lost(str(git_directory), [name for name, _ in ends])
    if lost is None:
        return None
    readable = dict.fromkeys(name for name, _ in ends if name not in lost)
    return RefTips(tuple(readable), tuple((ref, lost[name]) for name, ref in ends if name in lost))


def _find_lost(git_directory: str, names: Iterable[str]) -> dict[str, str] | None:
    """Map the hashes that lead to nothing to the missing object: the hash itself, or the target of a tag."""
    lost: dict[str, str] = {}
    pending = {name: name for name in names}
    for _ in range(_MAX_TAG_DEPTH):
        kinds = _object_types(git_directory, list(dict.fromkeys(pending.values())))
        if kinds is None:
            return None
        lost |= {name: at for name, at in pending.items() if kinds[at] == "missing"}
        tags = {name: at for name, at in pending.items() if kinds[at] == "tag"}
        targets = _tag_targets(git_directory, list(dict.fromkeys(tags.values())))
        lost |= {name: at for name, at in tags.items() if at not in targets}
        pending = {name: targets[at] for name, at in tags.items() if at in targets}
    return lost


def _object_types(git_directory: str, names: list[str]) -> dict[str, str] | None:
    if not names:
        return {}
    checked = run_on_history(git_directory, "cat-file", "--batch-check=%(objecttype)", stdin=to_stdin_lines(names))
    if checked is None or checked.returncode:
        return None
    # For a missing object git prints the hash and "missing".
    output = (line.rpartition(b" ")[2].decode() for line in checked.stdout.splitlines())
    return dict(zip(names, output, strict=True))


def _tag_targets(git_directory: str, tags: list[str]) -> dict[str, str]:
    """Return the targets of the tags, without unreadable tags, at each of which git may stop."""
    targets: dict[str, str] = {}
    while tags:
        output = run_on_history(git_directory, "cat-file", "--batch=%(objectsize)", stdin=to_stdin_lines(tags))
        read = list(_parse_tag_targets(BytesIO(output.stdout if output else b"")))
        targets |= zip(tags, read, strict=False)
        tags = tags[len(read) + 1 :]
    return targets


def _parse_tag_targets(output: BytesIO) -> Iterator[str]:
    """Yield the target hash in each tag's header, up to the first malformed one."""
    while (size := output.readline().strip()).isdigit():
        name = output.read(int(size) + 1).partition(b"\n")[0].removeprefix(b"object ").decode(errors="replace")
        if not is_object_hash(name):
            return
        yield name
