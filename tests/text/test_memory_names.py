"""Which memory a name or a link means."""

from __future__ import annotations

import pytest

from dowse.text.memory_notes import MemoryNames, memory_name_in_link
from memory_notes import memory


@pytest.mark.parametrize(
    ("target", "name"),
    [
        ("memory:plan", "plan"),
        ("Memory:plan.md", "plan.md"),
        (" memory: plan#Steps ", "plan"),
        ("memory:./plan", "plan"),
        ("memory:", ""),
        ("memory:#Steps", ""),
        ("plan.md", ""),
        ("src/memory:plan", ""),
        ("", ""),
    ],
)
def test_a_link_to_a_memory_has_its_name(target: str, name: str) -> None:
    assert memory_name_in_link(target) == name


def test_the_first_kind_of_spelling_that_is_known_decides() -> None:
    names = MemoryNames.of([memory("a.markdown"), memory("a.md"), memory("B.md"), memory("b.markdown"), memory("a")])
    found = {name: it.path for name in ("a", "a.md", "a.markdown", "b", "B", "A.MD") if (it := names.find(name))}
    assert found == {
        "a": "a", "a.md": "a.md", "a.markdown": "a.markdown", "b": "b.markdown", "B": "B.md", "A.MD": "a.md",
    }  # fmt: skip
    assert names.find("c") is None


def test_casing_only_counts_where_names_differ_by_it() -> None:
    names = MemoryNames.of([memory("Plan.md")])
    assert names.find("plan") == names.find("PLAN.md") == memory("Plan.md")


def test_of_several_folders_the_newest_is_meant_by_its_path_as_by_its_name() -> None:
    new, old = memory("plan.md", at=2, collection="a"), memory("plan.md", at=1, collection="b")
    for records in ([new, old], [old, new]):
        names = MemoryNames.of(records)
        assert [names.find(it) for it in ("plan.md", "plan", "PLAN.MD")] == [new] * 3
