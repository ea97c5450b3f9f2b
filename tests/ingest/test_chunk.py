"""Chunks cover every word once, keep their bounds and lines, and join what is short."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dowse.errors import BadInput
from dowse.ingest.chunk import ChunkLimits, chunk_extract, chunking_fingerprint
from dowse.ingest.extract.code import extract_code
from dowse.ingest.extract.markdown import extract_markdown
from dowse.ingest.extract.plain import extract_plain
from dowse.ingest.extract.registry import extract
from dowse.model import Block, Extraction, Item

EXTRACTORS = (extract_markdown, extract_plain, extract_code)


def markdown(text):
    return extract_markdown(Item("x.md", len(text), 0), text.encode())


def one_block(text, *, whole=False):
    return Extraction("doc", "x", text, (Block(0, len(text), (), whole),) if text else ())


def texts(extract, limits):
    return [each.text for each in chunk_extract(extract, limits)]


# --- limits ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("max_chars", "min_chars", "message"),
    [(49, 1, "at least 50"), (0, 0, "at least 50"), (100, 0, "1 to max_chars"), (100, 101, "1 to max_chars")],
)
def test_bad_limits_are_refused(max_chars, min_chars, message):
    with pytest.raises(BadInput, match=message):
        ChunkLimits(max_chars, min_chars)


def test_fingerprints_tell_limits_apart():
    limits = [ChunkLimits(), ChunkLimits(1000), ChunkLimits(2000, 1), ChunkLimits(50, 50)]
    assert len({chunking_fingerprint(each) for each in limits}) == len(limits)
    assert chunking_fingerprint(ChunkLimits()) == chunking_fingerprint(ChunkLimits(2000, 120))


# --- cutting --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("", []),
        (" \n\t\n", []),
        ("\n\n  indented\n\n", ["  indented"]),
        ("a" * 50, ["a" * 50]),
        ("a" * 51, ["a" * 50, "a"]),
        ("a" * 50 + "\n" + "b" * 10, ["a" * 50, "b" * 10]),
        ("a" * 30 + "\n" + "b" * 10 + "\n" + "c" * 30, ["a" * 30 + "\n" + "b" * 10, "c" * 30]),
        ("a" * 30 + "\n\n" + "b" * 10 + "\n" + "c" * 30, ["a" * 30, "b" * 10 + "\n" + "c" * 30]),
        ("a" * 30 + "\n    " + "b" * 30, ["a" * 30, "    " + "b" * 30]),
        (
            "One two three four five six seven. Eight nine ten eleven.",
            ["One two three four five six seven.", "Eight nine ten eleven."],
        ),
        (
            "(One two three four five six seven!) Eight nine ten eleven.",
            ["(One two three four five six seven!)", "Eight nine ten eleven."],
        ),
        ("漢" * 39 + "。" + "字" * 20, ["漢" * 39 + "。", "字" * 20]),
        (
            "one two three four five six seven eight nine ten eleven",
            ["one two three four five six seven eight nine ten", "eleven"],
        ),
        ("short\n" + "x" * 60, ["short", "x" * 50, "x" * 10]),
        ("x" * 49 + "e\u0301" + "y", ["x" * 49, "e\u0301y"]),
        ("x" * 48 + "👩\u200d👧" + "y", ["x" * 48, "👩\u200d👧y"]),
        ("\u0301" * 60, ["\u0301" * 50, "\u0301" * 10]),
        (" " * 70 + "x", ["x"]),
        ("a\r\n" * 20, ["\r\n".join("a" * 17), "\r\n".join("a" * 3)]),
    ],
)
def test_a_long_block_is_cut_at_the_gentlest_place(text, pieces):
    assert texts(one_block(text), ChunkLimits(50, 1)) == pieces


def test_what_is_whole_is_cut_at_line_ends_only():
    text = "short line. Another.\n" + "word. " * 8 + "\n" + "last"
    assert texts(one_block(text, whole=True), ChunkLimits(50, 1)) == [
        "short line. Another.",
        "word. word. word. word. word. word. word. word.",
        "last",
    ]


def test_what_is_whole_is_not_cut_to_fill_a_chunk():
    fence = "```\n" + "x y\n" * 8 + "```"
    assert texts(markdown(f"some words\n\n{fence}\n\nmore words"), ChunkLimits(50, 1)) == [
        "some words",
        fence,
        "more words",
    ]


# --- packing and joining --------------------------------------------------------------------

LONG = "word " * 12 + "end."  # 64 characters


@pytest.mark.parametrize(
    ("text", "chunks"),
    [
        # Blocks of one section together, sections apart.
        ("# A\n\none\n\ntwo\n\n# B\n\nthree", [("A", "# A one two"), ("B", "# B three")]),
        # A bare title leads into the section below it.
        (f"# A\n\n## B\n\n{LONG}", [("A/B", f"# A ## B {LONG}")]),
        (f"intro\n\n# A\n\n{LONG}", [("A", f"intro # A {LONG}")]),
        # Short siblings share what is above them.
        (
            f"# A\n\n{LONG}\n\n## B\n\nb\n\n## C\n\n{LONG}",
            [("A", f"# A {LONG}"), ("A", f"## B b ## C {LONG}")],
        ),
        # Two siblings together do not pass for the third.
        (
            f"# A\n\n{LONG}\n\n## B\n\n## C\n\n## D\n\n{LONG}",
            [("A", f"# A {LONG}"), ("A", f"## B ## C ## D {LONG}")],
        ),
        # Nothing leaves its section: a short end goes back to its own section or the one above.
        (f"# A\n\n{LONG}\n\n## B\n\nb\n\n# C\n\n{LONG}", [("A", f"# A {LONG} ## B b"), ("C", f"# C {LONG}")]),
        # ... and stays alone where neither fits.
        (
            f"# A\n\n## B\n\n{LONG}\n\n### C\n\n{LONG}\n\n## D\n\nd\n\n# E\n\n{LONG}",
            [
                ("A/B", f"# A ## B {LONG}"),
                ("A/B/C", f"### C {LONG}"),
                ("A/D", "## D d"),
                ("E", f"# E {LONG}"),
            ],
        ),
        # What would be too long together stays apart.
        (f"# A\n\na\n\n## B\n\n{LONG} {LONG}", [("A", "# A a"), ("A/B", f"## B {LONG} {LONG}")]),
    ],
)
def test_sections(text, chunks):
    found = chunk_extract(markdown(text), ChunkLimits(140, 12))
    assert [("/".join(each.trail), " ".join(each.text.split())) for each in found] == chunks


def test_an_edit_leaves_other_sections_alone():
    sections = [f"# Section {number}\n\n" + f"Sentence {number} here. " * 30 for number in range(6)]
    before = texts(markdown("\n\n".join(sections)), ChunkLimits(300, 50))
    edited = ["# New\n\n" + "Fresh text. " * 20, *sections[:3], sections[3] + "changed", *sections[4:]]
    after = texts(markdown("\n\n".join(edited)), ChunkLimits(300, 50))
    untouched = [each for each in before if "3" not in each]
    assert [each for each in after if each in set(untouched)] == untouched


# --- properties -----------------------------------------------------------------------------

WORDS = st.text(alphabet=st.sampled_from("abcXYZ09.,;!?é漢字。🦊\u0301\u200d\u00a0#*_`[]|<>-"), min_size=1, max_size=12)
LINE = st.lists(WORDS, min_size=1, max_size=12).map(" ".join)
CODE = st.lists(LINE | st.just("") | st.just("# not a heading"), max_size=8).map("\n".join)
CONSTRUCTS = st.one_of(
    LINE,
    st.tuples(st.integers(1, 6), LINE).map(lambda each: "#" * each[0] + " " + each[1]),
    LINE.map(lambda line: f"{line}\n==="),
    st.lists(LINE, min_size=1, max_size=5).map("\n".join),
    st.lists(LINE, min_size=1, max_size=5).map(lambda lines: "\n".join(f"- {line}" for line in lines)),
    st.lists(LINE, min_size=1, max_size=3).map(lambda lines: "\n".join(f"> {line}" for line in lines)),
    CODE.map(lambda code: f"```py\n{code}\n```"),
    CODE.map(lambda code: f"~~~\n{code}"),
    CODE.map(lambda code: "    " + code.replace("\n", "\n    ")),
    st.integers(1, 6).map(lambda rows: "| a | b |\n|---|---|\n" + "| c | d |\n" * rows),
    st.integers(1, 400).map(lambda count: "x" * count),
    st.integers(1, 80).map(lambda count: "long words " * count),
    st.sampled_from(
        [
            "",
            "---",
            "<div>\n",
            "<!-- c",
            "[a]: b",
            "#",
            "\t",
            "- a\n  - b\n    ```\n    c\n    ```",
            "[^1]: n",
        ]
    ),
)
DOCUMENTS = st.tuples(
    st.sampled_from(["", "---\ntitle: x\n---\n", "\n\n"]),
    st.lists(CONSTRUCTS, max_size=12),
    st.sampled_from(["\n\n", "\n", "\r\n\r\n", "\n \n"]),
).map(lambda each: each[0] + each[2].join(each[1]))
LIMITS = st.integers(50, 400).flatmap(lambda most: st.builds(ChunkLimits, st.just(most), st.integers(1, most)))


def spans(extract, chunks):
    """Where each chunk lies, found from the end of the one before it: only blanks may be in between."""
    offset, found = extract.blocks[0].start if extract.blocks else len(extract.text), []
    for each in chunks:
        start = extract.text.index(each.text, offset)
        assert not extract.text[offset:start].strip()
        offset = start + len(each.text)
        found.append((start, offset))
    assert not extract.text[offset:].strip()
    return found


@given(DOCUMENTS, LIMITS, st.sampled_from(EXTRACTORS))
def test_every_word_is_in_one_chunk_and_every_chunk_in_bounds(text, limits, extractor):
    extract = extractor(Item("x", 0, 0), text.encode())
    chunks = chunk_extract(extract, limits)
    spans(extract, chunks)
    lines = text.split("\n")
    for ordinal, each in enumerate(chunks):
        assert each.ordinal == ordinal
        assert 0 < len(each.text.strip()) <= len(each.text) <= limits.max_chars
        assert each.text in "\n".join(lines[each.start_line - 1 : each.end_line])
        assert each.end_line - each.start_line == each.text.count("\n")


@given(DOCUMENTS, LIMITS)
def test_what_is_whole_and_fits_is_never_cut(text, limits):
    extract = markdown(text)
    found = spans(extract, chunk_extract(extract, limits))
    for block in (each for each in extract.blocks if each.atomic):
        body = extract.text[block.start : block.end].strip("\r\n").rstrip()
        start = extract.text.index(body, block.start)
        if body and len(body) <= limits.max_chars:
            assert any(
                low <= start + (len(body) - len(body.lstrip())) and start + len(body) <= high for low, high in found
            )


@given(DOCUMENTS, LIMITS)
def test_a_chunk_stays_below_the_headings_it_names(text, limits):
    extract = markdown(text)
    chunks = chunk_extract(extract, limits)
    for each, (start, end) in zip(chunks, spans(extract, chunks), strict=True):
        trails = [block.trail for block in extract.blocks if block.start < end and start < block.end]
        assert any(trail[: len(each.trail)] == each.trail for trail in trails)
        assert all(trail == each.trail[: len(trail)] or trail[: len(each.trail)] == each.trail for trail in trails)


@given(DOCUMENTS, LIMITS)
def test_chunking_is_deterministic_and_blocks_have_no_gaps(text, limits):
    extract = markdown(text)
    assert chunk_extract(extract, limits) == chunk_extract(markdown(text), limits)
    assert [block.start for block in extract.blocks[1:]] == [block.end for block in extract.blocks[:-1]]
    assert not extract.blocks or extract.blocks[-1].end == len(text)


_NESTED = {
    "a.cs": ("namespace N\n{{\n  class C\n  {{\n{}  }}\n}}\n", "    void M{0}()\n    {{\n{1}    }}\n"),
    "a.ts": ("export class C {{\n{}}}\n", "  m{0}() {{\n{1}  }}\n"),
    "a.java": ("class C {{\n{}}}\n", "  void m{0}() {{\n{1}  }}\n"),
    "a.rs": ("impl C {{\n{}}}\n", "  fn m{0}() {{\n{1}  }}\n"),
    "a.rb": ("class C\n{}end\n", "  def m{0}\n{1}  end\n"),
    "a.php": ("<?php\nclass C {{\n{}}}\n", "  function m{0}() {{\n{1}  }}\n"),
    "a.css": ("@media print {{\n{}}}\n", "  .m{0} {{\n{1}  }}\n"),
    "a.sh": ("if true; then\n{}fi\n", "  m{0}() {{\n{1}  }}\n"),
}


@pytest.mark.parametrize("path", _NESTED)
@pytest.mark.parametrize("lines", [1, 30, 44, 45, 46, 47, 48, 49, 50, 95])
def test_no_chunk_only_closes_something(path, lines):
    around, member = _NESTED[path]
    body = "".join(f"      call_{number:03}(with_some, other_arguments);\n" for number in range(lines))
    for count in (1, 3):
        text = around.format("".join(member.format(number, body) for number in range(count)))
        extracted = extract(Item(path, len(text), 0), text.encode())
        chunks = chunk_extract(extracted, ChunkLimits())
        spans(extracted, chunks)
        assert all(len(it.text) <= ChunkLimits().max_chars for it in chunks)
        assert [it.text for it in chunks if re.fullmatch(r"(?:\W|end|fi)*", it.text)] == []


@pytest.mark.parametrize(("gap", "between"), [("", ""), ("", "\n"), ("\n", "\n")])
def test_a_cut_in_long_code_leaves_a_comment_with_what_follows_it(gap, between):
    text = between.join(f"# Says why {at}.\n{gap}call_{at}({'x' * (20 + at)})\n" for at in range(60))
    found = texts(Extraction("code", "x", text, (Block(0, len(text)),)), ChunkLimits(400, 1))
    assert len(found) > 5
    assert all(it.startswith("# Says why") and it.endswith(")") for it in found)


def test_a_comment_longer_than_half_a_chunk_is_cut_as_any_text():
    text = "x()\n" + "# some words of a comment\n" * 100 + "y()\n"
    found = texts(Extraction("code", "x", text, (Block(0, len(text)),)), ChunkLimits(400, 1))
    assert max(map(len, found)) <= 400
    assert "\n".join(found) == text.rstrip()
