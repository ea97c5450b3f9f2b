"""Lines of the SQLite store against the dict store, which reads every line: any texts, any mode, any changes."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from test_conformance import record

from dowse.lookup.grep import GrepAnswer, GrepMode, GrepQuery, search_lines
from dowse.model import Scope
from dowse.store.base import Store
from dowse.store.sqlite import SqliteStore
from oracle.dict_store import DictStore

MODES: tuple[GrepMode, ...] = ("word", "substring", "word-regex", "phrase", "regex")
PATHS = ("a.py", "b/a.py", "b/c.md", "z.cs")
ATOMS = (
    "foo", "Foo", "FOO_bar", "bar", "barfoo", "x", "i", "42", "é", "éfoo", "Straße", "ΣΑΣ", "σας", "ſK", "İ", "東京",
    " ", "  ", "\t", "\n", "\n\n", "\r\n", "\r", ".", "->", "(", ")", "::", '"', "\\", "{", "\u00a0", "\u2028", "-",
)  # fmt: skip
texts = st.lists(st.sampled_from(ATOMS), max_size=25).map("".join)
wild = st.text(st.characters(exclude_characters="\0"), max_size=30)
terms = st.one_of(
    st.lists(st.sampled_from([it for it in ATOMS if "\n" not in it]), min_size=1, max_size=4).map("".join),
    st.text(st.characters(exclude_characters="\0\n", exclude_categories=["Cs"]), min_size=1, max_size=4),
)
PATTERNS = (
    r"foo", r"^foo", r"bar$", r"^\s*$", r"f[o0]+", r"(foo|bar)\b", r"foo.*bar", r"\w+\(", r"[^a-z]", r"x?", r"(?i)FOO",
    r"\bfoo\b", r"fo{2}", r"[Ff]oo_?", r"(?:ba|fo)[ro]", r"\d+", r"é|bar", r"s$", r"\Afoo", r"foo\z", r"(?-m)^foo$",
    r"[[:alpha:]]+\.", r"\pL+", r"(a+)+$", r"\\", r"foo\.bar", r"->", r"\s\s", r"k", r"σ", r"(?s)foo.bar", r"foo\nbar",
    r"(foo)?bar", r"(foo|)bar", r"a|", r"x{0}foo", r"foo(?:bar)+", r"\x66oo",
)  # fmt: skip


@st.composite
def questions(draw: st.DrawFn) -> GrepQuery:
    mode = draw(st.sampled_from(MODES))
    asked = st.sampled_from(PATTERNS) if mode in ("regex", "word-regex") else terms.filter(str.strip)
    return GrepQuery(
        terms=tuple(draw(st.lists(asked, min_size=1, max_size=3))),
        mode=mode,
        match_all=draw(st.booleans()),
        case_sensitive=mode not in ("word", "word-regex") and draw(st.booleans()),
        scope=draw(st.sampled_from([Scope(), Scope(paths=("*.py",)), Scope(kinds=("code",))])),
        path_filter=draw(st.sampled_from([None, lambda path: "b" in path])),
        limit=draw(st.sampled_from([0, 1, 2, 50])),
        deadline_s=60.0,
    )


changes = st.lists(
    st.tuples(
        st.sampled_from(["put", "put", "put", "drop", "reopen", "prepare"]),
        st.sampled_from(PATHS),
        st.one_of(texts, wild),
    ),
    min_size=1,
    max_size=8,
)


def put(store: Store, path: str, text: str) -> None:
    kind = "code" if path.endswith(".cs") else "doc"
    store.writer.put(record(path, kind=kind, digest=str(hash(text))), [], text=text)


class Pair:
    """The same changes in both stores; the SQLite one keeps a sidecar however little there is."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "index.db"
        self.plain = DictStore()
        self.plain.writer.add_collection("/work/notes")
        self.sqlite = self._opened()
        self.sqlite.writer.add_collection("/work/notes")

    def _opened(self) -> SqliteStore:
        return SqliteStore(self._path, lines_without_file_up_to=0)

    def do(self, what: str, path: str, text: str) -> None:
        if what == "put":
            put(self.plain, path, text)
            put(self.sqlite, path, text)
        elif what == "drop":
            self.plain.writer.drop("notes", [path])
            self.sqlite.writer.drop("notes", [path])
        elif what == "prepare":
            with self.sqlite.writing(1.0):
                pass
        else:
            self.sqlite.close()
            self.sqlite = self._opened()

    def close(self) -> None:
        self.sqlite.close()


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if there were very much of everything."""
    sizes = {
        "line_segment._BATCH_BYTES": 40,
        "line_segment._SHARD_BYTES": 100,
        "line_segment._POSTINGS_PER_MERGE": 3,
        "line_query._MAX_POSTINGS_PER_BATCH": 3,
    }
    sizes |= {
        "line_query._FEW_POSTINGS": 1,
        "line_query._MAX_STEP_BYTES": 9,
        "line_query._SPARSE_DIVISOR": 1,
        "line_query._CANDIDATES_PER_BATCH": 2,
    }
    for name, size in sizes.items():
        monkeypatch.setattr(f"dowse.store.sqlite.{name}", size)


def comparable(answer: GrepAnswer) -> GrepAnswer:
    """Words that no file has any more are forgotten when the index of lines is made anew."""
    return replace(answer, index_words=0)


Steps = list[tuple[list[tuple[str, str, str]], list[GrepQuery]]]
some_steps = st.lists(st.tuples(changes, st.lists(questions(), min_size=1, max_size=6)), min_size=1, max_size=3)


@settings(max_examples=80)
@given(steps=some_steps)
@example(steps=[([("put", "a.py", "foo\r\nbar")], [GrepQuery(("foo bar",), "phrase")])])
@example(steps=[([("put", "a.py", "foo\r")], [GrepQuery(("foo$",), "regex")])])
def test_both_stores_find_the_same_lines(steps: Steps) -> None:
    compare(steps)


@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=some_steps)
def test_the_same_in_many_small_parts(small_parts: None, steps: Steps) -> None:
    compare(steps)


def compare(steps: Steps) -> None:
    with tempfile.TemporaryDirectory() as folder:
        pair = Pair(Path(folder))
        for some, asked in steps:
            for change in some:
                pair.do(*change)
            for question in asked:
                assert comparable(search_lines(pair.sqlite.view(), question)) == comparable(
                    search_lines(pair.plain.view(), question)
                ), question
        pair.close()


def test_what_was_replaced_or_dropped_is_not_found_in_a_scope_either(tmp_path: Path) -> None:
    pair = Pair(tmp_path)
    for path in PATHS:
        pair.do("put", path, "foo bar\n")
    pair.do("prepare", "", "")
    pair.do("put", "a.py", "foo new\n")
    pair.do("drop", "b/a.py", "")
    for scope in (Scope(), Scope(paths=("*.py",)), Scope(paths=("*.md",))):
        for term, mode in (("bar", "word"), ("ba", "substring"), ("foo bar", "phrase"), ("b.r", "regex")):
            question = GrepQuery((term,), mode, scope=scope)  # type: ignore[arg-type]
            assert comparable(search_lines(pair.sqlite.view(), question)) == comparable(
                search_lines(pair.plain.view(), question)
            ), question
    pair.close()


def test_postings_of_many_shards_are_merged_in_order(tmp_path: Path, small_parts: None) -> None:
    pair = Pair(tmp_path)
    for file in range(30):
        pair.do("put", f"{file:02}.py", f"shared w{file % 7}\n\nx\n" * (1 + file % 5))
    pair.do("prepare", "", "")
    for term in ("shared", "w3", "x"):
        question = GrepQuery((term,), limit=0)
        assert comparable(search_lines(pair.sqlite.view(), question)) == comparable(
            search_lines(pair.plain.view(), question)
        )
    pair.close()
