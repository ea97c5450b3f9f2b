"""Definitions through the engine: questions checked, lines of definitions, and what has none."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from dowse.config import Settings
from dowse.engine import Engine
from dowse.errors import BadInput
from dowse.lookup.symbols import (
    DefinitionBody,
    FileWithoutDefinitions,
    TextLines,
    find_symbols,
    read_bodies,
    text_lines,
)
from dowse.model import FunctionMetrics, Record, SkippedItem, Symbol
from dowse.store.types import Definition, SymbolQuery
from oracle.dict_store import DictStore
from support import OpenEngine, write

CODE = """\
class Shop:
    def sell(self):
        if self.open:
            return 1
        return 0


def main():
    Shop().sell()
"""


@pytest.fixture
def engine(root: Path, open_engine: OpenEngine) -> Engine:
    write(root, {"src/shop.py": CODE, "notes.md": "# Shop\n\nsell\n"})
    opened = open_engine(encoder="none")
    opened.index([root])
    return opened


def test_an_answer_counts_what_matches_and_what_there_is(engine: Engine) -> None:
    answer = engine.symbols(SymbolQuery(names=("s",), limit=1))
    assert [it.symbol.name for it in answer.definitions] == ["Shop"]
    assert (answer.total, answer.before_stats) == (2, 2)
    assert (answer.index_files, answer.index_definitions) == (2, 3)


@pytest.mark.parametrize("names", [(), ("",), (" ", "\t")])
def test_no_name_asks_for_all(engine: Engine, names: tuple[str, ...]) -> None:
    assert engine.symbols(SymbolQuery(names=names)).total == 3


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"kinds": ("clas",)}, "unknown kind of definition 'clas'; use one of class, column, constructor"),
        ({"kinds": ("heading",)}, "unknown kind of definition"),
        ({"order": "size"}, "unknown metric to sort by 'size'; use one of cyclomatic, cognitive"),
        ({"min_metrics": {"size": 1}}, "unknown metric to filter by"),
        ({"matching": "glob"}, "unknown matching mode 'glob'; use one of part, regex, exact"),
        ({"limit": -1}, "limit"),
        ({"names": ("a",) * 201}, "too many"),
        ({"names": ("(",), "matching": "regex"}, "regex"),
    ],
)
def test_what_can_not_be_asked_says_what_can(engine: Engine, asked: dict[str, object], said: str) -> None:
    with pytest.raises(BadInput) as refused:
        engine.symbols(SymbolQuery(**asked))  # type: ignore[arg-type]
    assert said in str(refused.value)


@pytest.mark.parametrize(
    "asked",
    [
        {"names": ("\ud800",)},
        {"names": ("'; DROP TABLE symbols; --",)},
        {"names": ('" OR "',)},
        {"names": ("a\0b",)},
        {"base": "\ud800", "attribute": "%"},
        {"parent": "\0"},
        {"modifiers": ('"', "\ud800")},
        {"min_metrics": {"lines": 10**40}},
        {"names": ("x" * 100_000,)},
    ],
)
def test_hostile_words_find_nothing(engine: Engine, asked: dict[str, object]) -> None:
    assert engine.symbols(SymbolQuery(**asked)).total == 0  # type: ignore[arg-type]


def test_a_huge_limit_is_all_of_them(engine: Engine) -> None:
    assert len(engine.symbols(SymbolQuery(limit=10**40)).definitions) == 3


def test_a_kind_that_only_the_index_knows_can_be_asked_for() -> None:
    store = DictStore()
    store.writer.add_collection("/some/work")
    store.writer.put(Record("work", "a.rs", "code", "", 1, 1, "d", "c"), [], [Symbol("Show", "trait", 1, 1)])
    assert find_symbols(store.view(), SymbolQuery(kinds=("trait",))).total == 1


# --- around a line ---


@pytest.mark.parametrize(
    ("line", "expected"), [(1, ["Shop"]), (4, ["sell", "Shop"]), (6, []), (9, ["main"]), (10**12, [])]
)
def test_what_holds_a_line(engine: Engine, line: int, expected: list[str]) -> None:
    assert [it.symbol.name for it in engine.code.definitions_at("./src/shop.py", line)] == expected


@pytest.mark.parametrize("line", [0, -1])
def test_lines_begin_at_one(engine: Engine, line: int) -> None:
    with pytest.raises(BadInput, match="line numbers start at 1"):
        engine.code.definitions_at("src/shop.py", line)


@pytest.mark.parametrize("path", ["../root/src/shop.py", "nowhere.py", "src\0/shop.py", ""])
def test_a_file_that_is_not_indexed_is_said_to_be_none(engine: Engine, path: str) -> None:
    with pytest.raises(BadInput, match="not indexed"):
        engine.code.definitions_at(path, 1)


def test_a_path_in_several_collections_needs_one_named(engine: Engine, tmp_path: Path) -> None:
    write(tmp_path / "other", {"src/shop.py": CODE})
    engine.index([tmp_path / "other"])
    with pytest.raises(BadInput, match="2 collections"):
        engine.code.definitions_at("src/shop.py", 1)
    assert len(engine.code.definitions_at("src/shop.py", 1, "other")) == 1


# --- bodies ---


def defined(first: int, last: int, path: str = "a.py") -> Definition:
    return Definition(Record("work", path, "code", "", 1, 1, "d", "c"), 0, Symbol("x", "function", first, last))


TEN = text_lines("".join(f"{number}\r\n" for number in range(1, 11)))


@pytest.mark.parametrize(
    ("spans", "limits", "expected"),
    [
        ([(2, 4)], {}, [DefinitionBody(2, ("2", "3", "4"))]),
        ([(2, 4)], {"max_lines": 2}, [DefinitionBody(2, ("2", "3"), truncated=True)]),
        ([(2, 4)], {"max_lines": 3}, [DefinitionBody(2, ("2", "3", "4"))]),
        ([(2, 4)], {"max_lines": 0, "total_lines": 0}, [DefinitionBody(2, ("2", "3", "4"))]),
        (
            [(1, 2), (3, 5), (6, 6)],
            {"total_lines": 3},
            [
                DefinitionBody(1, ("1", "2")),
                DefinitionBody(3, ("3",), truncated=True),
                DefinitionBody(6, (), truncated=True, omitted=True),
            ],
        ),
        ([(9, 99)], {}, [DefinitionBody(9, ("9", "10"))]),
        ([(11, 12)], {}, [DefinitionBody(11, (), problem="the file has 10 lines now; line 11 is beyond its end")]),
    ],
)
def test_bodies_within_budgets(
    spans: list[tuple[int, int]], limits: dict[str, int], expected: list[DefinitionBody]
) -> None:
    assert read_bodies([defined(*span) for span in spans], lambda record: TEN, **limits) == expected


def test_each_file_is_read_once() -> None:
    read: list[str] = []

    def source(record: Record) -> TextLines:
        read.append(record.path)
        return TEN

    read_bodies([defined(1, 1), defined(2, 2), defined(1, 1, "b.py")], source)
    assert read == ["a.py", "b.py"]


def test_budgets_are_no_debts() -> None:
    for limits in ({"max_lines": -1}, {"total_lines": -1}):
        with pytest.raises(BadInput, match="0 \\(no limit\\) or more"):
            read_bodies([], lambda record: TEN, **limits)


def test_a_body_is_as_on_disk_or_as_it_was_indexed(engine: Engine, root: Path) -> None:
    (sell,) = engine.symbols(SymbolQuery(names=("sell",))).definitions
    expected = tuple(CODE.split("\n")[1:5])
    assert engine.code.bodies([sell]) == [DefinitionBody(2, expected)]
    (root / "src/shop.py").write_text("# moved\n" * 20 + CODE)
    assert engine.code.bodies([sell]) == [DefinitionBody(2, expected, changed=True)]
    (root / "src/shop.py").unlink()
    assert engine.code.bodies([sell]) == [DefinitionBody(2, expected, changed=True)]


def test_a_file_that_can_not_be_read_is_a_problem(engine: Engine, root: Path) -> None:
    (sell,) = engine.symbols(SymbolQuery(names=("sell",))).definitions
    place = root / "src/shop.py"
    place.write_bytes(b"\0" * len(CODE))
    status = place.stat()
    record = replace(sell.record, size=status.st_size, mtime_ns=status.st_mtime_ns)
    assert engine.code.bodies([replace(sell, record=record)]) == [DefinitionBody(2, (), problem="binary file")]


# --- audit ---


@pytest.fixture
def audited(tmp_path: Path) -> Iterator[Engine]:
    store = DictStore()
    store.writer.add_collection("/some/work")

    def put(path: str, size: int, symbols: list[Symbol], text: str = "", **facets: str) -> None:
        store.writer.put(Record("work", path, "code", "", size, 1, "d", "c", facets=facets), [], symbols, text=text)

    put("full.py", 900, [Symbol("a", "class", 1, 1, stats=FunctionMetrics())], "\ufffd", language="python")
    put("empty.py", 600, [], language="python", empty="only comments")
    put("crash.cs", 700, [], language="csharp", unparsed="the parser crashed (signal 11)")
    put("odd.py", 500, [], language="python")
    put("tiny.py", 499, [], language="python")
    put("page.md", 999, [Symbol("A", "heading", 1, 1)], "\ufffd")
    store.writer.skip(SkippedItem("work", "large.PY", "too large"))
    store.writer.skip(SkippedItem("work", "film.mp4", "binary file"))
    with Engine(Settings(encoder="none", data_dir=tmp_path), tmp_path / "i.db", create=False, store=store) as engine:
        yield engine


def test_files_without_definitions_are_told_with_their_reasons(audited: Engine) -> None:
    audit = audited.code.audit()
    assert (audit.files, audit.with_definitions, audit.unreadable, audit.lossy) == (5, 1, 1, 1)
    assert audit.files_without_definitions == (
        FileWithoutDefinitions("crash.cs", "work", 700, "the parser crashed (signal 11)"),
        FileWithoutDefinitions("empty.py", "work", 600, "only comments"),
        FileWithoutDefinitions("odd.py", "work", 500, ""),
    )
    assert [it.path for it in audit.unexplained] == ["odd.py"]
    assert len(audited.code.audit(0).files_without_definitions) == 4
    with pytest.raises(BadInput):
        audited.code.audit(-1)
