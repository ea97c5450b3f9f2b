"""Why and related over a real repository: what git, files and memories say of one line, in one answer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from threading import Event

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dowse.config import Settings
from dowse.engine import Engine
from dowse.engine.history_service import HistoryService
from dowse.errors import BadInput
from dowse.git.blame import Blame
from dowse.lookup.why_target import RelatedItem, WhyAnswer
from dowse.model import CHARS_PER_TOKEN
from dowse.tools.core_query import read_passage
from dowse.tools.render_calls import why_json, why_text
from gits import Repo
from storied import CHANGED, CHANGED_LINE, commit, git, storied
from support import OpenEngine, write


def section(answer: WhyAnswer, name: str) -> dict[str, RelatedItem]:
    """Its neighbours, by path."""
    return {it.record.path: it for part in answer.sections if part.name == name for it in part.shown if it.record}


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Engine, dict[str, str]]]:
    """For questions that change nothing."""
    place = tmp_path_factory.mktemp("told")
    root = place / "root"
    root.mkdir()
    story = storied(root)
    settings = Settings(encoder="none", data_dir=place / "data")
    with Engine(settings, place / "index.db", create=True) as engine:
        yield indexed(engine, root), story


@pytest.fixture
def engine(root: Path, open_engine: OpenEngine) -> Engine:
    """For those that need a repository of their own."""
    storied(root)
    return indexed(open_engine(encoder="none"), root)


def indexed(engine: Engine, *roots: Path) -> Engine:
    engine.index(roots)
    for root in roots:
        if (root / ".memories").exists():
            engine.index([root / ".memories"])
    engine.histories.index_history()
    return engine


def test_one_line_has_definition_callers_tests_commits_document_and_memories(
    told: tuple[Engine, dict[str, str]],
) -> None:
    engine, story = told
    answer = engine.why(f"src/app/repo.py:{CHANGED_LINE}")
    assert answer.subject is not None and answer.subject.name == "Repo.save"
    assert section(answer, "callers")["src/app/service.py"].name == "Service.keep"
    assert section(answer, "tests")["tests/test_repo.py"].name == "test_save"
    commits = section(answer, "commits")
    assert next(iter(commits)) == story["changed"] and set(commits) == set(story.values())
    assert commits[story["changed"]].how.startswith("last touched lines 3-4")
    assert commits[story["introduced"]].how.startswith("last touched lines 2, 5")
    assert "moved the file from src/old.py" in commits[story["moved"]].how
    guide = section(answer, "documents")["docs/guide.md"]
    assert (guide.kind, guide.line) == ("links_to", 3)
    memories = section(answer, "memories")
    assert (memories["why-refuse.md"].kind, memories["twice.md"].kind) == ("mentions", "anchored")
    assert not answer.notes and answer.disk_freshness.complete


def test_files_saved_before_the_question_are_in_the_answer(engine: Engine, root: Path) -> None:
    write(root, {"src/app/more.py": "from app.repo import Repo\n\n\ndef again():\n    return Repo().save(2)\n"})
    write(root, {"src/app/repo.py": "\n\n" + CHANGED})
    answer = engine.why(f"src/app/repo.py:{CHANGED_LINE + 2}")
    assert answer.subject is not None and (answer.subject.name, answer.subject.first_line) == ("Repo.save", 4)
    assert "src/app/more.py" in section(answer, "callers")
    assert section(answer, "commits")
    # Lines that are not committed are nobody's.
    write(root, {"src/app/repo.py": CHANGED + "\n\ndef fresh():\n    return 1\n"})
    answer = engine.why("fresh")
    assert all(it.kind != "wrote" for it in section(answer, "commits").values())


def test_a_memory_is_stale_when_what_it_is_anchored_to_changes(engine: Engine, root: Path) -> None:
    engine.memory.remember(
        "anchor-now", "Nothing is refused but None.", type="fact", anchors=["src/app/repo.py#Repo.save"]
    )
    assert section(engine.why("Repo.save"), "memories")["anchor-now.md"].warning == ""
    write(root, {"src/app/repo.py": CHANGED.replace("raise ValueError(item)", "raise TypeError(item)")})
    newest = commit(root, "Another error", "2040-01-01")
    engine.histories.index_history()
    warning = section(engine.why("Repo.save"), "memories")["anchor-now.md"].warning
    assert "has changed since the memory was written" in warning and newest[:12] in warning


def test_a_memory_whose_time_is_over_says_so(engine: Engine) -> None:
    engine.memory.remember("over", "Freeze [[src/app/repo.py]].", valid_until="2026-01-31")
    told = section(engine.why("src/app/repo.py", budget_tokens=10_000), "memories")
    assert told["over.md"].warning == "not valid since 2026-01-31T23:59:59Z"


def test_commits_far_from_the_line_of_the_class_are_known_there_and_when_it_is_gone(
    root: Path, open_engine: OpenEngine
) -> None:
    lines, repo = "".join(f"        x{it} = {it}\n" for it in range(60)), Repo(root)
    texts = [f"class Long:\n    def reach(self):\n{lines}        return {it}\n" for it in range(3)]
    hashes = [repo.commit(f"Change {at}", {"a.py": it}) for at, it in enumerate(texts)]
    engine = indexed(open_engine(encoder="none"), root)
    assert set(section(engine.why("Long.reach"), "commits")) == set(hashes)
    (changes,) = engine.related("Long.reach", ["changes"]).groups
    assert {it.record.path for it in changes.shown if it.record} == set(hashes)
    (root / "a.py").unlink()
    hashes.append(repo.commit("Remove it", {"b.py": "x = 1\n"}))
    assert set(section(indexed(engine, root).why("Long.reach"), "commits")) == set(hashes)


def test_outside_of_git_and_before_the_history_is_indexed_it_says_so(
    root: Path, tmp_path: Path, open_engine: OpenEngine
) -> None:
    storied(root)
    engine = open_engine(encoder="none")
    engine.index([root])
    assert "no git history is indexed; in a git repository, `dowse index` adds it" in engine.why("Repo.save").notes
    elsewhere = tmp_path / "elsewhere"
    write(elsewhere, {"plain.py": "def alone():\n    pass\n"})
    indexed(engine, root, elsewhere)
    notes = engine.why("alone").notes
    assert any("plain.py is in no indexed git history" in it for it in notes)


def test_two_roots_with_the_same_paths(engine: Engine, root: Path, tmp_path: Path) -> None:
    twin = tmp_path / "twin"
    twin.mkdir()
    git(tmp_path, "clone", "-q", str(root), str(twin))
    indexed(engine, twin)
    answer = engine.why("Repo.save")
    assert {it.record.collection for it in answer.candidates if it.record} == {"root", "twin"}
    mine = engine.why("Repo.save", collection="twin")
    assert {it.record.collection for it in mine.sections[0].shown if it.record} == {"twin"}
    assert not section(mine, "memories")
    with pytest.raises(BadInput, match="no collection named 'nowhere'"):
        engine.why("Repo.save", collection="nowhere")


def test_binary_files_and_files_that_are_not_indexed(engine: Engine, root: Path) -> None:
    (root / "image.py").write_bytes(b"\0\1\2" * 1000)
    (root / "ignored.txt").write_text("x")
    write(root, {".gitignore": "ignored.txt\n.memories/\n"})
    engine.index([root])
    assert engine.why("image.py:3").notes[0].startswith("image.py is not indexed: ")
    assert engine.why("ignored.txt").notes[0].startswith("no file, symbol or link named 'ignored.txt'")


def test_related_crosses_kinds(told: tuple[Engine, dict[str, str]]) -> None:
    engine, story = told
    answer = engine.related("src/app/repo.py")
    found = {(it.direction, it.kind): [one.record.path for one in it.shown if one.record] for it in answer.groups}
    assert found["in", "touches"] == [story["changed"], story["moved"]]
    assert found["in", "links_to"] == ["docs/guide.md"]
    assert found["in", "mentions"] == ["why-refuse.md"]
    assert set(found["in", "import"]) == {"src/app/service.py", "tests/test_repo.py"}
    touched = engine.related(story["moved"][:8], ("renames", "touches"))
    assert {it.kind for it in touched.groups} == {"renames", "touches"}
    memory = engine.related("memory:why-refuse")
    assert [one.record.path for it in memory.groups for one in it.shown if one.record] == ["src/app/repo.py"]


def test_a_memory_anchored_to_a_symbol_is_of_its_file_and_speaks_by_its_text(engine: Engine, root: Path) -> None:
    front = '---\ntype: fact\nanchors:\n- "src/app/repo.py#Repo@7b62c55612e4c567"\n---\n'
    write(
        root, {".memories/tok.md": f"{front}The token rule\n", ".memories/named.md": f"{front}Of `src/app/repo.py`\n"}
    )
    indexed(engine, root)
    for target in ("src/app/repo.py", "Repo", f"src/app/repo.py:{CHANGED_LINE}"):
        found = section(engine.why(target), "memories")
        assert (found["tok.md"].kind, found["tok.md"].how, found["tok.md"].text) == (
            "anchored", "src/app/repo.py#Repo", "The token rule",
        )  # fmt: skip
    beside = section(engine.why("src/app/service.py"), "memories")
    assert "tok.md" not in beside
    anchored = next(it for it in engine.related("src/app/repo.py").groups if it.kind == "anchored")
    assert {it.record.path for it in anchored.shown if it.record} >= {"tok.md", "named.md"}
    write(root, {".memories/front.md": "---\nabout: src/app/repo.py\n---\nNothing of it\n"})
    indexed(engine, root)
    assert "front.md" not in section(engine.why("src/app/repo.py"), "memories")


def test_what_may_be_written_for_a_thing_is_read_by_every_verb(told: tuple[Engine, dict[str, str]]) -> None:
    engine, story = told
    for target in (f"commit:{story['moved'][:8]}", "memory:why-refuse", ".memories/why-refuse.md", "src/app/repo.py"):
        passage = read_passage(engine, target, None, None, None)
        assert passage.text
        for subject in (engine.why(target).subject, engine.related(target).subject):
            assert subject is not None and subject.record == passage.record
    with pytest.raises(BadInput, match="no indexed id or path 'memory:nothing'"):
        read_passage(engine, "memory:nothing", None, None, None)


def test_blame_that_takes_too_long_is_not_waited_for(
    told: tuple[Engine, dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, held = told[0], Event()
    monkeypatch.setattr("dowse.engine.code_service._BLAME_TIMEOUT_S", 0.01)
    monkeypatch.setattr(HistoryService, "blame", lambda *_: held.wait(30) and Blame((), 0))
    answer = engine.why("Repo.save")
    held.set()
    assert "its authors are unknown: git took too long" in answer.notes
    assert section(answer, "commits")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Engine, list[str]]]:
    """Everything in it is called by names as long as they can be, and by some that need escapes; and what to ask."""
    place = tmp_path_factory.mktemp("hostile")
    deep, name, title = "/".join(['fold"er\1' * 25] * 6), "shape_" + "x" * 2_000, 'Title "quoted" \\ ' * 300
    body = f"def {name}(first, second):\n    return other()\n\n\ndef other():\n    return {name}(1, 2)\n"
    repository = Repo(place / ("\1" * 200))
    paths = [f"{deep}/one.py", f"{deep}/two.py", "short.py"]
    page = f"# {title}\n\nSee `other` and [it](../short.py).\n"
    notes = {f".memories/{it}{'n' * 230}.md": f'[[short.py]] "{"long " * 900}"\n' for it in range(3)}
    commit = repository.commit(title, dict.fromkeys(paths, body) | {"docs/page.md": page} | notes)
    repository.commit(title, {"short.py": f"{body}\n# more\n"}, "--author", f"{'A' * 3_000} <a@example.org>")
    with Engine(Settings(encoder="none", data_dir=place / "data"), place / "index.db", create=True) as engine:
        asked = ["short.py", "short.py:1", "short.py#other", "other", "one.py", "one.py:2", name[:900], commit]
        yield indexed(engine, repository.place), [*asked, "docs/page.md", f"memory:0{'n' * 230}", "x" * 1_000]


@settings(deadline=None, max_examples=60)
@given(budget=st.integers(150, 3_000), number=st.integers(0, 10))
def test_names_titles_and_notes_of_any_length_keep_the_budget(
    hostile: tuple[Engine, list[str]], budget: int, number: int
) -> None:
    engine, asked = hostile
    answer = engine.why(asked[number], budget)
    data = why_json(answer, engine.completeness(answer.disk_freshness))
    assert max(len(why_text(answer)), len(json.dumps(data, ensure_ascii=False))) <= budget * CHARS_PER_TOKEN
