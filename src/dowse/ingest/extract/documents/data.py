"""Read JSON, JSON lines and notebooks as text that can be searched: `key.path: value`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, TypeAlias, TypeGuard

from dowse.errors import Unreadable
from dowse.ingest.extract.documents.coverage import measure_coverage
from dowse.ingest.extract.documents.decoding import decode_text
from dowse.ingest.extract.documents.document import Document, Element, Row, Table
from dowse.ingest.extract.documents.tables import find_units
from dowse.model import PageReport

ENGINE: Final = "json"
NOTEBOOK_ENGINE: Final = "notebook"
MAX_VALUES: Final = 1_000_000
MAX_DEPTH: Final = 100
MAX_COLUMNS: Final = 200
"""Records with more different keys are read as lines, not as a table."""
MAX_OUTPUT_CHARS: Final = 20_000
MAX_CHECKED_CHARS: Final = 5_000_000

Json: TypeAlias = "Mapping[str, Json] | Sequence[Json] | str | bool | None"
_Parts: TypeAlias = list[Element | Table]

_HEADING: Final = re.compile(r"(#{1,6})\s+(.*?)\s*#*")
_ITEM: Final = re.compile(r"(\s*)(?:[-*+]|(\d+[.)]))\s+(.*)")
_ESCAPE_CODE: Final = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_RAW_ESCAPE: Final = re.compile(r"\\(?:u[0-9a-fA-F]{4}|.)")


def read_json(data: bytes) -> Document:
    """Return records as tables and other values as lines with the path of their keys."""
    text = decode_text(data)
    parts: _Parts = []
    lister = _Lister()
    lister.add(_load(text), "", parts)
    return _finish(text, parts, lister)


def read_json_lines(data: bytes) -> Document:
    """Return the records of a file with one JSON value on each line."""
    text = decode_text(data)
    records: list[Json] = []
    broken: _Parts = []
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip():
            try:
                records.append(_load(line))
            except Unreadable:
                broken.append(Element("paragraph", f"line {number}: {line}"))
    parts: _Parts = []
    lister = _Lister()
    lister.add(records, "", parts)
    notes = (f"{len(broken)} lines are not JSON",) if broken else ()
    return _finish(text, parts + broken, lister, notes)


def _load(text: str) -> Json:
    """Parse JSON; numbers stay as they are written."""
    try:
        value: Json = json.loads(text, parse_float=str, parse_int=str, parse_constant=str)
    except RecursionError as error:
        raise Unreadable("the JSON nests too deeply") from error
    except ValueError as error:
        raise Unreadable(f"the file is not JSON ({error})") from error
    return value


def _finish(text: str, parts: _Parts, lister: _Lister, notes: tuple[str, ...] = ()) -> Document:
    if lister.values > MAX_VALUES:
        notes += (f"the file was cut: the limit is {MAX_VALUES:,} values",)
    coverage = None
    if len(text) <= MAX_CHECKED_CHARS and not notes:
        coverage = measure_coverage(_RAW_ESCAPE.sub(" ", text), _with_path_words(parts))
    return Document(tuple(parts), ENGINE, pages=(PageReport(1, ENGINE, coverage),), notes=notes)


def _with_path_words(parts: _Parts) -> Iterator[Element | Table]:
    """Yield the parts; headers again for each row, because JSON repeats the keys in each record."""
    for part in parts:
        yield part
        if isinstance(part, Table):
            filled = (
                header for row in part.rows[1:] for header, cell in zip(part.headers, row.cells, strict=False) if cell
            )
            yield Element("paragraph", "\n".join(filled))


class _Lister:
    """Writes values as lines and records as tables, and counts the values."""

    def __init__(self) -> None:
        self.values = 0

    def add(self, value: Json, path: str, parts: _Parts) -> None:
        if _is_records(value) and (table := self._build_table(value, path)) is not None:
            parts.append(table)
            return
        if isinstance(value, Mapping) or (isinstance(value, Sequence) and not isinstance(value, str)):
            children = value.items() if isinstance(value, Mapping) else enumerate(value)
            for key, child in children:
                self._add_child(child, f"{path}[{key}]" if isinstance(key, int) else _join(path, key), parts)
        else:
            self._add_child(value, path, parts)

    def _add_child(self, value: Json, path: str, parts: _Parts) -> None:
        if self.values > MAX_VALUES:
            return
        if path.count(".") + path.count("[") > MAX_DEPTH:
            raise Unreadable(f"the JSON nests deeper than {MAX_DEPTH} levels")
        if (text := _plain(value)) is None:
            self.add(value, path, parts)
            return
        self.values += 1
        if text:
            parts.append(Element("list_item", f"{path}: {text}" if path else text))

    def _build_table(self, records: Sequence[Mapping[str, Json]], path: str) -> Table | None:
        """Return records as a table whose columns are the paths of their keys; None if they are too different."""
        flat: list[dict[str, str]] = []
        headers: dict[str, int] = {}
        for record in records:
            cells: dict[str, str] = {}
            self._flatten(record, "", cells, 0)
            for key in cells:
                headers.setdefault(key, len(headers))
            flat.append(cells)
            if len(headers) > MAX_COLUMNS:
                return None
            if self.values + len(flat) * len(headers) > MAX_VALUES:
                self.values = MAX_VALUES + 1
                break
        self.values += len(flat) * len(headers)
        names = tuple(headers)
        rows = tuple(Row(tuple(cells.get(name, "") for name in names)) for cells in flat)
        return Table(rows, names, path, find_units(names))

    def _flatten(self, value: Json, path: str, cells: dict[str, str], depth: int) -> None:
        if depth > MAX_DEPTH:
            raise Unreadable(f"the JSON nests deeper than {MAX_DEPTH} levels")
        text = _plain(value)
        if text is not None:
            cells[path or "value"] = text
        elif isinstance(value, Mapping):
            for key, child in value.items():
                self._flatten(child, _join(path, key), cells, depth + 1)
        elif isinstance(value, Sequence):
            for index, child in enumerate(value):
                self._flatten(child, f"{path}[{index}]", cells, depth + 1)


def _is_records(value: Json) -> TypeGuard[Sequence[Mapping[str, Json]]]:
    if not isinstance(value, Sequence) or isinstance(value, str) or len(value) < 2:
        return False
    return all(isinstance(record, Mapping) for record in value)


def _plain(value: Json) -> str | None:
    """Return a scalar or a list of scalars as text; None for everything with keys."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping) or any(isinstance(item, (Mapping, list)) for item in value):
        return None
    return ", ".join(_plain(item) or "" for item in value)


