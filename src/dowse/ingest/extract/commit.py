"""Commits: message, paths and diff as chunks, and the definitions they changed."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from dowse.git.commit import CommitData, Signature
from dowse.model import LEFT_OUT_FACET, MASKED_FACET, Block, Extraction, Item, Link
from dowse.text.times import format_iso
from dowse.text.tokenize import begins_definition, defined_name, definition_regex
from dowse.text.unicode import unquote_git_path

# --------------------------------------------------------------------------------------------------
# Build the searchable text of a commit: message, people and paths, then the diff.

HEAD_ROLE: Final = "text"
DIFF_ROLE: Final = "delta"
"""Role of text that is only searched by words: it gets no vectors."""
MAX_COMMIT_TITLE_CHARS: Final = 1_000
MAX_COMMIT_MESSAGE_CHARS: Final = 10_000
_HEAD_CHARS: Final = 1_900  # one chunk, with the lines joined to it
_MAX_PATHS: Final = 200
_MAX_PATHS_CHARS: Final = 10_000
_MAX_LINE_CHARS: Final = 500  # longer lines are generated
_MAX_DIFF_CHARS: Final = 50_000


@dataclass(frozen=True, slots=True)
class CommitDocument:
    title: str
    message: str
    text: str
    omitted: str
    blocks: tuple[Block, ...]


def build_commit_document(commit: CommitData, author: str, committer: str) -> CommitDocument:
    title, message = _split_message(commit.message)
    head = "\n\n".join(filter(None, (title, message, f"Author: {author}\nCommitter: {committer}", _list_paths(commit))))
    kept_diff, cut_off = _truncate_diff(commit)
    omitted = f"at least {max(1, cut_off)}" if commit.is_cut else str(cut_off or "")
    end = f"... ({omitted} lines omitted)" if omitted else ""
    text = "\n\n".join(filter(None, (head, kept_diff, end)))
    return CommitDocument(title, message, text, omitted, tuple(_blocks(text, len(head))))


def _split_message(message: str) -> tuple[str, str]:
    """Split a message into title and body; an overlong title continues in the body."""
    message = message.replace("\r\n", "\n").replace("\0", "").strip()
    line, _, rest = message.partition("\n")
    title = line[:MAX_COMMIT_TITLE_CHARS].rstrip()
    return title, f"{line[MAX_COMMIT_TITLE_CHARS:]}\n{rest}".strip()[:MAX_COMMIT_MESSAGE_CHARS].rstrip()


def _list_paths(commit: CommitData) -> str:
    if not commit.files:
        return ""
    shown = _take_lines([it.path for it in commit.files[:_MAX_PATHS]], _MAX_PATHS_CHARS)
    more = len(commit.files) - len(shown)
    return "\n".join(["Files changed:", *shown, *([f"... ({more} more files)"] if more else [])])


def _truncate_diff(commit: CommitData) -> tuple[str, int]:
    """Return the diff to keep, and how many of its lines were cut off, here or by the reader."""
    lines = commit.diff.replace("\0", "").split("\n") if commit.diff else []
    if len(commit.diff) > _MAX_LINE_CHARS and max(map(len, lines)) > _MAX_LINE_CHARS:
        lines = [it if len(it) <= _MAX_LINE_CHARS else f"{it[:_MAX_LINE_CHARS]}…" for it in lines]
    kept_diff = lines if len(commit.diff) <= _MAX_DIFF_CHARS else _take_lines(lines, _MAX_DIFF_CHARS)
    return "\n".join(kept_diff), commit.omitted + len(lines) - len(kept_diff)


def _take_lines(lines: list[str], chars: int) -> list[str]:
    for count, line in enumerate(lines):
        chars -= len(line) + 1
        if chars < 0:
            return lines[:count]
    return lines


def _blocks(text: str, head: int) -> Iterator[Block]:
    """Put as much of the diff as fits into the head block; the rest is only searched by words."""
    cut = len(text)
    if cut > _HEAD_CHARS:
        cut = max(head, text.rfind("\n", 0, _HEAD_CHARS) + 1)
    yield Block(0, cut, role=HEAD_ROLE)
    if cut < len(text):
        yield Block(cut, len(text), atomic=True, role=DIFF_ROLE)


# --------------------------------------------------------------------------------------------------
# Parse the text of a diff into the hunks of each file.

_FILE = re.compile(r"\ndiff --(?:git|cc|combined) ")  # a literal newline is faster to find than `^`
_HUNK = re.compile(r"^@@ -\d+(?:,\d+)? \+(\d{1,9})(?:,\d+)? @@ ?(.*)\n?", re.MULTILINE)
_MAX_HEADING_CHARS: Final = 200  # git shows fewer
_DEV_NULL: Final = "/dev/null"


@dataclass(frozen=True, slots=True)
class DiffHunk:
    """A hunk; `line` is its start in the new file, `heading` the enclosing definition according to git."""

    line: int
    heading: str
    lines: Sequence[str]

    @property
    def first_changed(self) -> int:
        """The first changed line, numbered in the new file."""
        line = self.line
        for text in self.lines:
            if text[:1] in ("+", "-"):
                break
            line += 1
        return max(line, 1)


@dataclass(frozen=True, slots=True)
class FileDiff:
    path: str
    hunks: Sequence[DiffHunk]

    @property
    def first_line(self) -> int:
        return self.hunks[0].first_changed


def parse_file_diffs(diff: str, paths: Container[str]) -> Iterator[FileDiff]:
    """Yield the diffs of the files at these paths that have hunks; combined merge diffs have none."""
    for section in _FILE.split("\n" + diff)[1:]:
        match = _HUNK.search(section)
        path = _path(section[: match.start()]) if match else ""
        if match and path in paths:
            yield FileDiff(path, list(_hunks(section, match)))


def _hunks(section: str, match: re.Match[str] | None) -> Iterator[DiffHunk]:
    while match:
        following = _HUNK.search(section, match.end())
        text = section[match.end() : following.start() if following else len(section)]
        yield DiffHunk(int(match[1]), match[2][:_MAX_HEADING_CHARS].rstrip(), text.removesuffix("\n").split("\n"))
        match = following


def _path(header: str) -> str:
    """Return the path of the new file, or of the old one if it was deleted."""
    names = {line[:4]: line[4:].removesuffix("\t") for line in header.split("\n") if line[:4] in ("--- ", "+++ ")}
    path = names.get("+++ ", "")
    path = unquote_git_path(names.get("--- ", "") if path == _DEV_NULL else path)
    return path.partition("/")[2]  # after `a/` or `b/`


# --------------------------------------------------------------------------------------------------
# Find the definitions a hunk changes, from its header, lines that begin definitions, and indentation.

_CLOSING: Final = (")", "]", "}", "{")
_COMMENT_MARKS: Final = ("#", "//", "/*", "*", "--")
_ATTRIBUTES: Final = ("@", "#[", "[")
_MAX_MEMBER_INDENT: Final = 8  # maximum indentation of a member: deeper lines that look like attributes are code
_MAX_HEADER_CHARS: Final = 80  # git truncates its hunk headers here


class ChangedDefinition(NamedTuple):
    """A changed definition: qualified name, first changed line in the new file, and the start of its header."""

    name: str
    line: int
    beginning: str


class _OpenDefinition(NamedTuple):
    indent: int
    name: str
    beginning: str


def changed_definitions(diff: FileDiff) -> list[ChangedDefinition]:
    """Return the innermost changed definitions, each once, in file order."""
    pattern = definition_regex(diff.path)
    if pattern is None:
        return []
    found: dict[str, ChangedDefinition] = {}
    for hunk in diff.hunks:
        for definition in _changed_in_hunk(hunk, pattern):
            found.setdefault(definition.name, definition)
    return list(found.values())


def _changed_in_hunk(hunk: DiffHunk, pattern: re.Pattern[str]) -> Iterator[ChangedDefinition]:
    position = _LinePosition(pattern)
    position.read_line(hunk.heading)
    line, attribute = hunk.line, 0
    # Most hunks begin no definition. Then only the one in the hunk header can change, and one changed line proves it.
    begins_any = any(begins_definition(pattern, text) for text in hunk.lines)
    for text in hunk.lines:
        if not (begins_any or position.has_open_definition):
            return
        mark = text[:1]
        if mark == "\\":  # "\ No newline at end of file"
            continue
        owner = position.read_line(text[1:])
        if mark in ("+", "-"):
            if owner:
                yield ChangedDefinition(owner, max(line, 1), position.beginning)
                if not begins_any:
                    return
            elif position.before_definition:
                attribute = attribute or line
        if position.begins_definition and attribute:
            yield ChangedDefinition(owner, attribute, position.beginning)
        if not position.before_definition:
            attribute = 0
        line += mark != "-"


class _LinePosition:
    """The position of a line, inferred from the lines before it: inside which definitions, or among the decorators
    before one."""

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self._pattern = pattern
        self._open: list[_OpenDefinition] = []
        self._attributes: int | None = None
        self.begins_definition = False

    @property
    def has_open_definition(self) -> bool:
        return bool(self._open)

    @property
    def beginning(self) -> str:
        """The start of the innermost definition's header."""
        return self._open[-1].beginning

    @property
    def before_definition(self) -> bool:
        return self._attributes is not None

    def read_line(self, line: str) -> str:
        """Return the definition that contains this line; empty if unknown, or if only later lines can tell."""
        stripped = line.lstrip()
        self.begins_definition = False
        if not stripped:
            return ""
        indent = len(line) - len(stripped)
        if name := defined_name(self._pattern, line):
            return self._begin(indent, name, stripped[:_MAX_HEADER_CHARS].rstrip())
        if self._attributes is not None and (indent > self._attributes or stripped.startswith(_CLOSING)):
            return ""
        self._attributes = None
        if stripped.startswith(_ATTRIBUTES) and not (
            self._open and indent > self._open[-1].indent + _MAX_MEMBER_INDENT
        ):
            self._close(indent)
            self._attributes = indent
            return ""
        return self._locate(indent, stripped)

    def _begin(self, indent: int, name: str, beginning: str) -> str:
        self._close(indent)
        self._attributes, self.begins_definition = None, True
        self._open.append(_OpenDefinition(indent, f"{self._enclosing_name}.{name}" if self._open else name, beginning))
        return self._enclosing_name

    @property
    def _enclosing_name(self) -> str:
        return self._open[-1].name if self._open else ""

    def _locate(self, indent: int, stripped: str) -> str:
        enclosing = self._enclosing_name
        if not self._open or indent > self._open[-1].indent:
            return enclosing
        if stripped.startswith(_CLOSING):
            return enclosing
        if stripped.startswith(_COMMENT_MARKS):
            return ""
        self._close(indent)
        return self._enclosing_name

    def _close(self, indent: int) -> None:
        while self._open and self._open[-1].indent >= indent:
            self._open.pop()


