"""A memory's name is one file in the folder or below it, whatever was asked for."""

from __future__ import annotations

import unicodedata
from pathlib import Path, PurePath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dowse.errors import BadInput
from dowse.ingest.sources.files import memory_source
from dowse.ingest.sources.walk import WHOLE_TREE, make_selection
from dowse.memory.files import MAX_NAME_PART_BYTES, MAX_NAME_PARTS, collision_key, find_colliding_name, memory_file_name


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
        ("plans/q3", "plans/q3.md"),
        ("plans/q3.MD", "plans/q3.md"),
        ("u\u0308/u\u0308.x/c", "\u00fc/\u00fc.x/c.md"),
        ("indices", "indices.md"),
        ("plans/indices/q3", "plans/indices/q3.md"),
        ("/".join("x" * MAX_NAME_PARTS), "/".join("x" * MAX_NAME_PARTS) + ".md"),
        ("x" * (MAX_NAME_PART_BYTES - 3) + ".md", "x" * (MAX_NAME_PART_BYTES - 3) + ".md"),
    ],
)
def test_names_of_files(name: str, file: str) -> None:
    assert memory_file_name(name) == file


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("", "empty"),
        ("  ", "empty"),
        ("..", "a dot"),
        ("../x", "a dot"),
        ("a/../x", "a dot"),
        ("a/./x", "a dot"),
        ("./x", "a dot"),
        (".trash/x", "a dot"),
        ("a/.hidden/x", "a dot"),
        ("a/.md", "a dot"),
        ("a./b", "a dot"),
        ("a /b", "a space"),
        ("/etc/passwd", "empty"),
        ("a//b", "empty"),
        ("a/", "empty"),
        ("/", "empty"),
        ("a\\b", "a backslash"),
        ("a/..\\b", "a backslash"),
        ("C:\\x", "a backslash"),
        ("nul/x", "device"),
        ("a/com1.md", "device"),
        ("a:b/c", ":"),
        ("x" * 300 + "/y", "200 bytes"),
        ("Indices/x", "not a memory folder"),
        ("/".join("x" * (MAX_NAME_PARTS + 1)), "more than 10 parts"),
        ("a.md/b", "ends like a note"),
        ("plans/A.MD/b.md", "ends like a note"),
        ("a.Mar\u212adown/b", "ends like a note"),
        ("C:x", ":"),
        (".hidden", "a dot"),
        (".md", "a dot"),
        ("x.", "a dot"),
        (" x", "a space"),
        ("x\ny", "unprintable"),
        ("x\0", "unprintable"),
        ("x\u202egnp", "unprintable"),
        ("\ud800", "unprintable"),
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
        memory_file_name(name)
    assert why in str(refused.value)
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 250


@given(st.text(max_size=250) | st.text(alphabet="./\\ab~ \0:\u0301émdMD", max_size=12))
def test_no_name_leads_out_of_the_folder(name: str) -> None:
    try:
        file = memory_file_name(name)
    except BadInput:
        return
    parts = PurePath(file).parts
    assert "/".join(parts) == file
    assert not any(it.startswith((".", "/")) or "\\" in it for it in parts)
    assert file.lower().endswith((".md", ".markdown"))
    assert not any(collision_key(it).endswith((".md", ".markdown")) for it in parts[:-1])
    assert max(len(it.encode()) for it in parts) <= MAX_NAME_PART_BYTES + len(".md")
    assert unicodedata.is_normalized("NFC", file)
    assert memory_file_name(file) == file or len(parts[-1].encode()) > MAX_NAME_PART_BYTES


@given(st.text(alphabet="./aiI~ é#!*[indces", min_size=1, max_size=12) | st.sampled_from(["indices/x", "a/indices/b"]))
def test_what_may_be_written_is_searched(name: str) -> None:
    """No memory is written to where searches would not look."""
    try:
        file = memory_file_name(name)
    except BadInput:
        return
    source = memory_source(Path("memories"))
    wanted = make_selection(source.include, source.exclude, WHOLE_TREE)
    assert wanted.has_file(file)
    assert all(wanted.has_directory(str(it)) for it in PurePath(file).parents if it != PurePath())


def test_names_that_some_system_takes_for_one() -> None:
    assert find_colliding_name("Notes.md", ["a.md", "notes.md"]) == "notes.md"
    assert find_colliding_name("\u00fcber.md", ["u\u0308ber.md"]) == "u\u0308ber.md"
    assert find_colliding_name("notes.md", ["notes.md", "note.md"]) == ""
    assert collision_key("STRASSE.md") == collision_key("straße.md")
