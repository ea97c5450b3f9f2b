"""JSON, JSON lines and notebooks as text."""

from __future__ import annotations

import json

import pytest

from dowse.errors import Unreadable
from dowse.ingest.extract.documents import data
from dowse.ingest.extract.documents.data import read_json, read_json_lines, read_notebook
from dowse.ingest.extract.documents.document import Document, Element, Table


def lines(document: Document) -> list[str]:
    found = []
    for part in document.parts:
        if isinstance(part, Table):
            found.append(f"[{part.title}] " + " | ".join(part.headers))
            found += [" | ".join(row.cells) for row in part.rows]
        else:
            found.append(part.text)
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a": {"b": 1, "c": [1, 2]}}', ["a.b: 1", "a.c: 1, 2"]),
        ('{"a": null, "b": true, "c": ""}', ["b: true"]),
        ('{"price": 1.10, "big": 12345678901234567890}', ["price: 1.10", "big: 12345678901234567890"]),
        ('[{"n": "x", "v": {"w": 1}}, {"n": "y", "z": [1]}]', ["[] n | v.w | z", "x | 1 | ", "y |  | 1"]),
        ('{"rows": [{"a": 1}, {"a": 2}], "name": "x"}', ["[rows] a", "1", "2", "name: x"]),
        ('{"one": [{"a": {"b": 1}}]}', ["one[0].a.b: 1"]),
        ('["x", ["y"]]', ["[0]: x", "[1]: y"]),
        ('"text"', ["text"]),
        ("{}", []),
    ],
)
def test_json_as_lines_and_tables(text: str, expected: list[str]):
    assert lines(read_json(text.encode())) == expected


def test_every_word_of_json_is_covered():
    text = json.dumps([{"name": f"part {number}", "size": {"width": number}} for number in range(20)], indent=2)
    assert read_json(text.encode()).pages[0].coverage == 1.0


def test_json_lines_and_lines_that_are_none():
    document = read_json_lines(b'{"a": 1}\n\n{"a": 2, "b": 3}\nnot json\n')
    assert lines(document) == ["[] a | b", "1 | ", "2 | 3", "line 4: not json"]
    assert document.notes == ("1 lines are not JSON",)


def test_records_with_too_many_keys_are_lines(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(data, "MAX_COLUMNS", 2)
    assert lines(read_json(b'[{"a": 1, "b": 2, "c": 3}, {"d": 4}]')) == ["[0].a: 1", "[0].b: 2", "[0].c: 3", "[1].d: 4"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "not JSON"),
        ("", "not JSON"),
        ("[" * 100_000, "nests"),
        ('{"a":' * 500 + "1" + "}" * 500, "nests"),
        ("[" * 300 + "{}" + "]" * 300, "nests"),
    ],
)
def test_broken_and_deep_json_is_refused(text: str, reason: str):
    with pytest.raises(Unreadable, match=reason):
        read_json(text.encode())


def test_values_beyond_the_limit_are_left_out_and_noted(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(data, "MAX_VALUES", 10)
    document = read_json(json.dumps([{"a": 1}] * 100).encode())
    assert "limit is 10 values" in document.notes[0]
    assert len(lines(document)) < 15


def test_notebooks():
    notebook = {
        "cells": [
            {"cell_type": "markdown", "source": ["# Title\n", "Some *text*\n", "over lines\n", "\n", "- item\n"]},
            {"cell_type": "markdown", "source": "```python\nx = 1\n```"},
            {
                "cell_type": "code",
                "source": ["print(1)\n", "2"],
                "outputs": [
                    {"output_type": "stream", "text": ["1\n"]},
                    {"output_type": "execute_result", "data": {"text/plain": "2", "text/html": "<b>2</b>"}},
                    {"output_type": "error", "ename": "ValueError", "evalue": "bad"},
                    {"output_type": "display_data", "data": {"image/png": "AAAA"}},
                ],
            },
            {"cell_type": "code", "source": "", "outputs": []},
        ]
    }
    parts = read_notebook(json.dumps(notebook).encode()).parts
    assert [(it.role, it.text) for it in parts if isinstance(it, Element)] == [
        ("heading", "Title"),
        ("paragraph", "Some *text* over lines"),
        ("list_item", "item"),
        ("code", "x = 1"),
        ("code", "print(1)\n2"),
        ("code", "1"),
        ("code", "2"),
        ("code", "ValueError: bad"),
    ]


@pytest.mark.parametrize("text", ["{}", "[]", '{"cells": 1}', '{"worksheets": []}'])
def test_other_json_is_no_notebook(text: str):
    with pytest.raises(Unreadable, match="no notebook"):
        read_notebook(text.encode())
