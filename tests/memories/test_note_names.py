"""A memory's name is one file directly in the folder, whatever was asked for."""

from __future__ import annotations

import unicodedata
from pathlib import PurePath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dowse.errors import BadInput
from dowse.memories.names import MAX_BYTES, alike, file_name, same


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("notes", "notes.md"),
        ("notes.md", "notes.md"),
        ("Notes.MD", "Notes.md"),
        ("notes.markdown", "notes.markdown"),
        ("v1.2 plan", "v1.2 plan.md"),
        ("C# über", "C# über.md"),
        ("u\u0308ber", "\u00fcber.md"),
        ("x" * (MAX_BYTES - 3) + ".md", "x" * (MAX_BYTES - 3) + ".md"),
    ],
)
def test_names_of_files(name: str, file: str) -> None:
    assert file_name(name) == file


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("", "empty"),
        ("  ", "empty"),
        ("..", "a dot"),
        ("../x", "a path"),
        ("a/b", "a path"),
        ("a\\b", "a path"),
        ("/etc/passwd", "a path"),
        ("C:\\x", "a path"),
        ("C:x", ":"),
        (".hidden", "a dot"),
        (".md", "a dot"),
        ("x.", "a dot"),
        (" x", "a blank"),
        ("x\ny", "printed"),
        ("x\0", "printed"),
        ("x\u202egnp", "printed"),
        ("\ud800", "printed"),
        ("x" * 300, "200 bytes"),
        ("ü" * 101, "200 bytes"),
        ("con", "device"),
        ("NUL.md", "device"),
        ("com1.notes.md", "device"),
        ("a?b", "?"),
    ],
)
def test_what_is_no_name_is_refused_in_one_sentence(name: str, why: str) -> None:
    with pytest.raises(BadInput) as refused:
        file_name(name)
    assert why in str(refused.value)
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 250


@given(st.text(max_size=250) | st.text(alphabet="./\\ab~ \0:\u0301é", max_size=12))
def test_no_name_leads_out_of_the_folder(name: str) -> None:
    try:
        file = file_name(name)
    except BadInput:
        return
    assert PurePath(file).name == file
    assert file.lower().endswith((".md", ".markdown"))
    assert not file.startswith(".")
    assert len(file.encode()) <= MAX_BYTES + len(".md")
    assert unicodedata.is_normalized("NFC", file)
    assert file_name(file) == file or len(file.encode()) > MAX_BYTES


def test_names_that_some_system_takes_for_one() -> None:
    assert alike("Notes.md", ["a.md", "notes.md"]) == "notes.md"
    assert alike("\u00fcber.md", ["u\u0308ber.md"]) == "u\u0308ber.md"
    assert alike("notes.md", ["notes.md", "note.md"]) == ""
    assert same("STRASSE.md") == same("straße.md")