# --------------------------------------------------------------------------------------------------
# Extract a commit: message, people and files, the start of the diff, and links to everything it touched.

COMMIT_RECORD_KIND: Final = "commit"
_NS_PER_SECOND: Final = 1_000_000_000
_MAX_NAME_CHARS: Final = 500
_MAX_SECONDS: Final = 253_402_300_799  # the end of the year 9999, the limit of calendars


def extract_commit(item: Item, data: bytes) -> Extraction:
    commit = CommitData.from_bytes(data)
    author, committer = format_person(commit.author), format_person(commit.committer)
    document_text = build_commit_document(commit, author, committer)
    at_ns = commit.committer.at * _NS_PER_SECOND
    diffs = list(parse_file_diffs(commit.diff, [it.path for it in commit.files]))
    return Extraction(
        kind=COMMIT_RECORD_KIND,
        title=document_text.title,
        text=document_text.text,
        blocks=document_text.blocks,
        links=tuple(_links(commit, diffs)),
        facets=_facets(commit, document_text, author, committer),
        # `git log` reports no time for commits whose headers are in an unusual order.
        at_ns=at_ns if at_ns != item.mtime_ns else None,
        has_line_index=False,
    )


def format_person(who: Signature) -> str:
    """Format a person as `Name <email>` on one line."""
    name, email = (" ".join(it.split())[:_MAX_NAME_CHARS] for it in (who.name, who.email))
    return f"{name} <{email}>".lstrip()


