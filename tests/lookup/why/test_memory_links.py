"""Links of memories in both directions, and what it takes to tell them."""

from __future__ import annotations

import pytest
from why_ground import Project, whole_project

from dowse.lookup.why_evidence import MemoryLinks
from dowse.lookup.why_target import Target
from dowse.model import Link, Record, Scope
from oracle.dict_store import DictStore, DictTables

WRITTEN = [
    "src/app/repo.py", "./src/app/repo.py", "/src/app/repo.py", "src/app/../app/repo.py", "src\\app\\repo.py",
    "/work/app/src/app/repo.py", "/work/app/src/./app/repo.py", "../src/app/repo.py", "src/app/repo.py:4-9",
    "src/app/repo.py#Repo", " src/app/repo.py ", "src/app/repo", "repo", "src/app/a:7", "repo.py", "app/repo",
    ".memories/plans/q5.md", "/work/app/.memories/plans/q5.md", "../.memories/plans/q5.md", "plans/q5.md", "q5", "Q5",
    "a", "src", "src/app", "area repo", "repo area", "test_repo", "memory:plans/q5", "commit:1a1a",
]  # fmt: skip


class Counting(DictTables):
    """Counts how often all records are gone through."""

    selected = 0

    def select(self, scope: Scope, limit: int | None = None) -> list[Record]:
        self.selected += 1
        return super().select(scope, limit)


def test_what_a_link_means_is_told_of_it(project: Project) -> None:
    project.files({"src/app/a:7": "x\n", "lib/a.py": "x = 1\n"})
    project.memory("plans/q5.md", "The five", [])
    project.memory("n.md", "n", [Link("plans", it, 1, it) for it in WRITTEN])
    links = MemoryLinks.of(project.store.view())
    (teller,) = project.store.catalog.records("n.md")
    for record in project.store.catalog.select(Scope()):
        meant = [it for it in WRITTEN if record in links.meant(teller, it)]
        told = [link.target for it, link in links.to(Target(record.path, record)) if it == teller]
        assert sorted(told) == sorted(meant), record.path


@pytest.mark.parametrize("count", [2, 200])
def test_files_are_not_gone_through_for_every_name(count: int) -> None:
    counting = Counting()
    store = DictStore(counting)
    project = whole_project(store)
    project.files({"src/a.py": "x = 1\n"})
    project.memory("n.md", "n", [Link("plans", f"topic area {it}", 1, "n") for it in range(count)])
    links = MemoryLinks.of(store.view())
    (subject,), (teller,) = store.catalog.records("src/a.py"), store.catalog.records("n.md")
    assert links.to(Target(subject.path, subject)) == []
    assert not any(links.meant(teller, it.target) for it in store.catalog.links(teller))
    assert counting.selected < 10
