"""Lines of the SQLite store against the dict store, which reads every line: any texts, any manner, any changes."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

from hypothesis import example, given, settings
from hypothesis import strategies as st
from test_conformance import record

from dowse.lookup.grep.grep import grep
from dowse.lookup.grep.question import GrepAnswer, Lines, Manner
from dowse.model import Scope
from dowse.store.base import Store
from dowse.store.memory import MemoryStore
from dowse.store.sqlite import SqliteStore

MANNERS: tuple[Manner, ...] = ("word", "substring", "word-regex", "phrase", "regex")
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
def questions(draw: st.DrawFn) -> Lines:
    manner = draw(st.sampled_from(MANNERS))
    asked = st.sampled_from(PATTERNS) if manner in ("regex", "word-regex") else terms.filter(str.strip)
    return Lines(
        terms=tuple(draw(st.lists(asked, min_size=1, max_size=3))),
        manner=manner,
        every=draw(st.booleans()),
        case_sensitive=manner not in ("word", "word-regex") and draw(st.booleans()),
        scope=draw(st.sampled_from([Scope(), Scope(paths=("*.py",)), Scope(kinds=("code",))])),
        wanted=draw(st.sampled_from([None, lambda path: "b" in path])),
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
    store.put(record(path, kind=kind, digest=str(hash(text))), [], text=text)


class Pair:
    """The same changes in both stores; the SQLite one keeps a sidecar however little there is."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "index.db"
        self.plain = MemoryStore()
        self.plain.add_collection("/work/notes")
        self.sqlite = self._opened()
        self.sqlite.add_collection("/work/notes")

    def _opened(self) -> SqliteStore:
        return SqliteStore(self._path, lines_without_file_up_to=0)

    def do(self, what: str, path: str, text: str) -> None:
        if what == "put":
            put(self.plain, path, text)
            put(self.sqlite, path, text)
        elif what == "drop":
            self.plain.drop("notes", [path])
            self.sqlite.drop("notes", [path])
        elif what == "prepare":
            with self.sqlite.writing(1.0):
                pass
        else:
            self.sqlite.close()
            self.sqlite = self._opened()

    def close(self) -> None:
        self.sqlite.close()


def comparable(answer: GrepAnswer) -> GrepAnswer:
    """Words that no file has any more are forgotten when the index of lines is made anew."""
    return replace(answer, index_words=0)


@settings(max_examples=120)
@given(steps=st.lists(st.tuples(changes, st.lists(questions(), min_size=1, max_size=6)), min_size=1, max_size=3))
@example(steps=[([("put", "a.py", "foo\r\nbar")], [Lines(("foo bar",), "phrase")])])
def test_both_stores_find_the_same_lines(steps: list[tuple[list[tuple[str, str, str]], list[Lines]]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        pair = Pair(Path(folder))
        for some, asked in steps:
            for change in some:
                pair.do(*change)
            for question in asked:
                assert comparable(grep(pair.sqlite, question)) == comparable(grep(pair.plain, question)), question
        pair.close()
