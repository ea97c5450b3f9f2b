"""A JSON-lines corpus as a source: what it lists, what it reads, and what it refuses."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dowse.errors import BadInput, Unreadable
from dowse.ingest.sources.corpus import CorpusSource
from dowse.model import Item


def document(id, text, **more):
    return json.dumps({"_id": id, "text": text, **more})


def corpus(directory, *lines):
    path = directory / "corpus.jsonl"
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return path


def rewrite(path, *lines):
    """New content with a later time, as far as the file system can tell."""
    later = path.stat().st_mtime_ns + 1_000_000_000
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    os.utime(path, ns=(later, later))


CONTENT = {
    "title and text": ({"title": "Wings", "text": "They lift."}, "Wings\n\nThey lift."),
    "no title": ({"text": "They lift."}, "They lift."),
    "empty title": ({"title": "", "text": "They lift."}, "They lift."),
    "blank title": ({"title": " ", "text": "They lift."}, "They lift."),
    "null title": ({"title": None, "text": "They lift."}, "They lift."),
    "text begins with its title": ({"title": "Wings", "text": "Wings lift."}, "Wings\n\nlift."),
    "empty text": ({"title": "Wings", "text": ""}, "Wings"),
    "nothing at all": ({"title": "", "text": ""}, ""),
    "other fields": ({"text": "x", "metadata": {"year": 1961}}, "x"),
    "beyond ASCII": ({"title": "Flügel", "text": "heben – 升力"}, "Flügel\n\nheben – 升力"),
    "half a surrogate pair": ({"text": "a\ud800b"}, "a?b"),
}


@pytest.mark.parametrize(("fields", "expected"), CONTENT.values(), ids=CONTENT)
def test_content(tmp_path, fields, expected):
    path = corpus(tmp_path, json.dumps({"_id": "d1", **fields}))
    source = CorpusSource(path)
    (item,) = source.listing().items
    assert item == Item("d1", len(expected.encode()), path.stat().st_mtime_ns)
    assert source.read(item) == (item, expected.encode())


def test_any_string_is_an_id(tmp_path):
    ids = ["1", "https://example.org/a/b#c", "../up", "a b", "ü/\\", "line\nbreak"]
    source = CorpusSource(corpus(tmp_path, *(document(id, f"text of {id}") for id in ids)))
    listing = source.listing()
    assert [item.path for item in listing.items] == ids
    assert (listing.refused, listing.unreadable_prefixes) == ([], [])
    for item in reversed(listing.items):
        assert source.read(item)[1] == f"text of {item.path}".encode()


writable = st.text(st.characters(codec="utf-8"), max_size=20)


@settings(max_examples=50)
@given(st.dictionaries(writable.filter(str.strip), writable, max_size=6))
def test_every_document_is_read_back(documents):
    lines = [json.dumps({"_id": id, "text": text}, ensure_ascii=False) for id, text in documents.items()]
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "corpus.jsonl"
        path.write_bytes("\n\r\n".join(lines).encode())
        source = CorpusSource(path)
        assert {item.path: source.read(item)[1].decode() for item in source.listing().items} == documents


def test_an_unlisted_source_can_read(tmp_path):
    path = corpus(tmp_path, document("a", "first"), document("b", "second"))
    assert CorpusSource(path).read(Item("b", 0, 0)) == (Item("b", 6, path.stat().st_mtime_ns), b"second")


def test_a_changed_corpus_is_read_as_it_is_now(tmp_path):
    path = corpus(tmp_path, document("a", "first"), document("b", "second"))
    source = CorpusSource(path)
    first, second = source.listing().items
    rewrite(path, document("new", "in front"), document("b", "second, longer"))
    item, content = source.read(second)
    assert content == b"second, longer"
    assert item == Item("b", len(content), path.stat().st_mtime_ns)
    with pytest.raises(Unreadable, match="no longer contains") as caught:
        source.read(first)
    assert not caught.value.lasting


def test_freshness_follows_the_file(tmp_path):
    path = corpus(tmp_path, document("a", "first"))
    source = CorpusSource(path)
    (item,) = source.listing().items
    assert source.freshness(item) == "fresh"
    rewrite(path, document("a", "first"))
    assert source.freshness(item) == "changed"
    path.unlink()
    assert source.freshness(item) == "gone"
    with pytest.raises(Unreadable, match="cannot read the corpus") as caught:
        source.read(item)
    assert not caught.value.lasting


def test_freshness_is_unknown_where_the_file_cannot_be_asked(tmp_path):
    (tmp_path / "corpus.jsonl").symlink_to("corpus.jsonl")
    assert CorpusSource(tmp_path / "corpus.jsonl").freshness(Item("a", 0, 0)) == "unknown"


GOOD = document("a", "first")
BAD = {
    "bad JSON": ("{oops", r"corpus\.jsonl:2: not JSON"),
    "deep JSON": ("[" * 200_000, r"corpus\.jsonl:2: not JSON"),
    "not an object": ('"a"', r"corpus\.jsonl:2: expected a JSON object"),
    "no id": ('{"text": "x"}', r'corpus\.jsonl:2: "_id" must be a string'),
    "number as id": ('{"_id": 4, "text": "x"}', r'corpus\.jsonl:2: "_id" must be a string'),
    "empty id": ('{"_id": "", "text": "x"}', r'corpus\.jsonl:2: "_id" is empty'),
    "half a pair as id": ('{"_id": "\\ud800", "text": "x"}', r'corpus\.jsonl:2: "_id" contains a lone'),
    "no text": ('{"_id": "b"}', r'corpus\.jsonl:2: "text" must be a string'),
    "number as title": (
        '{"_id": "b", "text": "x", "title": 4}',
        r'corpus\.jsonl:2: "title" must be a string',
    ),
    "same id twice": (GOOD, r"corpus\.jsonl:2: document 'a' appears twice; give"),
}


@pytest.mark.parametrize(("line", "message"), BAD.values(), ids=BAD)
def test_bad_lines_are_named(tmp_path, line, message):
    with pytest.raises(BadInput, match=message):
        CorpusSource(corpus(tmp_path, GOOD, line)).listing()


def test_lines_that_are_not_text_are_named(tmp_path):
    path = tmp_path / "corpus.jsonl"
    path.write_bytes(b'{"_id": "a", "text": "\xff"}\n')
    with pytest.raises(BadInput, match=r"corpus\.jsonl:1: not JSON"):
        CorpusSource(path).listing()


def test_a_missing_corpus_is_named(tmp_path):
    with pytest.raises(BadInput, match=r"cannot read .*absent\.jsonl .*check the path"):
        CorpusSource(tmp_path / "absent.jsonl").listing()


def test_an_empty_corpus_lists_nothing(tmp_path):
    assert CorpusSource(corpus(tmp_path)).listing().items == []
