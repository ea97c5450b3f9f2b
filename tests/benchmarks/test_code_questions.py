"""Questions are drawn from a corpus, the same ones every time, of every frequency; ripgrep's answers are compared."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_search import footprint, ripgrep
from code_search.asking import difference
from code_search.names import Described, Member, Place, names_in
from code_search.ripgrep import Pattern
from code_search.sampling import across, drawn, parts_of, regexes, sampled, word_regexes
from dowse.model import Call, FunctionMetrics, Record, Symbol
from dowse.store.sqlite import SqliteStore

WORDS = st.text("abcdefgh", min_size=8, max_size=20)


def test_every_band_of_frequencies_has_its_turn() -> None:
    weights = {f"rare{number}": 1 for number in range(50)} | {"some": 9, "often": 130}
    assert sorted(across(weights, 3)) == sorted([across(weights, 1)[0], "some", "often"])
    assert len(across(weights, 10)) == 10
    assert sorted(across(weights, 100)) == sorted(weights)


@given(st.dictionaries(WORDS, st.integers(1, 10_000), max_size=40), st.integers(0, 50))
def test_what_is_drawn_does_not_depend_on_the_order_it_came_in(weights: dict[str, int], count: int) -> None:
    turned = dict(reversed(weights.items()))
    assert across(weights, count) == across(turned, count)
    assert drawn(weights, count) == drawn(turned, count)
    assert len(set(across(weights, count))) == min(count, len(weights))


def test_another_purpose_draws_others() -> None:
    things = [str(number) for number in range(100)]
    assert drawn(things, 10, "one") != drawn(things, 10, "other")


@given(st.lists(WORDS, max_size=30))
def test_parts_and_regexes_find_the_words_they_are_of(words: list[str]) -> None:
    assert all(part in word and 4 <= len(part) < len(word) for part, word in zip(parts_of(words), words, strict=True))
    shapes = zip(word_regexes(words), words, strict=True)
    assert all(re.fullmatch(shape, word) for shape, word in shapes)


@given(st.lists(st.tuples(WORDS, WORDS), min_size=6, max_size=20))
def test_regexes_of_calls_are_regexes(calls: list[tuple[str, str]]) -> None:
    found = [re.compile(it) for it in regexes(calls)]
    left, right = calls[0]
    assert found[0].search(f"x = {left}.{right} (1)")
    assert found[5].search(".".join(calls[5]) + "(")


def test_a_sample_has_words_pairs_phrases_and_calls(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("# over the moon\nself.items.append(One)\n")
    (tmp_path / "b.py").write_bytes(b"one two three\nbroken \xff bytes\n")
    found = sampled(tmp_path.rglob("*.py"))
    assert (found.words["one"], found.words["moon"]) == (2, 1)
    assert found.phrases == ["one two three", "over the moon"]
    assert found.calls == [("items", "append")]
    assert [set(it) <= set(found.words) for it in found.pairs] == [True, True]
    assert found == sampled(tmp_path.rglob("*.py"))


# --- names ------------------------------------------------------------------------------------


@pytest.fixture
def index(tmp_path: Path) -> Path:
    path = tmp_path / "index.db"
    store = SqliteStore(path, create=True, busy_timeout_s=1)
    symbols = (
        Symbol("Repo", "class", 1, 20, bases=("IRepo<Foo>",), attributes=("Serializable",)),
        Symbol("Load", "method", 2, 6, 1, 0, stats=FunctionMetrics(calls=3)),
        Symbol("SaveAll", "method", 8, 9, 1, 0, stats=FunctionMetrics(calls=1)),
        Symbol("Store", "class", 22, 30),
        Symbol("SaveAll", "method", 23, 24, 1, 3, stats=FunctionMetrics(calls=0)),
    )
    calls = (
        Call("Load", "Load()", 8, 2),
        Call("Load", "Load()", 9, 2),
        Call("Other", "Other()", 3, 1),
        Call("SaveAll", "SaveAll()", 4, 1),
    )
    with store.writing(1):
        store.writer.add_collection("root")
        record = Record("root", "a.cs", "code", "a.cs", 1, 1, "d", "c")
        store.writer.put(record, (), symbols, calls=calls)
    store.close()
    return path


def test_names_are_read_with_how_often_they_occur(index: Path) -> None:
    with names_in(index) as names:
        assert names.definitions() == {"Load": 1, "Repo": 1, "SaveAll": 2, "Store": 1}
        assert (names.traits("base"), names.traits("attribute")) == ({"irepo": 1}, {"serializable": 1})
        assert names.places() == [Place("a.cs", 4), Place("a.cs", 8), Place("a.cs", 23)]
        saving = [Described("SaveAl", "method", owner) for owner in ("Repo", "Store")]
        assert sorted(names.described()) == [Described("Load", "method", "Repo"), *saving]
        assert names.called() == {"Load": 2, "SaveAll": 1}
        assert names.called_alone() == {Member("Load", "Repo"): 2}
        calling = {Member("Load", "Repo"): 3, Member("SaveAll", "Repo"): 1, Member("SaveAll", "Store"): 0}
        assert names.calling() == calling


# --- ripgrep ----------------------------------------------------------------------------------


def test_the_output_of_ripgrep_is_read_whatever_stands_in_the_lines() -> None:
    output = b"./a.cs\x003:x = 1:2\n./a.cs\x007:\x00\nb\xff.cs\x001:y\nnot a line\n\n"
    assert ripgrep.read(output) == {"a.cs": {3, 7}, "b\udcff.cs": {1}}


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An rg that notes what it is told and finds two files, the second time one."""
    command = tmp_path / "bin" / "rg"
    command.parent.mkdir()
    notes = tmp_path / "told"
    found = "printf 'a.cs\\0001:x\\n'; [ $(wc -l < \"$told\") -gt 1 ] || printf 'b.cs\\0002:y\\n'"
    command.write_text(f'#!/bin/sh\ntold="{notes}"\necho "$@" >> "$told"\n{found}\n')
    command.chmod(command.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{command.parent}{os.pathsep}{os.environ['PATH']}")
    return notes


def test_terms_that_must_all_be_there_are_looked_for_one_after_the_other(told: Path, tmp_path: Path) -> None:
    found, cost = ripgrep.scan(Pattern(("one", "two"), ("-w",), every=True), tmp_path)
    assert found == {"a.cs": {1}}
    assert cost.wall_ms > 0
    assert cost.cpu_ms > 0
    assert [line.partition(" -w ")[2] for line in told.read_text().splitlines()] == [
        "-e one -- .",
        "-e two -- a.cs b.cs",
    ]


def test_terms_of_which_any_will_do_are_looked_for_at_once(told: Path, tmp_path: Path) -> None:
    assert ripgrep.scan(Pattern(("one", "two")), tmp_path)[0] == {"a.cs": {1}, "b.cs": {2}}
    assert told.read_text().endswith("-e one -e two -- .\n")


DIFFERENCES = [
    ({"a": {1, 2}}, {"a": {1, 2}}, "lines", ""),
    ({"a": {1}}, {"a": {2}}, "files", ""),
    ({}, {}, "files", ""),
    ({"a": {1, 2}}, {"a": {2, 5, 6}}, "lines", "1 only in Dowse, 2 only in ripgrep, e.g. a:1"),
    ({"a": {1}}, {"b": {1}}, "files", "1 only in Dowse, 1 only in ripgrep, e.g. a:0"),
]


@pytest.mark.parametrize(("ours", "theirs", "same", "expected"), DIFFERENCES)
def test_differences(ours: dict[str, set[int]], theirs: dict[str, set[int]], same: str, expected: str) -> None:
    mine, other = ({path: frozenset(lines) for path, lines in it.items()} for it in (ours, theirs))
    assert difference(mine, other, same) == expected


# --- what processes cost ----------------------------------------------------------------------

HEAVY = "import time; held = bytearray(b'x') * 60_000_000; time.sleep(4)"
PARENT = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {HEAVY!r}])"


def test_memory_and_time_count_what_a_process_starts() -> None:
    found = footprint.run([sys.executable, "-c", PARENT], dict(os.environ))
    assert found.peak_rss_mb > 60
    assert found.peak_pss_mb > 55
    assert 0 < found.cpu_s < found.wall_s + 1


def test_a_build_that_fails_is_no_figure() -> None:
    with pytest.raises(subprocess.CalledProcessError):
        footprint.run([sys.executable, "-c", "raise SystemExit(3)"], dict(os.environ))
