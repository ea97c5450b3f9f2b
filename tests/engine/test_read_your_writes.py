"""Whatever happens to files, a question afterwards sees their last state, or says what it does not see."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dowse.config import Settings
from dowse.engine import Engine
from dowse.ingest.sources.files import FileSource
from dowse.lookup.grep import GrepQuery
from dowse.model import Query

PATHS = ("a.md", "b.md", "d/a.md", "d/e/b.md", "f/c.md", "d/.gitignore", "skip/x.md")
WORDS = ("alphax", "betaxx", "gammax", "deltax")  # of one length, so that edits may keep the size

Step = tuple[str, str, str]
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.sampled_from(PATHS), st.sampled_from(WORDS)),
        st.tuples(st.just("replace"), st.sampled_from(PATHS), st.sampled_from(WORDS)),
        st.tuples(st.just("delete"), st.sampled_from((*PATHS, "d", "d/e")), st.just("")),
        st.tuples(st.just("rename"), st.sampled_from((*PATHS, "d", "f")), st.sampled_from((*PATHS, "g", "f/h"))),
        st.tuples(st.just("ask"), st.just(""), st.sampled_from(WORDS)),
    ),
    max_size=14,
)


def write(root: Path, path: str, word: str) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(word if not path.endswith(".gitignore") else "e/\n")


def replace(root: Path, path: str, word: str) -> None:
    """As editors save: another file takes its place."""
    write(root, "saving.tmp", word)
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / "saving.tmp").replace(root / path)


def delete(root: Path, path: str, _: str) -> None:
    if (root / path).is_dir():
        shutil.rmtree(root / path)
    else:
        (root / path).unlink(missing_ok=True)


def rename(root: Path, path: str, target: str) -> None:
    if (root / path).exists() and not (root / target).exists() and not target.startswith(f"{path}/"):
        (root / target).parent.mkdir(parents=True, exist_ok=True)
        (root / path).rename(root / target)


ACTIONS: dict[str, Callable[[Path, str, str], None]] = {
    "write": write,
    "replace": replace,
    "delete": delete,
    "rename": rename,
}


def do(root: Path, step: Step) -> None:
    name, path, word = step
    try:
        ACTIONS[name](root, path, word)
    except (FileExistsError, NotADirectoryError, IsADirectoryError):
        return  # a file is where a directory should be, or the other way round


def on_disk(root: Path, word: str) -> set[str]:
    return {it.path for it in FileSource(root).listing().items if word in (root / it.path).read_text()}


def check(engine: Engine, root: Path, word: str) -> None:
    answer = engine.grep(GrepQuery((word,)))
    found, there = {it.path for it in answer.files}, on_disk(root, word)
    if answer.disk_freshness.pending:
        assert len(found ^ there) <= answer.disk_freshness.pending
    else:
        assert found == there


@settings(max_examples=60)
@given(before=STEPS, after=STEPS, repaired=st.booleans())
def test_the_last_state_is_seen_or_said_not_to_be(before: list[Step], after: list[Step], repaired: bool) -> None:
    with tempfile.TemporaryDirectory() as place:
        root = Path(place, "root")
        write(root, "stays.md", "alphax")
        for step in before:
            if step[0] != "ask":
                do(root, step)
        values = Settings(encoder="none", data_dir=Path(place, "data"), freshness_timeout_ms=30_000 if repaired else 0)
        with Engine(values, Path(place, "index.db"), create=True) as engine:
            engine.index([root])
            for step in after:
                if step[0] == "ask":
                    check(engine, root, step[2])
                else:
                    do(root, step)
            for word in WORDS:
                check(engine, root, word)
                if repaired:
                    assert engine.grep(GrepQuery((word,))).disk_freshness.pending == 0


def test_a_directory_that_takes_the_place_of_a_file_ends_the_file(root: Path) -> None:
    write(root, "a.md", "alphax")
    write(root, "stays.md", "alphax")
    values = Settings(encoder="none", data_dir=root.parent / "data", freshness_timeout_ms=30_000)
    with Engine(values, root.parent / "index.db", create=True) as engine:
        engine.index([root])
        rename(root, "a.md", "d/a.md")
        rename(root, "d", "a.md")
        answer = engine.grep(GrepQuery(("alphax",)))
        assert [it.path for it in answer.files] == ["a.md/a.md", "stays.md"]
        assert answer.disk_freshness.pending == 0


@pytest.mark.parametrize("rounds", [30])
def test_a_file_that_is_rewritten_all_the_time_never_lies(root: Path, rounds: int) -> None:
    """Edits of one size, as quick as they come, some within one tick of the file system's clock."""
    write(root, "a.md", "alphax")
    values = Settings(encoder="none", data_dir=root.parent / "data", freshness_timeout_ms=30_000)
    with Engine(values, root.parent / "index.db", create=True) as engine:
        engine.index([root])
        for number in range(rounds):
            word = WORDS[number % len(WORDS)]
            write(root, "a.md", word)
            check(engine, root, word)


def test_a_root_that_another_process_found_elsewhere_is_looked_at_there(tmp_path: Path) -> None:
    root, index = tmp_path / "root", tmp_path / "index.db"
    wanted = Settings(encoder="none", data_dir=tmp_path / "data", workers=1)
    write(root, "a.md", "anchor")
    write(root, "b.md", "beacon")
    with Engine(wanted, index, create=True) as engine, Engine(wanted, index, create=True) as other:
        engine.index([root])
        assert engine.search(Query("anchor")).hits[0].freshness == "fresh"
        moved = root.rename(tmp_path / "moved")
        assert other.indexing.relocate(moved)
        write(moved, "a.md", "harbour")
        answer = engine.search(Query("harbour"))
        assert [(it.stored.record.path, it.freshness) for it in answer.hits] == [("a.md", "fresh")]
        assert answer.completeness.disk_freshness.complete and not answer.completeness.disk_freshness.notes
