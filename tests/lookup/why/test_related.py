"""Neighbours of anything, by typed links in both directions, so many of each kind."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from why_ground import FIRST, SECOND, THIRD, Project, whole_project

from dowse.errors import BadInput
from dowse.lookup.related import RelatedAnswer, find_related
from dowse.model import Chunk, Link, public_chunk_id
from dowse.store.types import ChunkInput
from oracle.dict_store import DictStore

REPO = "src/app/repo.py"


def ask(project: Project, target: str, *kinds: str, limit: int = 5, collection: str | None = None) -> RelatedAnswer:
    return find_related(project.bare(), target, kinds, limit, collection)


def ends(answer: RelatedAnswer) -> dict[str, list[str]]:
    """By direction and kind, where each neighbour is; names of what is not indexed."""
    return {
        f"{it.direction} {it.kind}": [one.record.path if one.record else one.name for one in it.shown]
        for it in answer.groups
    }


def test_a_file(project: Project) -> None:
    assert ends(ask(project, REPO)) == {
        "in import": ["src/app/service.py", "tests/test_repo.py"],
        "in mentions": ["why-save.md"],
        "in anchored": ["anchored.md"],
        "in links_to": ["docs/guide.md"],
        "in touches": [THIRD, SECOND],
        "in changes_with": ["src/app/service.py"],
    }


def test_a_file_of_code_leads_to_what_it_imports(project: Project) -> None:
    (out,) = [it for it in ask(project, "tests/test_repo.py").groups if it.direction == "out"]
    assert (out.kind, [it.name for it in out.shown], out.shown[0].how) == ("import", ["repo.py"], "line 1")
    project.files({"src/app/alone.py": "import json\n"})
    assert ends(ask(project, "src/app/alone.py")) == {"out import": ["json"]}


def test_a_module_that_is_imported_from_its_package(project: Project) -> None:
    project.files({"src/app/__init__.py": "", "src/app/late.py": "from app import repo, service\n"})
    assert ends(ask(project, "src/app/late.py")) == {"out import": [REPO, "src/app/service.py"]}
    project.files({"src/app/late.py": "from . import service\n"})
    assert "src/app/late.py" in ends(ask(project, "src/app/service.py"))["in import"]


def test_a_definition(project: Project) -> None:
    found = ask(project, "Repo.save")
    assert ends(found) == {
        "in calls": ["src/app/service.py", "tests/test_repo.py"],
        "out calls": [REPO],
        "in anchored": ["anchored.md"],
        "in mentions": ["why-save.md"],
        "in changes": [THIRD],
        "in changes_with": ["src/app/service.py"],
    }
    callee = next(it for it in found.groups if it.direction == "out").shown[0]
    assert (callee.name, callee.line, callee.how, callee.sure) == ("store", 11, "line 5", "exact")


def test_types_above_and_below(project: Project) -> None:
    project.files({"src/app/disk.py": "from app.repo import Repo\n\n\nclass Disk(Repo, Elsewhere):\n    pass\n"})
    assert ends(ask(project, "Disk", "inherits")) == {"out inherits": [REPO, "Elsewhere"]}
    assert ends(ask(project, "Repo", "inherits")) == {"in inherits": ["src/app/disk.py"]}


@pytest.mark.parametrize("target", [SECOND, SECOND[:7], f"commit:{SECOND[:4]}", SECOND[:7].upper()])
def test_a_commit_by_its_hash_or_the_beginning_of_it(project: Project, target: str) -> None:
    project.memory("about.md", "x", [Link("anchored", f"commit:{SECOND[:9]}", 0, "")])
    answer = ask(project, target)
    assert ends(answer) == {
        "out touches": [REPO, "src/app/service.py"],
        "out renames": ["src/old.py"],
        "in anchored": ["about.md"],
    }
    touched = answer.groups[0].shown[1]
    assert (touched.line, touched.how) == (1, "M")
    assert answer.groups[1].shown[0].how == f"src/old.py to {REPO}"


def test_what_a_commit_changed(project: Project) -> None:
    (changes,) = ask(project, THIRD, "changes").groups
    (one,) = changes.shown
    assert one.record and (one.name, one.record.path, one.line, one.text) == (
        "Repo.save", REPO, 4, "def save(self, item):"
    )  # fmt: skip


def test_a_bare_name_is_of_the_only_one_that_has_it_or_of_the_file(project: Project) -> None:
    two = "".join(f"class {it}:\n    def __init__(self):\n        pass\n\n\n" for it in ("Token", "Other"))
    project.files({"src/two.py": f"{two}def load():\n    pass\n\n\nclass Far:\n    def load(self):\n        pass\n"})
    changed = ["src/two.py#__init__", "src/two.py#Far", "src/two.py#load", f"{REPO}#load", "src/two.py#gone"]
    project.commit("4d" * 20, "Change them", 4, [Link("changes", it, 7, f"in {it}") for it in changed], THIRD)
    (changes,) = ask(project, "4d" * 20, "changes").groups
    assert [it.name for it in changes.shown] == [
        "src/two.py#__init__", "Far", "load", "Repo.load", "src/two.py#gone",
    ]  # fmt: skip
    assert {it.how for it in changes.shown} == {""}
    assert all(it.record for it in changes.shown)


def test_changes_are_known_by_the_name_alone_too(project: Project) -> None:
    project.commit("4d" * 20, "Far", 4, [Link("changes", f"{REPO}#save", 9, "def save(self):")], THIRD)
    assert ends(ask(project, "Repo.save", "changes")) == {"in changes": ["4d" * 20, THIRD]}
    project.commit("5e" * 20, "Gone", 5, [Link("changes", "src/gone.py#Old.drop", 9, "x")], "4d" * 20)
    project.commit("6f" * 20, "Gone", 6, [Link("changes", "src/gone.py#drop", 9, "x")], "5e" * 20)
    assert ends(ask(project, "Old.drop")) == {"in changes": ["6f" * 20, "5e" * 20]}


@pytest.mark.parametrize("target", ["why-save.md", "why-save", "memory:why-save", "memory:why-save.md"])
def test_a_memory_by_its_name(project: Project, target: str) -> None:
    project.memory("newer.md", "x", [Link("supersedes", "memory:why-save", 1, "instead of [[memory:why-save]]")])
    project.memory("ghost.md", "x", [Link("mentions", "src/nowhere.py", 1, "[[src/nowhere.py]]")])
    assert ends(ask(project, target)) == {"out mentions": [REPO], "in supersedes": ["newer.md"]}
    assert ends(ask(project, "ghost")) == {"out mentions": ["src/nowhere.py"]}
    assert ends(ask(project, "newer")) == {"out supersedes": ["why-save.md"]}
    assert ask(project, "newer").groups[0].shown[0].warning == "superseded by newer.md"


def test_an_anchor_leads_to_the_definition(project: Project) -> None:
    (group,) = ask(project, "anchored.md").groups
    assert [(it.name, it.line, it.text) for it in group.shown] == [("Repo.save", 4, "")]


@pytest.mark.parametrize(
    "written",
    [
        "./src/app/repo.py", "src/app/repo.py#store", "src/app/repo.py#L5", "src/app/repo.py:5", "src/app/repo.py:5-7",
        "src/app/repo", "repo", "/work/app/src/app/repo.py", "../src/app/repo.py", "src/app/../app/repo.py",
        "src\\app\\repo.py", "/src/app/repo.py",
    ],
)  # fmt: skip
def test_a_memory_may_write_a_path_in_many_ways(project: Project, written: str) -> None:
    project.memory("n.md", "n", [Link("plans", written, 1, "n")])
    assert ends(ask(project, REPO, "plans")) == {"in plans": ["n.md"]}
    assert ends(ask(project, "memory:n")) == {"out plans": [REPO]}
    (one,) = ask(project, REPO, "plans").groups[0].shown
    assert one.how == written


@pytest.mark.parametrize(
    "written", ["src/app", "app/repo.py", "../app/repo.py", "/work/other/src/app/repo.py", "test_"]
)
def test_what_no_file_is_called_stays_a_ghost(project: Project, written: str) -> None:
    project.memory("n.md", "n", [Link("plans", written, 1, "n")])
    assert ends(ask(project, "memory:n")) == {"out plans": [written]}
    assert ends(ask(project, REPO, "plans")) == {}


def test_a_path_without_suffix_means_a_file_only_if_there_is_no_other(project: Project) -> None:
    project.memory("n.md", "n", [Link("plans", "src/app/repo", 1, "n")])
    project.files({"src/app/repo.md": "# Repo\n"})
    assert ends(ask(project, "memory:n")) == {"out plans": ["src/app/repo"]}
    assert ends(ask(project, REPO, "plans")) == {}


def test_a_path_with_its_root_is_of_that_root(project: Project) -> None:
    project.files({REPO: "x = 1\n"}, "/work/twin")
    project.memory("n.md", "n", [Link("plans", f"/work/twin/{REPO}", 1, "n")])
    assert ends(ask(project, REPO, "plans", collection="twin")) == {"in plans": ["n.md"]}
    assert ends(ask(project, REPO, "plans", collection="app")) == {}


@pytest.mark.parametrize(
    "written", ["memory:q5", "memory:plans/q5#Steps", "memory:Plans/Q5.md", "plans/q5", "plans/q5.md", "q5", "five"]
)
def test_a_memory_may_write_another_in_many_ways(project: Project, written: str) -> None:
    project.memory("plans/q5.md", "The five", [])
    (record,) = project.store.catalog.records("plans/q5.md")
    project.store.writer.put(replace(record, aliases=("five",)), (), links=())
    project.memory("q6.md", "x", [Link("depends_on", written, 1, "x")])
    assert ends(ask(project, "memory:q6")) == {"out depends_on": ["plans/q5.md"]}
    for asked in ("memory:plans/q5", "memory:q5", ".memories/plans/q5.md", "/work/app/.memories/plans/q5.md"):
        assert ends(ask(project, asked)) == {"in depends_on": ["q6.md"]}


def test_memories_that_are_gone_are_known_by_who_names_them(project: Project) -> None:
    project.memory("q6.md", "x", [Link("depends_on", "memory:gone.md", 1, "x"), Link("plans", "./src/gone.py", 1, "x")])
    assert ends(ask(project, "memory:gone.md")) == {"in depends_on": ["q6.md"]}
    assert ends(ask(project, "src/gone.py")) == {"in plans": ["q6.md"]}
    assert ends(ask(project, "memory:q6")) == {"out depends_on": ["memory:gone.md"], "out plans": ["./src/gone.py"]}


def test_memory_and_file_of_one_name(project: Project) -> None:
    """A path counts from where the link stands; a file of a path is meant before a memory of that title."""
    project.files({"plan.md": "# Plan\n", "notes/x.py": "x = 1\n"})
    project.memory("plan.md", "x", [])
    project.memory("x.md", "x", [])
    (record,) = project.store.catalog.records("x.md")
    project.store.writer.put(replace(record, title="notes/x.py"), (), links=())
    project.memory("n.md", "n", [Link("plans", "plan.md", 1, "n"), Link("fixes", "notes/x.py", 1, "n")])
    found = ask(project, "memory:n")
    assert [one.record and (one.record.collection, one.record.path) for it in found.groups for one in it.shown] == [
        (".memories", "plan.md"), ("app", "notes/x.py"),
    ]  # fmt: skip


def test_a_link_to_a_file_is_none_to_a_memory_of_that_path(project: Project) -> None:
    project.files({"plan.md": "# Plan\n", "README.md": "# Read\n\nThe [plan](plan.md).\n"})
    project.memory("plan.md", "x", [])
    project.commit("4d" * 20, "Plan", 4, [Link("touches", "plan.md", 1, "A")], THIRD)
    assert ends(ask(project, "memory:plan")) == {}
    assert ends(ask(project, "plan.md", collection="app"))["in links_to"] == ["README.md"]


def test_anchors_of_a_definition_are_of_what_holds_it_and_of_what_lies_in_it(project: Project) -> None:
    project.memory("class.md", "x", [Link("anchored", f"{REPO}#Repo", 1, "0")])
    assert ends(ask(project, REPO, "anchored")) == {"in anchored": ["anchored.md", "class.md"]}
    assert ends(ask(project, "Repo", "anchored")) == {"in anchored": ["class.md", "anchored.md"]}
    assert ends(ask(project, "Repo.save", "anchored")) == {"in anchored": ["anchored.md", "class.md"]}
    assert ends(ask(project, f"{REPO}:8", "anchored")) == {"in anchored": ["class.md"]}
    assert ends(ask(project, f"{REPO}#store", "anchored")) == {}


def test_a_chunk_by_its_id(project: Project) -> None:
    answer = ask(project, public_chunk_id("docs/guide.md", 0))
    assert answer.subject and answer.subject.record and answer.subject.record.path == "docs/guide.md"


def test_a_chunk_of_a_commit_stands_for_the_commit(project: Project) -> None:
    (record,) = project.store.catalog.records(FIRST, "app.git")
    pieces = [ChunkInput(Chunk(at, "delta", 1 + 100 * at, 100 + 100 * at), bytes(16)) for at in range(2)]
    project.store.writer.put(record, pieces, (), project.store.catalog.links(record))
    asked = public_chunk_id(FIRST, 1)
    assert ask(project, asked) == replace(ask(project, f"commit:{FIRST}"), target=asked)


def test_a_document_leads_to_what_it_links_to_and_a_ghost_is_known_by_who_names_it(project: Project) -> None:
    assert ends(ask(project, "docs/guide.md")) == {"out links_to": [REPO]}
    answer = ask(project, "src/old.py")
    assert answer.notes == ("src/old.py is not indexed; this lists what mentions it",)
    assert ends(answer) == {"in renames": [SECOND], "in touches": [FIRST]}


def test_no_kind_drowns_the_rest_and_all_are_counted(project: Project) -> None:
    for it in range(30):
        project.memory(f"note{it:02}.md", "n", [Link("mentions", REPO, 1, "n")])
    groups = {(it.direction, it.kind): it for it in ask(project, REPO, limit=3).groups}
    assert (len(groups["in", "mentions"].shown), groups["in", "mentions"].total) == (3, 31)
    assert groups["in", "links_to"].total == 1


def test_only_the_kinds_that_are_wanted(project: Project) -> None:
    assert set(ends(ask(project, REPO, "links_to", "import"))) == {"in import", "in links_to"}
    none = ask(project, REPO, "plans")
    assert none.groups == ()
    assert none.notes == (
        "nothing related by plans; kinds found: import, mentions, anchored, links_to, touches, changes_with",
    )


def test_files_that_change_together_in_small_commits(project: Project) -> None:
    (group,) = ask(project, REPO, "changes_with").groups
    assert group.shown[0].how == f"in 2 of 3 commits, last in {SECOND[:12]}"
    project.commit("4" * 40, "Once", 4, [Link("touches", REPO, 1, "M"), Link("touches", "once.py", 1, "M")], THIRD)
    many = [Link("touches", f"file{it}.py", 1, "M") for it in range(40)]
    project.commit("5" * 40, "Everything", 5, [Link("touches", REPO, 1, "M"), *many], "4" * 40)
    project.commit("6" * 40, "Everything again", 6, [Link("touches", REPO, 1, "M"), *many], "5" * 40)
    (group,) = ask(project, REPO, "changes_with").groups
    assert [it.name for it in group.shown] == ["src/app/service.py"]


def test_two_roots_and_beginnings_of_several_commits_need_a_choice(project: Project) -> None:
    project.files({REPO: "x = 1\n"}, "/work/twin")
    answer = ask(project, REPO)
    assert answer.subject is None and len(answer.candidates) == 2
    assert ask(project, REPO, collection="twin").subject
    alike = FIRST[:4] + "f" * 36
    project.commit(alike, "Alike", 9, [], THIRD)
    assert [it.name for it in ask(project, FIRST[:4]).candidates] == [alike, FIRST]


def test_what_is_alone_says_so_and_what_is_unknown_has_near_names(project: Project) -> None:
    project.files({"lonely.md": "# Lonely\n"})
    assert ask(project, "lonely.md").notes == ("no links to or from it",)
    unknown = ask(project, "src/app/repos.py")
    assert unknown.subject is None and "no file, symbol or link named" in unknown.notes[0]


@pytest.mark.parametrize("limit", [0, -1, 101, 10**9])
def test_absurd_limits_are_refused(project: Project, limit: int) -> None:
    with pytest.raises(BadInput, match="the limit must be 1 to 100"):
        ask(project, REPO, limit=limit)


@pytest.fixture(scope="module")
def small() -> Project:
    return whole_project(DictStore())


@given(target=st.text(max_size=40), kind=st.text(max_size=10))
def test_anything_is_answered_or_refused(small: Project, target: str, kind: str) -> None:
    try:
        answer = ask(small, target, kind)
    except BadInput as error:
        assert "\n" not in str(error)
    else:
        assert answer.subject or answer.candidates or answer.notes
