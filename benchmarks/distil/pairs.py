"""(what one would ask → the passage that answers) from documentation comments, headings and dictionary entries."""

from __future__ import annotations

import ast
import gzip
import hashlib
import html
import json
import re
import sqlite3
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import PurePosixPath
from typing import NamedTuple

from corpora import File

MAX_PASSAGE = 1_200
LEAST_PASSAGE = 60
LEAST_QUERY, MAX_QUERY = 4, 200
# A paragraph this long is worth to be found by its first sentence.
LEAST_PARAGRAPH = 400


class Pair(NamedTuple):
    package: str
    query: str
    passage: str


def pairs(file: File) -> Iterator[Pair]:
    """Those of a file that are long enough to say something; the passage begins with where it stands."""
    for query, passage in _reader(file.path)(file):
        query = " ".join(query.split())[:MAX_QUERY]
        passage = passage.strip()[:MAX_PASSAGE]
        if len(query) >= LEAST_QUERY and len(passage) >= LEAST_PASSAGE:
            yield Pair(file.package, query, passage)


def order(pair: Pair) -> bytes:
    """A shuffled order that is the same everywhere."""
    return hashlib.sha256(f"{pair.query}\0{pair.passage}".encode("utf-8", "replace")).digest()


Reader = Callable[[File], Iterator[tuple[str, str]]]


def _reader(path: str) -> Reader:
    return next((reader for suffix, reader in READERS.items() if path.endswith(suffix)), _nothing)


def _nothing(_: File) -> Iterator[tuple[str, str]]:
    return iter(())


def _text(file: File) -> str:
    return file.data.decode("utf-8", "replace")


def _stem(file: File) -> str:
    return PurePosixPath(file.path).name


# --- code -------------------------------------------------------------------------------------


def _python(file: File) -> Iterator[tuple[str, str]]:
    """First sentence → the code without its docstring, and → the rest of a long docstring."""
    source = _text(file)
    try:
        with warnings.catch_warnings(action="ignore"):
            tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return
    lines = source.splitlines()
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        documented = ast.get_docstring(node)
        if not documented:
            continue
        first, _, rest = documented.partition("\n\n")
        before = lines[node.lineno - 1 : node.body[0].lineno - 1]
        after = lines[node.body[0].end_lineno : node.end_lineno]
        yield first, f"{_stem(file)} > {node.name}\n\n" + "\n".join([*before, *after])
        if len(rest) > 300:
            yield first, f"{_stem(file)} > {node.name}\n\n{rest}"
            yield from _openings(rest)


_RUST = re.compile(r"((?:^[ \t]*///[^\n]*\n)+)((?:^[ \t]*#\[[^\n]*\n)*^[ \t]*pub [^\n]*\n(?:[^\n]*\n){0,25})", re.M)
_GO = re.compile(r"((?:^//[^\n]*\n)+)(^(?:func|type) [^\n]*\n(?:[^\n]*\n){0,25})", re.M)
_SCRIPT = re.compile(r"/\*\*(.{20,2000}?)\*/\s*\n((?:[^\n]*\n){1,20})", re.S)
_MARKS = re.compile(r"^[ \t]*(?:///|//|\*)[ \t]?", re.M)


def _commented(pattern: re.Pattern[str]) -> Reader:
    """First sentence of a comment → what it stands above."""

    def read(file: File) -> Iterator[tuple[str, str]]:
        for match in pattern.finditer(_text(file)):
            comment = _MARKS.sub("", match[1]).strip()
            first = re.split(r"\n\s*\n|(?<=\.)\s", comment, maxsplit=1)[0]
            yield first, f"{_stem(file)}\n\n{match[2]}"

    return read


# --- documents --------------------------------------------------------------------------------

_OPENING = re.compile(r"([A-Z][^\n]{30,180}?[a-z)]\.)\s+(?=[A-Z])")


def _openings(text: str) -> Iterator[tuple[str, str]]:
    """The first sentence of a long paragraph → the others."""
    for paragraph in re.split(r"\n\s*\n", text):
        flowing = " ".join(paragraph.split())
        opening = _OPENING.match(flowing) if len(flowing) >= LEAST_PARAGRAPH else None
        if opening:
            yield opening[1], flowing[opening.end() :]