def _join(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


# --- notebooks -------------------------------------------------------------------------------------


def read_notebook(data: bytes) -> Document:
    """Return the texts, the code and the text outputs of a notebook."""
    notebook = _load(decode_text(data))
    cells = notebook.get("cells") if isinstance(notebook, Mapping) else None
    if not isinstance(cells, Sequence) or isinstance(cells, str):
        raise Unreadable("the file is no notebook of version 4: open it and save it again")
    parts: _Parts = []
    raw: list[str] = []
    for cell in cells:
        if not isinstance(cell, Mapping):
            continue
        source = _joined(cell.get("source"))
        raw.append(source)
        if cell.get("cell_type") == "code":
            parts += [Element("code", source)] if source.strip() else []
            for output in _list(cell.get("outputs")):
                if text := _output_text(output).strip():
                    parts.append(Element("code", text[:MAX_OUTPUT_CHARS]))
        elif cell.get("cell_type") == "markdown":
            parts += split_markdown(source)
        elif source.strip():
            parts.append(Element("paragraph", source))
    coverage = measure_coverage("\n".join(raw), parts)
    return Document(tuple(parts), NOTEBOOK_ENGINE, pages=(PageReport(1, NOTEBOOK_ENGINE, coverage),))


def _list(value: Json) -> Sequence[Json]:
    return value if isinstance(value, Sequence) and not isinstance(value, str) else ()


def _joined(value: Json) -> str:
    """Return a text of a notebook, which may be a list of lines."""
    return value if isinstance(value, str) else "".join(line for line in _list(value) if isinstance(line, str))


def _output_text(output: Json) -> str:
    if not isinstance(output, Mapping):
        return ""
    if output.get("output_type") == "error":
        return f"{_joined(output.get('ename'))}: {_joined(output.get('evalue'))}"
    data = output.get("data")
    plain = data.get("text/plain") if isinstance(data, Mapping) else output.get("text")
    return _ESCAPE_CODE.sub("", _joined(plain))


def split_markdown(text: str) -> Iterator[Element]:
    """Yield headings, code, list items and paragraphs of Markdown."""
    paragraph: list[str] = []
    fence: list[str] | None = None
    for line in [*text.splitlines(), ""]:
        if line.lstrip().startswith("```"):
            if fence is not None:
                yield Element("code", "\n".join(fence))
            fence = [] if fence is None else None
            continue
        if fence is not None:
            fence.append(line)
            continue
        heading, item = _HEADING.fullmatch(line), _ITEM.fullmatch(line)
        if paragraph and (heading or item or not line.strip()):
            yield Element("paragraph", " ".join(paragraph))
            paragraph = []
        if heading:
            yield Element("heading", heading[2], (), len(heading[1]))
        elif item:
            marker = f"{item[2]} " if item[2] else ""
            yield Element("list_item", marker + item[3], (), len(item[1].expandtabs(4)) // 2)
        elif line.strip():
            paragraph.append(line.strip())
    if fence:
        yield Element("code", "\n".join(fence))
