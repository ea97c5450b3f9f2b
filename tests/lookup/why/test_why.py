"""From a line or a name to its definition, callers, commits, documents and memories, each with its evidence."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from why_ground import FIRST, OTHER, REPO, SECOND, THIRD, Project, whole_project

from dowse.callgraph.facts import CallQuery
from dowse.errors import BadInput
from dowse.lookup.why import explain
from dowse.lookup.why_target import RelatedItem, WhyAnswer
from dowse.model import Link
from dowse.store.base import Store
from dowse.store.types import Definition
from oracle.dict_store import DictStore


def section(answer: WhyAnswer, name: str) -> tuple[RelatedItem, ...]:
    return next(it.shown for it in answer.sections if it.name == name)


def ask(project: Project, target: str, budget: int = 1500, collection: str | None = None) -> WhyAnswer:
    return explain(project.bare(), target, budget, collection)


def test_a_line_has_all_of_it(project: Project) -> None:
    answer = ask(project, "src/app/repo.py:5")
    assert answer.subject is not None and answer.subject.name == "Repo.save"
    assert (answer.subject.first_line, answer.subject.last_line) == (4, 5)
    assert answer.source.lines == ("    def save(self, item):", "        return store(item)")
    assert [(it.name, it.line, it.confidence) for it in section(answer, "callers")] == [("Service.keep", 9, "exact")]
    assert [(it.name, it.line) for it in section(answer, "tests")] == [("test_save", 5)]
    commits = {it.record.path: it for it in section(answer, "commits") if it.record}
    assert list(commits) == [THIRD, FIRST, SECOND]
    assert (commits[THIRD].kind, commits[THIRD].how) == (
        "wrote", "last touched line 5"
    )  # fmt: skip
    assert (commits[FIRST].kind, commits[FIRST].how) == (
        "wrote", "last touched line 4, added the file"
    )  # fmt: skip
    assert (commits[SECOND].kind, commits[SECOND].how) == ("renames", "moved the file from src/old.py")
    (guide,) = section(answer, "documents")
    assert guide.record and (guide.record.path, guide.line, guide.kind) == ("docs/guide.md", 3, "links_to")
    memories = {it.record.path: it for it in section(answer, "memories") if it.record}
    assert {path: it.kind for path, it in memories.items()} == {"anchored.md": "anchored", "why-save.md": "mentions"}
    assert (memories["anchored.md"].how, memories["anchored.md"].text) == (
        "src/app/repo.py#Repo.save", "Nobody may retry here."
    )  # fmt: skip
    assert answer.notes == ()


def test_who_wrote_the_line_comes_first_then_the_newest_and_the_oldest(project: Project) -> None:
    found = section(ask(project, "src/app/repo.py:4"), "commits")
    assert [it.record.path for it in found if it.record] == [FIRST, THIRD, SECOND]
    named = section(ask(project, "Repo.save"), "commits")
    assert [it.record.path for it in named if it.record] == [THIRD, FIRST, SECOND]


@pytest.mark.parametrize(
    "target",
    [
        "Repo.save", "repo.Repo.save", "app.repo.Repo.save", "Repo::save", "Repo#save", "save", "save()", "repo.save",
        "src/app/repo.py#Repo.save", "src/app/repo.py#save", "repo.py:5", "./src/app/repo.py:4", "src/app/repo.py:4:9",
        "/work/app/src/app/repo.py:5", "src\\app\\repo.py:5", "src/./app/../app/repo.py:5", "src/app/repo.py:4-5",
        " Repo.save ",
    ],
)  # fmt: skip
def test_many_ways_to_name_it(project: Project, target: str) -> None:
    subject = ask(project, target).subject
    assert subject is not None and (subject.name, subject.first_line) == ("Repo.save", 4)


def test_a_class_has_the_changes_of_its_members_and_the_callers_of_its_constructor(project: Project) -> None:
    answer = ask(project, "Repo")
    assert [it.name for it in section(answer, "callers")] == ["main"]
    assert {it.record.path for it in section(answer, "commits") if it.record} == {FIRST, SECOND, THIRD}


def test_a_line_outside_of_definitions_and_a_whole_file(project: Project) -> None:
    line = ask(project, "src/app/service.py:1")
    assert line.subject is not None and line.subject.definition is None
    assert line.source.lines == ("from app.repo import Repo, store",)
    assert [it.record.path for it in section(line, "commits") if it.record] == [FIRST]
    whole = ask(project, "src/app/repo.py")
    assert [(it.kind, it.name) for it in section(whole, "callers")] == [("import", "src/app/service.py")]
    assert [it.name for it in section(whole, "tests")] == ["tests/test_repo.py"]
    assert [it.record.path for it in section(whole, "commits") if it.record] == [THIRD, FIRST, SECOND]


def test_a_field_has_no_callers_and_says_so(project: Project) -> None:
    answer = ask(project, "Repo.limit")
    assert answer.notes == ("a field has no callers; use `grep` to find its uses",)


def test_a_language_that_is_not_known_says_so(project: Project) -> None:
    project.files({"src/tool.zig": "pub fn main() void {}\n"})
    answer = ask(project, "src/tool.zig:1")
    assert answer.subject is not None and answer.subject.definition is None
    assert "no callers are known: src/tool.zig has no known definitions" in answer.notes


def test_a_section_of_a_document_is_a_definition_too(project: Project) -> None:
    answer = ask(project, "docs/guide.md:7")
    assert answer.subject is not None and answer.subject.name == "Guide.Saving"


def test_words_of_prose_are_no_mentions(project: Project) -> None:
    """`save` and `Repo` stand in other.md as words, not as code."""
    for target in ("Repo.save", "Repo"):
        assert "docs/other.md" not in {it.record.path for it in section(ask(project, target), "documents") if it.record}
    project.files({"docs/other.md": OTHER + "\nCall `Repo` first.\n"})
    found = {it.record.path: it for it in section(ask(project, "Repo"), "documents") if it.record}
    assert (found["docs/other.md"].kind, found["docs/other.md"].line) == ("names", 5)
    assert found["docs/other.md"].text == "Call `Repo` first."


def test_stale_archived_and_superseded_memories_say_so_and_come_last(project: Project) -> None:
    project.stale["anchored.md"] = ("src/app/repo.py#Repo.save changed in 333333333333",)
    project.memory("old.md", "x [[src/app/repo.py]]", [Link("plans", "src/app/repo.py", 1, "x")], status="archived")
    project.memory("newer.md", "y", [Link("supersedes", "memory:old", 1, "y")])
    found = {it.record.path: it.warning for it in section(ask(project, "Repo.save"), "memories") if it.record}
    assert next(iter(found)) == "why-save.md" and found["why-save.md"] == ""
    assert found["anchored.md"] == "src/app/repo.py#Repo.save changed in 333333333333"
    assert found["old.md"] == "superseded by newer.md; archived"


def test_only_memories_that_can_be_shown_are_compared_with_the_code(project: Project) -> None:
    about = Link("plans", "src/app/repo.py", 1, "x")
    for it in range(300):
        project.memory(f"n{it:03}.md", "x", [about], status="archived" if it < 150 else "active")
    project.stale["n200.md"] = ("src/app/repo.py has changed",)
    answer = ask(project, "src/app/repo.py")
    (memories,) = [it for it in answer.sections if it.name == "memories"]
    assert memories.total == 302 and 0 < len(memories.shown) <= len(project.judged) < 150
    assert {it.warning for it in memories.shown} == {""}


def test_whichever_memory_says_that_one_is_superseded(project: Project) -> None:
    about = Link("plans", "src/app/repo.py", 1, "x")
    project.memory("first.md", "x", [about, Link("superseded_by", "memory:Second", 1, "x")])
    project.memory("second.md", "x", [about])
    project.memory("heads.md", "x", [about, Link("supersedes", "memory:tails", 1, "x")])
    project.memory("tails.md", "x", [about, Link("supersedes", "memory:heads", 1, "x")])
    found = {it.record.path: it.warning for it in section(ask(project, "Repo.save"), "memories") if it.record}
    assert {name: told for name, told in found.items() if told} == {"first.md": "superseded by second.md"}


def test_several_of_a_name_are_listed_and_need_a_choice(project: Project) -> None:
    project.files({"src/app/disk.py": "class Disk:\n    def save(self):\n        pass\n"})
    answer = ask(project, "save")
    assert answer.subject is None and answer.sections == ()
    assert [(it.name, it.first_line) for it in answer.candidates] == [("Disk.save", 2), ("Repo.save", 4)]
    assert answer.notes == ("'save' matches 2; pass one as path:line",)
    assert ask(project, "Disk.save").subject is not None


def test_a_whole_name_is_meant_before_the_end_of_another(project: Project) -> None:
    project.files({"src/app/disk.py": "class Disk:\n    def store(self):\n        pass\n"})
    answer = ask(project, "store")
    assert answer.subject is not None and answer.subject.name == "store"
    assert answer.notes == ("other matches: Disk.store (src/app/disk.py:2)",)


def test_two_roots_with_the_same_path(project: Project) -> None:
    twin = project.files({"src/app/repo.py": REPO, "docs/guide.md": "See `src/app/repo.py`.\n"}, "/work/twin").name
    project.memory("twin.md", "z [[src/app/repo.py]]", [Link("mentions", "src/app/repo.py", 1, "z")], "/work/twin")
    answer = ask(project, "src/app/repo.py:5")
    assert answer.subject is None and "and its collection" in answer.notes[0]
    assert {it.record.collection for it in answer.candidates if it.record} == {"app", twin}
    mine, other = ask(project, "Repo.save", collection="app"), ask(project, "src/app/repo.py:5", collection=twin)
    assert "twin.md" not in {it.record.path for it in section(mine, "memories") if it.record}
    assert [it.record.path for it in section(other, "memories") if it.record] == ["twin.md"]
    assert [it.record.collection for it in section(other, "documents") if it.record] == [twin]
    assert section(other, "commits") == ()
    assert "src/app/repo.py is in no indexed git history" in other.notes
    assert ask(project, "/work/twin/src/app/repo.py:5").subject == other.subject


def test_another_file_of_a_former_name_is_another(project: Project) -> None:
    """After the move, a new file at the old place does not belong to the life of this one."""
    project.commit("4" * 40, "Something new at the old place", 4, [
        Link("touches", "src/old.py", 1, "A"), Link("changes", "src/old.py#Repo.save", 1, "x"),
    ], THIRD)  # fmt: skip
    found = {it.record.path for it in section(ask(project, "Repo.save"), "commits") if it.record}
    assert found == {FIRST, SECOND, THIRD}


def test_something_that_is_gone_is_known_by_what_is_said_of_it(project: Project) -> None:
    answer = ask(project, "src/old.py")
    assert answer.subject is not None and answer.subject.record is None
    assert {it.record.path for it in section(answer, "commits") if it.record} == {FIRST, SECOND}
    assert answer.notes == ("src/old.py is not indexed; this lists what mentions it",)


def test_what_is_unknown_has_near_names(project: Project) -> None:
    answer = ask(project, "Repo.svae")
    assert answer.subject is None and answer.notes[0].startswith("no file, symbol or link named 'Repo.svae'")
    assert "Repo.save" in ask(project, "Repo.saves").near
    assert "src/app/repo.py" in ask(project, "src/repo.py:3").near


def test_without_a_history_it_says_so(store: Store) -> None:
    project = Project(store)
    project.files({"a.py": REPO})
    assert ask(project, "Repo.save").notes == ("no git history is indexed; in a git repository, `dowse index` adds it",)


def test_what_blame_can_not_tell_is_a_note(project: Project) -> None:
    project.problem = "its authors are unknown: it took too long"
    project.written["src/app/repo.py", 5] = "9" * 40
    answer = ask(project, "Repo.save")
    assert answer.notes == (project.problem, "commits that wrote its lines but are not indexed yet: 1")


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("", "the target is empty"),
        (" \n", "the target is empty"),
        ("x" * 10_000, "at most 1,000 characters"),
        ("src/app/repo.py:0", "line numbers start at 1"),
        ("src/app/repo.py:999999999", "has 12 lines; line 999,999,999 is beyond its end"),
    ],
)
def test_bad_targets_are_refused(project: Project, target: str, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        ask(project, target)


@pytest.mark.parametrize("budget", [149, 0, -1, 10**9])
def test_absurd_budgets_are_refused(project: Project, budget: int) -> None:
    with pytest.raises(BadInput, match="the budget must be 150 to 100,000 tokens"):
        ask(project, "Repo", budget)


@pytest.mark.parametrize(
    "target",
    [
        "..", "../../etc/passwd", "/", "-x", "--help", ":", "#", ":5", "#x", "x#", "a\0b", "\ud800", "[a-", "(?", "*",
        'NEAR("a" b)', '" OR 1=1', "a AND", "%", "_", ".", "...", "::", "()", "commit:", "commit:zz", "memory:",
        "memory:..", "0" * 40, "é" * 500, "🦊", "src/app", "src/app/", "C:\\x:3", "x:99999999999999999999",
    ],
)  # fmt: skip
def test_hostile_targets_find_nothing(project: Project, target: str) -> None:
    answer = ask(project, target)
    assert answer.subject is None and not answer.candidates and len(answer.notes[0]) < 400


@pytest.mark.parametrize("target", ["src/app/repo.py#Repo.drop", "Repo.drop", "Repo::drop", "Repo.drop()"])
def test_a_definition_that_is_gone_is_told_by_commits_and_memories(project: Project, target: str) -> None:
    gone = "src/app/repo.py#Repo.drop"
    project.commit("4d" * 20, "Drop it", 4, [Link("changes", gone, 6, "def drop(self):")], THIRD)
    project.memory("drop.md", "Dropped for good", [Link("anchored", gone, 1, "0")])
    answer = ask(project, target)
    assert answer.subject and (answer.subject.name, answer.subject.record) == (gone, None)
    assert [(it.name, it.how) for it in section(answer, "commits")] == [("Drop it", "changed def drop(self):")]
    assert [it.text for it in section(answer, "memories")] == ["Dropped for good"]
    assert answer.notes == (f"{gone} is not indexed; this lists what mentions it",)


def test_commits_may_know_a_definition_by_its_own_name_alone(project: Project) -> None:
    links = [Link("changes", f"src/app/repo.py#{it}", 9, f"def {it}(self):") for it in ("save", "load")]
    touched = Link("touches", "src/app/repo.py", 9, "M")
    project.commit("4d" * 20, "Far from the class", 4, [touched, links[0]], THIRD)
    project.commit("5e" * 20, "Load", 5, [touched, links[1]], "4d" * 20)
    assert "Far from the class" in [it.name for it in section(ask(project, "Repo.save"), "commits")]
    assert "Load" not in [it.name for it in section(ask(project, "Repo.save"), "commits")]
    assert {"Load", "Far from the class"} <= {it.name for it in section(ask(project, "Repo"), "commits")}


def test_a_name_that_several_have_tells_of_none_but_whose_whole_name_it_is(project: Project) -> None:
    more = "\n\nclass Disk:\n    def save(self):\n        pass\n\n\ndef load():\n    pass\n"
    project.files({"src/app/repo.py": REPO + more})
    links = [Link("changes", f"src/app/repo.py#{it}", 9, f"def {it}(self):") for it in ("save", "load")]
    project.commit("4d" * 20, "Either", 4, [Link("touches", "src/app/repo.py", 9, "M"), *links], THIRD)
    for target, told in {"Repo.save": False, "Disk.save": False, "Repo.load": False, "repo.py#load": True}.items():
        found = [it for it in section(ask(project, target), "commits") if it.name == "Either"]
        assert bool(found and found[0].kind == "changes") == told, target


@pytest.mark.parametrize("target", ["Old.drop", "src/gone.py#Old.drop", "space.Old.drop"])
def test_what_is_gone_is_known_by_its_shorter_names_too(project: Project, target: str) -> None:
    for at, name in enumerate(("Old.drop", "drop", "Old.keep")):
        links = [Link("changes", f"src/gone.py#{name}", 6, f"of {name}")]
        project.commit(f"{4 + at}d" * 20, f"Change {at}", 4 + at, links, THIRD)
    assert {it.name for it in section(ask(project, target), "commits")} == {"Change 0", "Change 1"}


def test_what_is_gone_has_no_name_that_something_else_has_now(project: Project) -> None:
    for at, name in enumerate(("Old.save", "save")):
        links = [Link("changes", f"src/app/repo.py#{name}", 6, f"of {name}")]
        project.commit(f"{4 + at}d" * 20, f"Change {at}", 4 + at, links, THIRD)
    assert [it.name for it in section(ask(project, "Old.save"), "commits")] == ["Change 0"]


def test_of_several_that_are_gone_one_is_to_be_named(project: Project) -> None:
    links = [Link("changes", f"src/{it}.py#Repo.drop", 6, "x") for it in "ab"]
    project.commit("4d" * 20, "Drop them", 4, links, THIRD)
    answer = ask(project, "Repo.drop")
    assert [it.name for it in answer.candidates] == ["src/a.py#Repo.drop", "src/b.py#Repo.drop"]
    assert answer.notes == ("'Repo.drop' matches 2; pass the full name of one",)


def test_a_memory_and_a_commit_say_what_they_are_and_who_speaks_of_them(project: Project) -> None:
    project.memory("q5.md", "The five\nand more", [Link("anchored", f"commit:{SECOND[:7]}", 0, "")])
    project.memory("q6.md", "x", [Link("supersedes", "memory:q5", 1, "not [[memory:q5]]")])
    note = "use `related` for its links, `fetch` or `dowse read` for its full text"
    answer = ask(project, "memory:q5")
    assert answer.source.lines == ("The five", "and more") and note in answer.notes
    assert [it.record and it.record.path for it in section(answer, "memories")] == ["q6.md"]
    answer = ask(project, f"commit:{SECOND[:8]}")
    assert answer.source.lines == ("Give the repository its own place",) and note in answer.notes
    assert [it.record and it.record.path for it in section(answer, "memories")] == ["q5.md"]


def test_the_best_of_every_section_before_the_second_of_any(project: Project) -> None:
    many = "".join(f"\n\ndef caller_number_{it}(repo: Repo):\n    return repo.save({it})\n" for it in range(120))
    project.files({"src/app/many.py": "from app.repo import Repo\n" + many})
    for it in range(30):
        project.memory(f"note{it}.md", "n", [Link("mentions", "src/app/repo.py", 1, f"n {'long ' * 20}")])
    answer = ask(project, "Repo.save", 700)
    counts = {it.name: (len(it.shown), it.left_out > 0) for it in answer.sections}
    assert all(shown >= 1 for shown, _ in counts.values()), counts
    assert counts["callers"][1] and counts["memories"][1]
    assert abs(counts["callers"][0] - counts["memories"][0]) <= 1
    assert "a limit was reached: there may be more than these 100 callers" in answer.notes


@pytest.fixture(scope="module")
def small() -> Project:
    return whole_project(DictStore())


@given(target=st.text(max_size=60))
def test_any_target_is_answered_or_refused(small: Project, target: str) -> None:
    try:
        answer = ask(small, target, 50)
    except BadInput as error:
        assert "\n" not in str(error)
    else:
        assert answer.subject or answer.candidates or answer.notes


def test_the_link_that_is_most_particular_is_the_evidence(project: Project) -> None:
    """A memory that names the file first and the method later is about the method."""
    new = "src/app/repo.py"
    project.memory("both.md", "b", [Link("mentions", new, 1, "the file"), Link("plans", f"{new}#Repo.save", 2, "this")])
    found = {it.record.path: it for it in section(ask(project, "Repo.save"), "memories") if it.record}
    assert (found["both.md"].kind, found["both.md"].line, found["both.md"].text) == ("plans", 2, "this")


def test_what_stands_between_two_pieces_of_code_is_prose(project: Project) -> None:
    project.files({"docs/other.md": "Use `a` to save what `b` holds.\n"})
    assert "docs/other.md" not in {
        it.record.path for it in section(ask(project, "Repo.save"), "documents") if it.record
    }


def test_functions_are_meant_before_values_and_the_function_a_line_stands_in_before_a_field(project: Project) -> None:
    project.files({"src/app/main.py": "def start():\n    return 1\n\n\nclass Plan:\n    start = 2\n"})
    assert [it.symbol.kind for it in _definitions(ask(project, "app.start"), ask(project, "start"))] == ["function"]
    field = ask(project, "src/app/service.py:6").subject  # self.repo = repo
    assert field is not None and field.name == "Service.__init__"


def _definitions(*answers: WhyAnswer) -> list[Definition]:
    return [
        it.subject.definition for it in answers if it.subject and it.subject.definition and not it.subject.other_matches
    ]


def test_a_definition_that_moved_meanwhile_has_no_callers(project: Project) -> None:
    subject = ask(project, "Repo.save").subject
    assert subject is not None and subject.definition is not None
    graph, query = project.bare().calls, CallQuery("save", depth=1)
    assert graph.calls_of(subject.definition, query).nodes
    project.files({"src/app/repo.py": "\n" + REPO})
    assert not graph.calls_of(subject.definition, query).roots


def test_a_member_of_a_base_is_found_under_the_class_that_has_it(project: Project) -> None:
    derived = (
        "class Disk(repo.Repo):\n    pass\n\n\nclass Fast(Disk, Loop):\n    pass\n\n\nclass Loop(Fast):\n    pass\n"
    )
    project.files({"src/app/disk.py": derived})
    for target in ("Disk.save", "Fast.save", "app.disk.Loop.save"):
        subject = ask(project, target).subject
        assert subject is not None and subject.name == "Repo.save", target
    assert ask(project, "Loop.nothing").subject is None
