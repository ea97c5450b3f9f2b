"""What is beyond a budget is left out in the order of paths, in one row, and comes in when there is room again."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dowse.engine import Engine
from dowse.errors import BadInput, Unreadable
from dowse.ingest.sources.base import (
    BudgetedSource,
    Listing,
    SourceBudget,
    count_left_out,
    find_cutoff,
    format_cutoff_reason,
)
from dowse.model import Freshness, Item, SkippedItem
from support import OpenEngine, write

PLENTY = 10**12


class Given:
    """A source that lists what it is given."""

    def __init__(self, items: list[Item]) -> None:
        self.items = items

    def listing(self) -> Listing:
        return Listing(list(self.items), [("a pipe", "a named pipe")], ["closed/"])

    def read(self, item: Item) -> tuple[Item, bytes]:
        raise Unreadable(f"read {item.path}")

    def freshness(self, item: Item) -> Freshness:
        return "changed"


def listing(sizes: dict[str, int], *, max_files: int = PLENTY, max_total_bytes: int = PLENTY) -> Listing:
    items = [Item(path, size, 0) for path, size in sizes.items()]
    return BudgetedSource(Given(items), SourceBudget(max_files, max_total_bytes)).listing()


def test_what_fits_is_listed_as_it_is() -> None:
    found = listing({"b": 5, "a": 5}, max_files=2, max_total_bytes=10)
    assert [it.path for it in found.items] == ["b", "a"]
    assert found.refused == [("a pipe", "a named pipe")]


def test_one_row_stands_for_all_that_is_beyond() -> None:
    found = listing(dict.fromkeys("edcba", 1), max_files=2)
    assert [it.path for it in found.items] == ["a", "b"]
    reason = "beyond max_files (2): it and the 2 files after it in path order are left out"
    assert found.refused == [("a pipe", "a named pipe"), ("c", reason)]
    assert found.unreadable_prefixes == ["closed/"]


def test_bytes_count_too_and_a_small_file_does_not_slip_in_behind_a_large_one() -> None:
    found = listing({"a": 4_000_000, "b": 9_000_000, "c": 1}, max_total_bytes=10_000_000)
    assert [it.path for it in found.items] == ["a"]
    assert found.refused[1][1].startswith("beyond max_total_bytes (10.0 MB): it and 1 file after")


@given(
    sizes=st.dictionaries(st.text(min_size=1), st.integers(0, 20), max_size=30),
    max_files=st.integers(1, 30),
    max_total_bytes=st.integers(1, 200),
)
def test_it_is_the_longest_beginning_that_fits(sizes: dict[str, int], max_files: int, max_total_bytes: int) -> None:
    taken = [it.path for it in listing(sizes, max_files=max_files, max_total_bytes=max_total_bytes).items]
    ordered = sorted(sizes)
    fits = [
        count
        for count in range(len(ordered) + 1)
        if count <= max_files and sum(sizes[it] for it in ordered[:count]) <= max_total_bytes
    ]
    assert sorted(taken) == ordered[: max(fits)]


def test_a_part_keeps_to_the_cut_of_the_whole() -> None:
    cut = SkippedItem("c", "m", "beyond max_files (9): …", 0, -1)
    items = [Item(path, 1, 0) for path in ("z", "m", "a")]
    found = BudgetedSource(Given(items), SourceBudget(9, PLENTY), cut).listing()
    assert [it.path for it in found.items] == ["a"]
    assert found.refused[1:] == [("m", cut.reason)]
    assert BudgetedSource(Given(items[:1]), SourceBudget(9, PLENTY), cut).listing().refused[1:] == []


def test_the_rest_of_a_source_is_its_own() -> None:
    source = BudgetedSource(Given([]), SourceBudget(1, 1))
    assert source.freshness(Item("a", 1, 1)) == "changed"
    with pytest.raises(Unreadable, match="read a"):
        source.read(Item("a", 1, 1))


def test_each_collection_has_its_own_cut() -> None:
    rows = [
        SkippedItem("a", "x", "a broken symbolic link", 0, -1),
        SkippedItem("b", "y", "beyond max_files (1): …", 0, -1),
    ]
    assert (find_cutoff(rows, "a"), find_cutoff(rows, "b")) == (None, rows[1])


@given(st.integers(0, 10**9), st.sampled_from(["max_files (1,000)", "max_total_bytes (1,234.5 MB)"]))
def test_a_row_tells_how_many_it_stands_for(others: int, limit: str) -> None:
    row = SkippedItem("a", "x", format_cutoff_reason(limit, others, "older commit", "older commits"), 0, -1)
    assert (count_left_out(row), find_cutoff([row], "a")) == (1 + others, row)


@pytest.mark.parametrize(
    ("reason", "count"),
    [
        ("beyond max_commits (9): it is left out", 1),
        ("beyond max_commits (9): it and 1 older commit are left out", 2),
        ("beyond max_commits (9): it and the 1 older commits are left out", 2),  # as it was once said
        (format_cutoff_reason("max_commits (9)", None, "older commit", "older commits"), 1),
        ("beyond max_commits (9): it and the , older", 1),
        ("a broken symbolic link: it and the 7 others", 1),
    ],
)
def test_what_tells_of_no_others_stands_for_itself(reason: str, count: int) -> None:
    assert count_left_out(SkippedItem("a", "x", reason, 0, -1)) == count


# --- in an index ---


def paths(engine: Engine) -> list[str]:
    return sorted({it.record.path for it in engine.export()})


def test_an_index_keeps_to_its_budget_and_says_so(root: Path, open_engine: OpenEngine) -> None:
    write(root, {f"{name}.md": f"# {name}\n\nText of {name}.\n" for name in "abcdef"})
    engine = open_engine(max_files=4)
    report = engine.index([root])
    assert paths(engine) == ["a.md", "b.md", "c.md", "d.md"]
    assert report.notes[0].startswith("e.md is beyond max_files (4): it and 1 file after it")
    assert [it.path for it in engine.status().skipped] == ["e.md"]
    assert "4 of 6 files indexed, 2 skipped" in engine.completeness().sentence(0)
    again = engine.index([root])
    assert (again.indexed, again.unchanged + again.touched) == (0, 4)


def test_a_new_file_takes_its_place_by_its_path_as_in_a_new_index(root: Path, open_engine: OpenEngine) -> None:
    write(root, {f"{name}.md": f"text of {name}" for name in "bcd"})
    engine = open_engine(max_files=3)
    engine.index([root])
    write(root, {"a.md": "text of a"})
    engine.index([root])
    assert paths(engine) == ["a.md", "b.md", "c.md"]
    (root / "a.md").unlink()
    engine.index([root])
    assert paths(engine) == ["b.md", "c.md", "d.md"]
    assert engine.status().skipped == ()


def test_a_part_that_lies_beyond_stays_out(root: Path, open_engine: OpenEngine) -> None:
    write(root, {"a/1.md": "one", "a/2.md": "two", "z/3.md": "three", "z/4.md": "four"})
    engine = open_engine(max_files=2)
    engine.index([root])
    write(root, {"z/5.md": "five"})
    engine.index([root / "z"])
    assert paths(engine) == ["a/1.md", "a/2.md"]
    assert [it.path for it in engine.status().skipped] == ["z/3.md"]


def test_where_indexes_are_kept_is_never_indexed(root: Path, tmp_path: Path, open_engine: OpenEngine) -> None:
    engine = open_engine(allow_any_root=True)
    inside = tmp_path / "data" / "indexes"
    inside.mkdir(parents=True)
    for place in (tmp_path / "data", inside):
        with pytest.raises(BadInput, match=r"holds Dowse.s indexes"):
            engine.index([place])


@pytest.mark.parametrize("place", ["/proc", "/sys", "/dev", "/proc/self/fd"])
def test_what_the_system_makes_up_is_never_indexed(place: str, open_engine: OpenEngine) -> None:
    with pytest.raises(BadInput, match="is a virtual file system"):
        open_engine(allow_any_root=True).index([Path(place)])
