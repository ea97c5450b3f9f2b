"""Why and related over a real repository: what git, files and memories say of one line, in one answer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from threading import Event

import pytest

from dowse.config import Settings
from dowse.engine import Engine
from dowse.errors import BadInput
from dowse.ingest.sources.git.blame import Blame
from dowse.lookup.why.question import Neighbour, WhyAnswer
from storied import CHANGED, CHANGED_LINE, commit, git, storied
from support import OpenEngine, write


def section(answer: WhyAnswer, name: str) -> dict[str, Neighbour]:
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
    engine.index_history()
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
    assert commits[story["changed"]].how.startswith("wrote lines 3-4 as they are")
    assert commits[story["introduced"]].how.startswith("wrote lines 2, 5 as they are")
    assert "moved the file from src/old.py" in commits[story["moved"]].how
    guide = section(answer, "documents")["docs/guide.md"]
    assert (guide.kind, guide.line) == ("links_to", 3)
    memories = section(answer, "memories")
    assert (memories["why-refuse.md"].kind, memories["twice.md"].kind) == ("mentions", "anchored")
    assert not answer.notes and answer.seen.complete


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
    engine.remember("anchor-now", "Nothing is refused but None.", type="fact", anchors=["src/app/repo.py#Repo.save"])
    assert section(engine.why("Repo.save"), "memories")["anchor-now.md"].warning == ""
    write(root, {"src/app/repo.py": CHANGED.replace("raise ValueError(item)", "raise TypeError(item)")})
    newest = commit(root, "Another error", "2040-01-01")
    engine.index_history()
    warning = section(engine.why("Repo.save"), "memories")["anchor-now.md"].warning
    assert "has changed since the memory was written" in warning and newest[:12] in warning


def test_a_memory_whose_time_is_over_says_so(engine: Engine) -> None:
    engine.remember("over", "Freeze [[src/app/repo.py]].", valid_until="2026-01-31")
    told = section(engine.why("src/app/repo.py", budget_tokens=10_000), "memories")
    assert told["over.md"].warning == "not valid any more since 2026-01-31T23:59:59Z"


def test_outside_of_git_and_before_the_history_is_indexed_it_says_so(
    root: Path, tmp_path: Path, open_engine: OpenEngine
) -> None:
    storied(root)
    engine = open_engine(encoder="none")
    engine.index([root])
    assert "no git history is indexed; `dowse index` does, where there is any" in engine.why("Repo.save").notes
    elsewhere = tmp_path / "elsewhere"
    write(elsewhere, {"plain.py": "def alone():\n    pass\n"})
    indexed(engine, root, elsewhere)
    notes = engine.why("alone").notes
    assert any("plain.py is in no git history that is indexed" in it for it in notes)


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
    with pytest.raises(BadInput, match="no collection is called 'nowhere'"):
        engine.why("Repo.save", collection="nowhere")


def test_binary_files_and_files_that_are_not_indexed(engine: Engine, root: Path) -> None:
    (root / "image.py").write_bytes(b"\0\1\2" * 1000)
    (root / "ignored.txt").write_text("x")
    write(root, {".gitignore": "ignored.txt\n.memories/\n"})
    engine.index([root])
    assert engine.why("image.py:3").notes[0].startswith("image.py is not indexed: ")
    assert engine.why("ignored.txt").notes[0].startswith("nothing indexed is called 'ignored.txt'")


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


def test_blame_that_takes_too_long_is_not_waited_for(
    told: tuple[Engine, dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, held = told[0], Event()
    monkeypatch.setattr("dowse.engine.why._BLAME_S", 0.01)
    monkeypatch.setattr(Engine, "blame", lambda *_: held.wait(30) and Blame((), 0))
    answer = engine.why("Repo.save")
    held.set()
    assert "who wrote its lines is not known: git takes too long" in answer.notes
    assert section(answer, "commits")
