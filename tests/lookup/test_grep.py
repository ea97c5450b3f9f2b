"""What is asked of lines, mode by mode, on both stores; excerpts; what is refused; what a deadline does."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import pytest

from dowse.errors import BadInput
from dowse.lookup.grep import GrepAnswer, GrepMode, GrepQuery, read_excerpts, search_lines
from dowse.model import Record, Scope
from dowse.store.base import Store
from dowse.store.sqlite import SqliteStore
from oracle.dict_store import DictStore

FILES = {
    "Client.cs": (
        "using System.Net;\r\n\r\npublic class HttpClient : IDisposable {\r\n"
        '  public void Dispose() { base.Dispose(); }\r\n  string url = "http://x/";\r\n}\r\n'
    ),
    "server.py": "class Server:\n    def http_get(self, i):\n        return self.client.get(i)  # public\n",
    "notes/public.md": "A public\n\n  class of\tits own,\nnaïve Straße; the HTTPCLIENT\nis public",
    "empty.txt": "",
}


@pytest.fixture(params=["sqlite", "sqlite with a file", "dicts"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    up_to = 0 if request.param.endswith("file") else 10**9
    made: Store = (
        DictStore() if request.param == "dicts" else SqliteStore(tmp_path / "i.db", lines_without_file_up_to=up_to)
    )
    made.writer.add_collection("/work/code")
    with made.writing(1.0):
        for path, text in FILES.items():
            kind = "doc" if path.endswith(".md") else "code"
            made.writer.put(Record("code", path, kind, "", len(text), 10**18, "d", "c"), [], text=text)
    yield made
    made.close()


def found(answer: GrepAnswer) -> dict[str, list[int]]:
    return {it.path: list(it.lines) for it in answer.files}


CASES: list[tuple[GrepMode, str, dict[str, list[int]]]] = [
    ("word", "httpclient", {"Client.cs": [3], "notes/public.md": [4]}),
    ("word", "HTTPCLIENT", {"Client.cs": [3], "notes/public.md": [4]}),
    ("word", "http", {"Client.cs": [5]}),
    ("word", "i", {"server.py": [2, 3]}),
    ("word", "STRASSE", {}),
    ("word", "strasse", {}),
    ("word", "STRAẞE", {"notes/public.md": [4]}),
    ("word", "System.Net", {"Client.cs": [1]}),
    ("word", "ystem.Ne", {}),
    ("word", "base.Dispose", {"Client.cs": [4]}),
    ("word", "{", {"Client.cs": [3, 4]}),
    ("substring", "http", {"Client.cs": [3, 5], "notes/public.md": [4], "server.py": [2]}),
    ("substring", "e", {"Client.cs": [1, 3, 4], "notes/public.md": [4], "server.py": [1, 2, 3]}),
    ("substring", "ttp_g", {"server.py": [2]}),
    ("substring", "t.get(i)", {"server.py": [3]}),
    ("substring", "ïVE str", {"notes/public.md": [4]}),
    ("substring", "://", {"Client.cs": [5]}),
    ("substring", "  s", {"Client.cs": [5]}),
    ("substring", "nothing like it", {}),
    ("word-regex", "http.*", {"Client.cs": [3, 5], "notes/public.md": [4], "server.py": [2]}),
    ("word-regex", "ht", {}),
    ("word-regex", "s[a-z]+|its", {"Client.cs": [1, 5], "notes/public.md": [3], "server.py": [1, 2, 3]}),
    ("word-regex", "a b", {}),
    ("phrase", "public class", {"notes/public.md": [1], "Client.cs": [3]}),
    ("phrase", "PUBLIC   class of its", {"notes/public.md": [1]}),
    ("phrase", "own naïve", {}),
    ("phrase", "public\nA", {}),
    ("phrase", "is public", {"notes/public.md": [5]}),
    ("phrase", "blic class", {}),
    ("phrase", "HttpClient :  IDisposable", {"Client.cs": [3]}),
    ("phrase", "httpclient is", {"notes/public.md": [4]}),
    ("regex", r"^\s*def \w+", {"server.py": [2]}),
    ("regex", r"Dispose\(\);? }$", {"Client.cs": [4]}),
    ("regex", r"^$", {"Client.cs": [2], "notes/public.md": [2]}),
    ("regex", r"public\s+class", {"Client.cs": [3]}),
    ("regex", r"na.ve", {"notes/public.md": [4]}),
    ("regex", r"[^\x00-\x7f]{2}", {}),
    ("regex", r"get|url", {"Client.cs": [5], "server.py": [2, 3]}),
]


@pytest.mark.parametrize(("mode", "term", "expected"), CASES, ids=[f"{it[0]}-{it[1]!r}" for it in CASES])
def test_modes(store: Store, mode: GrepMode, term: str, expected: dict[str, list[int]]) -> None:
    assert found(search_lines(store.view(), GrepQuery((term,), mode))) == expected


@pytest.mark.parametrize(
    ("mode", "term", "expected"),
    [
        ("substring", "HTTP", {"notes/public.md": [4]}),
        ("substring", "Http", {"Client.cs": [3]}),
        ("phrase", "public class", {"notes/public.md": [1], "Client.cs": [3]}),
        ("phrase", "Public class", {}),
        ("phrase", "System.Net;", {"Client.cs": [1]}),
        ("phrase", "system.Net;", {}),
        ("regex", "[A-Z]{5}", {"notes/public.md": [4]}),
        ("regex", "(?i)httpc", {"Client.cs": [3], "notes/public.md": [4]}),
    ],
)
def test_where_case_counts(store: Store, mode: GrepMode, term: str, expected: dict[str, list[int]]) -> None:
    assert found(search_lines(store.view(), GrepQuery((term,), mode, case_sensitive=True))) == expected


def test_any_or_every_term(store: Store) -> None:
    either = search_lines(store.view(), GrepQuery(("httpclient", "http_get")))
    assert found(either) == {"Client.cs": [3], "notes/public.md": [4], "server.py": [2]}
    both = search_lines(store.view(), GrepQuery(("httpclient", "dispose"), match_all=True))
    assert found(both) == {"Client.cs": [3, 4]}
    assert [(it.terms_matched, it.occurrences) for it in both.files] == [(2, 2)]
    assert found(search_lines(store.view(), GrepQuery(("httpclient", "nowhere"), match_all=True))) == {}


def test_scores_are_by_how_rare_a_word_is(store: Store) -> None:
    answer = search_lines(store.view(), GrepQuery(("public",)))
    scores = {it.path: it.score for it in answer.files}
    rarity = math.log(4 / 3)
    assert scores["Client.cs"] == pytest.approx(2 / 16 * rarity)
    assert scores["server.py"] == pytest.approx(1 / 12 * rarity)
    assert list(scores) == sorted(scores, key=lambda path: -scores[path])
    assert (answer.total_files, answer.total_occurrences, answer.index_files) == (3, 5, 4)


def test_phrases_and_regexes_score_by_their_lines(store: Store) -> None:
    answer = search_lines(store.view(), GrepQuery(("public",), "regex"))
    assert [(it.path, it.score) for it in answer.files] == [
        ("Client.cs", 2.0),
        ("notes/public.md", 2.0),
        ("server.py", 1.0),
    ]


def test_what_matched_is_named(store: Store) -> None:
    answer = search_lines(store.view(), GrepQuery(("HTTP",), "substring"))
    assert answer.words == ("http", "http_get", "httpclient")
    assert answer.searched == ("http",)
    assert search_lines(store.view(), GrepQuery(("http",))).words == ()


def test_limits_cut_files_but_not_totals(store: Store) -> None:
    answer = search_lines(store.view(), GrepQuery(("public",), limit=1))
    assert (len(answer.files), answer.total_files, answer.total_occurrences) == (1, 3, 5)
    assert len(search_lines(store.view(), GrepQuery(("public",), limit=0)).files) == 3


def test_scope_and_paths(store: Store) -> None:
    assert set(found(search_lines(store.view(), GrepQuery(("public",), scope=Scope(paths=("*.py",)))))) == {"server.py"}
    assert set(found(search_lines(store.view(), GrepQuery(("public",), scope=Scope(kinds=("doc",)))))) == {
        "notes/public.md"
    }
    answer = search_lines(store.view(), GrepQuery(("public",), "regex", path_filter=lambda path: path.endswith("s")))
    assert (set(found(answer)), answer.total_files) == ({"Client.cs"}, 1)
    assert found(search_lines(store.view(), GrepQuery(("public",), scope=Scope(collections=("other",))))) == {}


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        (GrepQuery(()), "a search term is empty"),
        (GrepQuery(("",)), "term is empty"),
        (GrepQuery(("a", " \t")), "term is empty"),
        (GrepQuery(("a\nb",), "substring"), "use a phrase search"),
        (GrepQuery(("a\nb",), "regex"), "use a phrase search"),
        (GrepQuery(("a",), case_sensitive=True), "ignores case"),
        (GrepQuery(("a",), "word-regex", case_sensitive=True), "ignores case"),
        (GrepQuery(("a",), limit=-1), "limit"),
        (GrepQuery((r"(a)\1",), "regex"), "back references"),
        (GrepQuery(("a)(b",), "word-regex"), "invalid regex"),
        (GrepQuery(("a)(b",), "regex"), "invalid regex"),
    ],
)
def test_what_is_refused(store: Store, asked: GrepQuery, reason: str) -> None:
    with pytest.raises(BadInput, match=reason):
        search_lines(store.view(), asked)


def test_a_deadline_is_said(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "i.db")
    store.writer.add_collection("/work/code")
    store.writer.put(Record("code", "a.txt", "doc", "", 1, 1, "d", "c"), [], text="some text\n" * 1_000)
    for asked in (GrepQuery((r"\w",), "regex", deadline_s=0.0), GrepQuery(("some text",), "phrase", deadline_s=0.0)):
        answer = search_lines(store.view(), asked)
        assert "stopped after 0 s" in answer.cut
        assert answer.files == ()
    assert search_lines(store.view(), GrepQuery((r"\w",), "regex", deadline_s=60.0)).cut == ""
    store.close()


@pytest.mark.parametrize("bomb", ["(a+)+$", "(a|a)*b", "(.*a){20}$", r"(\w+\s?)+$"])
def test_bombs_on_long_lines_end(tmp_path: Path, bomb: str) -> None:
    store = SqliteStore(tmp_path / "i.db")
    store.writer.add_collection("/work/code")
    store.writer.put(Record("code", "a.txt", "doc", "", 1, 1, "d", "c"), [], text="a" * 200_000 + "!")
    assert search_lines(store.view(), GrepQuery((bomb,), "regex", deadline_s=60.0)).total_files == 0
    store.close()


@pytest.mark.parametrize(
    ("lines", "before", "after", "expected"),
    [
        ([3], 0, 0, [(3, 1, (0,))]),
        ([3], 1, 1, [(2, 3, (1,))]),
        ([1, 6], 1, 1, [(1, 2, (0,)), (5, 2, (1,))]),
        ([2, 4], 1, 0, [(1, 4, (1, 3))]),
        ([2, 5], 1, 1, [(1, 6, (1, 4))]),
        ([4, 4, 3], 0, 0, [(3, 2, (0, 1))]),
        ([6], 9, 9, [(1, 6, (5,))]),
        ([7, 99], 0, 0, []),
        ([], 1, 1, []),
    ],
)
def test_excerpts(
    store: Store, lines: list[int], before: int, after: int, expected: list[tuple[int, int, tuple[int, ...]]]
) -> None:
    shown = read_excerpts(store.view(), "code", "Client.cs", lines, before, after)
    assert [(it.start_line, len(it.lines), it.matches) for it in shown] == expected


def test_excerpts_are_verbatim_but_for_line_ends(store: Store) -> None:
    (shown,) = read_excerpts(store.view(), "code", "notes/public.md", [3], 1, 9)
    assert shown.lines == ("", "  class of\tits own,", "naïve Straße; the HTTPCLIENT", "is public")
    (shown,) = read_excerpts(store.view(), "code", "Client.cs", [1], 0, 1)
    assert shown.lines == ("using System.Net;", "")
    assert read_excerpts(store.view(), "code", "gone.py", [1]) == []
    assert read_excerpts(store.view(), "code", "empty.txt", [1]) == []