def _facets(commit: CommitData, document_text: CommitDocument, author: str, committer: str) -> dict[str, str]:
    facets = {
        "author": author,
        "committer": committer,
        "authored_at": format_iso(_clamp_seconds(commit.author.at)),
        "message": document_text.message,
        "parents": " ".join(commit.parents),
        "files": str(len(commit.files)),
        "omitted": document_text.omitted,
        "problem": commit.problem,
        LEFT_OUT_FACET: str(commit.left_out or ""),
        MASKED_FACET: str(commit.masked or ""),
    }
    return {name: value for name, value in facets.items() if value}


def _clamp_seconds(value: int) -> int:
    """Clamp a timestamp: some commits have absurd dates."""
    return max(0, min(value, _MAX_SECONDS))


def _links(commit: CommitData, diffs: list[FileDiff]) -> Iterator[Link]:
    """Yield the touched files, each once, then the definitions changed in them."""
    lines = {it.path: it.first_line for it in reversed(diffs)}
    for status, path, old in commit.files:
        yield Link("touches", path, lines.get(path, 0), status[:1])
        if old and status.startswith("R"):
            yield Link("renames", old, 0, path)
    for diff in diffs:
        for definition in changed_definitions(diff):
            yield Link("changes", f"{diff.path}#{definition.name}", definition.line, definition.beginning)