class _Sections(HTMLParser):
    """The text of a page, with the place of each heading in it."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []
        self.headings: list[tuple[int, int]] = []
        self._from: int | None = None
        self._hidden = 0

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag in ("script", "style"):
            self._hidden += 1
        if re.fullmatch(r"h[1-4]|dt", tag):
            self._from = len(self.parts)
        if tag in ("p", "div", "li", "pre", "br", "tr", "dd", "dt", "h1", "h2", "h3", "h4"):
            self.parts.append("\n")

    def handle_endtag(self, tag: str) -> None:
        if tag in ("script", "style"):
            self._hidden -= 1
        if re.fullmatch(r"h[1-4]|dt", tag) and self._from is not None:
            self.headings.append((self._from, len(self.parts)))
            self._from = None

    def handle_data(self, data: str) -> None:
        if self._hidden <= 0:
            self.parts.append(data)


def _html(file: File) -> Iterator[tuple[str, str]]:
    page = _Sections()
    page.add_bytes(_text(file))
    ends = [*page.headings, (len(page.parts), 0)]
    for (begin, end), (following, _) in pairwise(ends):
        heading = "".join(page.parts[begin:end]).replace("¶", "").strip()
        section = "".join(page.parts[end:following])
        yield heading, re.sub(r"\s*\n\s*", "\n", section)
        yield from _openings(section)


_MARKDOWN = re.compile(r"^#{1,4} +([^\n]+)\n(.*?)(?=^#{1,4} |\Z)", re.M | re.S)


def _markdown(file: File) -> Iterator[tuple[str, str]]:
    yield from ((match[1], match[2]) for match in _MARKDOWN.finditer(_text(file)))


# --- dictionaries -----------------------------------------------------------------------------


def _wordnet(file: File) -> Iterator[tuple[str, str]]:
    """A word with its synonyms → its gloss."""
    for line in _text(file).splitlines():
        fields, bar, gloss = line.partition(" | ")
        if not bar or line.startswith("  "):
            continue
        parts = fields.split()
        words = parts[4 : 4 + 2 * int(parts[3], 16) : 2]
        yield ", ".join(words).replace("_", " "), gloss


def _dictionary(file: File) -> Iterator[tuple[str, str]]:
    """An entry begins at the margin, its text is indented."""
    text = gzip.decompress(file.data).decode("utf-8", "replace")
    for match in re.finditer(r"^(\S[^\n]*)\n((?:[ \t]+[^\n]*\n|\n)+)", text, re.M):
        # Some give the pronunciation between backslashes, then the word's history.
        yield match[1].partition(" \\")[0], re.sub(r"\s+", " ", match[2])


def _ontology(file: File) -> Iterator[tuple[str, str]]:
    """A term or synonym → its definition."""
    for block in _text(file).split("\n\n"):
        name = re.search(r"^name: (.+)$", block, re.M)
        definition = re.search(r'^def: "(.+?)" \[', block, re.M)
        if not name or not definition:
            continue
        for asked in [name[1], *re.findall(r'^synonym: "(.+?)"', block, re.M)[:2]]:
            yield asked, definition[1]


def _registry(file: File) -> Iterator[tuple[str, str]]:
    for entry in json.loads(file.data).values():
        for source in (entry, *(it for it in entry.values() if isinstance(it, dict))):
            if isinstance(source.get("name"), str) and isinstance(source.get("description"), str):
                yield source["name"], source["description"]


def _gene_ontology(file: File) -> Iterator[tuple[str, str]]:
    """What a gene does, or where → its definition."""
    with closing(sqlite3.connect(":memory:")) as database:
        database.deserialize(file.data)
        yield from database.execute("SELECT term, definition FROM go_term WHERE definition IS NOT NULL")


def _web_service(file: File) -> Iterator[tuple[str, str]]:
    """An operation → what its documentation says, and the openings of that."""
    for name, operation in json.loads(gzip.decompress(file.data))["operations"].items():
        said = re.sub(r"</?(?:p|li|note)>", "\n\n", operation.get("documentation", ""))
        said = html.unescape(re.sub(r"<[^>]+>", "", said)).strip()
        first, _, rest = said.partition("\n\n")
        yield re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name), said
        yield first, f"{name}\n\n{rest.strip()}"


READERS: dict[str, Reader] = {
    ".py": _python,
    ".rs": _commented(_RUST),
    ".go": _commented(_GO),
    ".js": _commented(_SCRIPT),
    ".ts": _commented(_SCRIPT),
    ".html": _html,
    ".md": _markdown,
    ".noun": _wordnet,
    ".verb": _wordnet,
    ".adj": _wordnet,
    ".adv": _wordnet,
    ".dict.dz": _dictionary,
    ".obo": _ontology,
    "bioregistry.json": _registry,
    "GO.sqlite": _gene_ontology,
    "service-2.json.gz": _web_service,
}
