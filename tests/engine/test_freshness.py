"""Read your writes: what was saved before a question is in its answer, or the answer says that it is not."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dowse.callgraph.facts import CallQuery
from dowse.config import Settings
from dowse.engine import Engine
from dowse.engine.core import Clock
from dowse.errors import BadInput, IndexBusy
from dowse.ingest.sources.base import ListingScope
from dowse.lookup.find import NameQuery
from dowse.lookup.grep import GrepQuery
from dowse.model import Answer, Query
from dowse.store.sqlite.locks import write_lock
from dowse.store.types import SymbolQuery
from dowse.tools.core_render import answer_json
from support import OpenEngine, eventually, write

PATIENT = 30_000  # ms: for what must not depend on how busy the machine is


@pytest.fixture
def engine(root: Path, open_engine: OpenEngine) -> Engine:
    write(root, {"a.md": "# A\n\nalpha", "docs/b.md": "# B\n\nbeta", "docs/deep/c.md": "# C\n\ngamma"})
    engine = open_engine(encoder="none", freshness_timeout_ms=PATIENT)
    engine.index([root])
    return engine


def ask(engine: Engine, words: str) -> Answer:
    return engine.search(Query(words, recipe="lexical"))


def found(answer: Answer) -> list[tuple[str, str]]:
    return [(hit.stored.record.path, hit.freshness) for hit in answer.hits]


# --- what is seen ---


def test_an_edited_file_is_found_by_its_new_words(root: Path, engine: Engine) -> None:
    assert found(ask(engine, "alpha")) == [("a.md", "fresh")]
    write(root, {"a.md": "# A\n\nomega"})
    answer = ask(engine, "omega")
    assert found(answer) == [("a.md", "fresh")]
    assert answer.completeness.disk_freshness.pending == 0
    assert found(ask(engine, "alpha")) == []


@pytest.mark.parametrize("path", ["new.md", "docs/new.md", "docs/deep/new.md", "other/very/deep/new.md"])
def test_a_new_file_is_found(root: Path, engine: Engine, path: str) -> None:
    ask(engine, "alpha")
    write(root, {path: "omega"})
    assert found(ask(engine, "omega")) == [(path, "fresh")]


def test_a_process_that_comes_later_sees_what_happened_before(
    root: Path, engine: Engine, open_engine: OpenEngine
) -> None:
    write(root, {"docs/new.md": "omega", "a.md": "psi"})
    (root / "docs/b.md").unlink()
    later = open_engine(encoder="none", freshness_timeout_ms=PATIENT)
    assert found(ask(later, "omega")) == [("docs/new.md", "fresh")]
    assert found(ask(later, "psi")) == [("a.md", "fresh")]
    assert found(ask(later, "beta")) == []


def test_a_file_in_a_directory_that_held_nothing_when_it_was_indexed(root: Path, open_engine: OpenEngine) -> None:
    (root / "empty" / "inner").mkdir(parents=True)
    write(root, {"a.md": "alpha"})
    open_engine(encoder="none").index([root])
    write(root, {"empty/inner/x.md": "omega"})
    assert found(ask(open_engine(encoder="none", freshness_timeout_ms=PATIENT), "omega")) == [
        ("empty/inner/x.md", "fresh")
    ]


def test_deleted_and_renamed_files(root: Path, engine: Engine) -> None:
    (root / "a.md").unlink()
    (root / "docs").rename(root / "papers")
    assert found(ask(engine, "alpha")) == []
    assert found(ask(engine, "gamma")) == [("papers/deep/c.md", "fresh")]
    assert engine.completeness().indexed == 2


def test_an_old_directory_that_is_moved_in_is_read_whole(root: Path, tmp_path: Path, engine: Engine) -> None:
    write(tmp_path / "elsewhere", {"x.md": "omega", "in/y.md": "psi"})
    for place in (tmp_path / "elsewhere/in", tmp_path / "elsewhere"):
        os.utime(place, (1, 1))
    ask(engine, "alpha")
    (tmp_path / "elsewhere").rename(root / "moved")
    assert found(ask(engine, "omega")) == [("moved/x.md", "fresh")]
    assert found(ask(engine, "psi")) == [("moved/in/y.md", "fresh")]


def test_an_edit_of_the_same_size_under_the_same_timestamp_is_seen(root: Path, engine: Engine) -> None:
    """A timestamp that is younger than the reading proves nothing, so the content is compared."""
    young = time.time_ns() + 3600 * 10**9
    for word in ("sigma", "omega", "kappa"):
        write(root, {"a.md": word})
        os.utime(root / "a.md", ns=(young, young))
        assert found(ask(engine, word)) == [("a.md", "fresh")]


def test_every_exact_verb_sees_it_too(root: Path, engine: Engine) -> None:
    engine.symbols(SymbolQuery(names=("warm",)))
    write(root, {"app.py": "def omega():\n    return psi()\n\n\ndef psi():\n    return 1\n"})
    assert [it.path for it in engine.grep(GrepQuery(("omega",))).files] == ["app.py"]
    write(root, {"app.py": "def chi():\n    return psi()\n\n\ndef psi():\n    return 1\n"})
    assert [it.symbol.name for it in engine.symbols(SymbolQuery(names=("chi",))).definitions] == ["chi"]
    write(root, {"app.py": "\n\ndef rho():\n    return psi()\n\n\ndef psi():\n    return 1\n"})
    assert [it.symbol.name for it in engine.code.definitions_at("app.py", 4)] == ["rho"]
    write(root, {"app.py": "def tau():\n    return psi()\n\n\ndef psi():\n    return 1\n"})
    tree = engine.calls(CallQuery("psi"))
    assert [it.edge.caller.symbol.name for it in tree.nodes if it.edge.caller] == ["tau"]
    write(root, {"app.py": "def psi():\n    return 2\n"})
    touched = engine.impact({"app.py": [(1, 2)]}, CallQuery("any"))
    assert [(it.definition.symbol.name, it.callers.nodes) for it in touched.touched] == [("psi", ())]
    (root / "app.py").rename(root / "main.py")
    assert [it.path for it in engine.find(NameQuery(("main", "app"))).entries] == ["main.py"]


# --- what is left alone ---


def test_what_is_ignored_or_no_text_is_looked_at_once(root: Path, engine: Engine) -> None:
    write(root, {".gitignore": "*.log.md\n", "x.log.md": "omega", "docs/y.log.md": "omega"})
    (root / "data.md").write_bytes(b"\0\1\2\3" * 500)
    (root / "picture.png").write_bytes(b"\x89PNG")
    first = ask(engine, "omega")
    assert found(first) == [] and first.completeness.disk_freshness.sentences() == ()
    again = ask(engine, "omega")
    assert (again.steps[0].name, again.steps[0].after) == ("freshness", 0)
    revision = engine._core.store.catalog.metadata()["revision"]
    ask(engine, "omega")
    assert engine._core.store.catalog.metadata()["revision"] == revision


def test_what_was_no_text_is_indexed_once_it_is(root: Path, engine: Engine) -> None:
    (root / "data.md").write_bytes(b"\0\1\2\3" * 500)
    ask(engine, "omega")
    write(root, {"data.md": "omega"})
    assert found(ask(engine, "omega")) == [("data.md", "fresh")]


@pytest.mark.parametrize("folder", ["docs", ".memories"])
def test_what_was_skipped_and_is_gone_is_not_counted_any_more(
    root: Path, engine: Engine, open_engine: OpenEngine, folder: str
) -> None:
    write(root, {f"{folder}/note.md": "alpha"})
    (root / folder / "data.md").write_bytes(b"\0\1\2\3" * 500)
    assert "1 skipped" in ask(engine, "alpha").completeness.sentence(1)
    (root / folder / "data.md").unlink()
    later = open_engine(encoder="none", freshness_timeout_ms=PATIENT)
    told = ask(later, "alpha").completeness
    assert "skipped" not in told.sentence(1) and told.complete
    assert later.status().skipped == ()


def test_a_file_that_was_too_large_and_is_gone_is_not_counted_any_more(root: Path, open_engine: OpenEngine) -> None:
    write(root, {"a.md": "alpha", "large.md": "omega " * 100})
    engine = open_engine(encoder="none", freshness_timeout_ms=PATIENT, max_file_bytes=300)
    engine.index([root])
    assert "1 skipped" in ask(engine, "alpha").completeness.sentence(1)
    (root / "large.md").unlink()
    assert "skipped" not in ask(engine, "alpha").completeness.sentence(1)


def test_links_are_not_followed(root: Path, tmp_path: Path, engine: Engine) -> None:
    write(tmp_path, {"secret/s.md": "omega"})
    (root / "link").symlink_to(tmp_path / "secret")
    (root / "s.md").symlink_to(tmp_path / "secret/s.md")
    answer = ask(engine, "omega")
    assert found(answer) == [] and answer.completeness.disk_freshness.pending == 0


def test_a_root_that_became_a_link_is_read_no_more(root: Path, tmp_path: Path, engine: Engine) -> None:
    write(tmp_path, {"private/a.md": "omega", "private/new.md": "omega"})
    root.rename(tmp_path / "former")
    root.symlink_to(tmp_path / "private")
    answer = ask(engine, "omega")
    assert found(answer) == [] and f"{root} is missing" in answer.completeness.sentence(0)
    assert [freshness for _, freshness in found(ask(engine, "alpha"))] == ["gone"]
    (collection,) = engine.collections()
    with pytest.raises(BadInput, match=r"now leads to .*private; to index that, add it as a separate root"):
        engine.indexing.refresh(collection.name, ["a.md"])
    assert not engine.find(NameQuery(("new",)), ListingScope()).entries
    root.unlink()
    (tmp_path / "former").rename(root)
    assert found(ask(engine, "alpha")) == [("a.md", "fresh")]


def test_a_folder_of_memories_that_became_a_link_is_read_no_more(
    root: Path, tmp_path: Path, open_engine: OpenEngine
) -> None:
    write(root, {"a.md": "alpha", ".memories/note.md": "beta"})
    write(tmp_path, {"private/note.md": "omega", "private/new.md": "omega"})
    engine = open_engine(encoder="none", freshness_timeout_ms=PATIENT)
    engine.index([root])
    (root / ".memories").rename(tmp_path / "former")
    (root / ".memories").symlink_to(tmp_path / "private")
    engine.index([root])
    assert found(ask(engine, "omega")) == []


def test_a_changed_ignore_file_decides_over_all_below_it(root: Path, engine: Engine) -> None:
    write(root, {"docs/.gitignore": "deep/\n"})
    assert found(ask(engine, "gamma")) == []
    (root / "docs/.gitignore").unlink()
    assert found(ask(engine, "gamma")) == [("docs/deep/c.md", "fresh")]
    write(root, {"docs/deep/later.md": "omega"})
    assert found(ask(engine, "omega")) == [("docs/deep/later.md", "fresh")]
    write(root, {".gitignore": "a.md\n"})
    assert found(ask(engine, "alpha")) == []
    write(root, {".gitignore": "\n"})
    assert found(ask(engine, "alpha")) == [("a.md", "fresh")]


def test_a_corpus_that_is_no_directory_is_left_alone(engine: Engine) -> None:
    class Nothing:
        def listing(self):
            from dowse.ingest.sources.base import Listing

            return Listing()

    engine.indexing.index_source("corpus", Nothing())  # type: ignore[arg-type]
    assert ask(engine, "alpha").completeness.disk_freshness.sentences() == ()


# --- what is told ---


def test_with_freshness_timeout_ms_0_changes_are_only_told(root: Path, engine: Engine, open_engine: OpenEngine) -> None:
    write(root, {"a.md": "omega", "z.md": "psi"})
    (root / "docs/b.md").unlink()
    reader = open_engine(encoder="none", freshness_timeout_ms=0)
    answer = ask(reader, "alpha beta")
    assert set(found(answer)) == {("a.md", "changed"), ("docs/b.md", "gone")}
    assert answer.completeness.disk_freshness.pending == 3 and not answer.completeness.complete
    assert "3 changed files are not in this answer yet: a.md, docs/b.md, z.md" in answer.completeness.sentence(2)
    data = answer_json(answer)["completeness"]
    assert isinstance(data, dict) and data["pending"]["count"] == 3
    assert data["pending"]["paths"] == ["a.md", "docs/b.md", "z.md"]
    for verb in (
        reader.grep(GrepQuery(("alpha",))),
        reader.symbols(SymbolQuery(names=("x",))),
        reader.calls(CallQuery("x")),
        reader.impact({}, CallQuery("any")),
        reader.find(NameQuery(("x",))),
    ):
        assert verb.disk_freshness.pending == 3


def test_many_changed_files_are_told_and_left_with_what_brings_them_in(
    root: Path, engine: Engine, open_engine: OpenEngine
) -> None:
    write(root, {f"many/{number}.md": "omega" for number in range(21)})
    hasty = open_engine(encoder="none", freshness_timeout_ms=250)
    answer = ask(hasty, "omega")
    assert found(answer) == []
    told = "21 changed files are not in this answer yet: many/0.md, many/1.md, many/10.md, …"
    assert answer.completeness.sentence(0).endswith(f"{told}; run `dowse index` to update the index")
    hasty.freshness.set_pending_source(lambda: None)
    assert ask(hasty, "omega").completeness.sentence(0).endswith(told), "whoever watches does"
    assert len(ask(engine, "omega").hits) == 10, "who waits longer has more brought in"


def test_a_large_file_is_told_and_left_and_the_others_are_not(
    root: Path, engine: Engine, open_engine: OpenEngine
) -> None:
    write(root, {"large.md": "omega " * 200_000, "small.md": "omega"})
    hasty = open_engine(encoder="none", freshness_timeout_ms=250)
    eventually(lambda: found(ask(hasty, "omega")) == [("small.md", "fresh")])
    seen = ask(hasty, "omega").completeness.disk_freshness
    assert (seen.examples, seen.notes) == (("large.md",), ("run `dowse index` to update the index",))
    assert "large.md" in {path for path, _ in found(ask(engine, "omega"))}


def test_while_another_process_writes(root: Path, engine: Engine, open_engine: OpenEngine) -> None:
    write(root, {"a.md": "omega"})
    hasty = open_engine(encoder="none", freshness_timeout_ms=1000)
    with write_lock(engine.index_path, 1):
        answer = ask(hasty, "omega")
    assert found(answer) == []
    assert answer.completeness.disk_freshness.examples == ("a.md",)
    assert "being written to" in answer.completeness.sentence(0)
    assert found(ask(engine, "omega")) == [("a.md", "fresh")]


def test_an_index_that_can_not_be_written(
    root: Path, engine: Engine, open_engine: OpenEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: object, timeout_s: float, what: str) -> object:
        raise IndexBusy("read-only") if timeout_s < 0 else OSError(30, "Read-only file system")

    monkeypatch.setattr("dowse.store.sqlite.database.Database.exclusive", refuse)
    write(root, {"a.md": "omega"})
    answer = ask(engine, "alpha")
    assert found(answer) == [("a.md", "changed")]
    assert "Read-only file system" in answer.completeness.sentence(1)


def test_a_root_that_is_gone_or_empty(root: Path, engine: Engine) -> None:
    shutil.rmtree(root)
    answer = ask(engine, "alpha")
    assert found(answer) == [("a.md", "gone")]
    assert f"{root} is missing" in answer.completeness.sentence(1)
    assert answer.completeness.disk_freshness.pending == 0
    root.mkdir()
    for _ in range(2):
        empty = ask(engine, "alpha")
        assert found(empty) == [("a.md", "gone")]
        assert empty.completeness.disk_freshness.pending == 3
    write(root, {"a.md": "alpha"})
    assert found(ask(engine, "alpha")) == [("a.md", "fresh")]
    assert engine.completeness().indexed == 1


@pytest.mark.parametrize("name", [os.fsdecode(b"\xff.md"), "new\nline.md", "-o.md", "*.md", "sp ace.md"])
def test_names_that_are_hard_to_write(root: Path, engine: Engine, name: str) -> None:
    (root / name).write_text("omega")
    answer = ask(engine, "omega")
    assert found(answer) == ([] if "\udcff" in name else [(name, "fresh")])
    assert answer.completeness.disk_freshness.pending == 0
    answer.completeness.sentence(0).encode()


# --- with a watcher ---


def test_a_watcher_is_believed(root: Path, engine: Engine) -> None:
    pending: dict[str, frozenset[str]] = {}
    engine.freshness.set_pending_source(lambda: pending)
    write(root, {"a.md": "omega", "docs/b.md": "psi", "docs/new.md": "chi", "more/x.md": "rho", "more/in/y.md": "rho"})
    unseen = ask(engine, "omega")
    assert (unseen.steps[0].before, found(unseen)) == (0, [])
    pending["root"] = frozenset({"a.md", "docs/new.md", "nothing.md", "more", "docs/deep"})
    assert found(ask(engine, "omega")) == [("a.md", "fresh")]
    assert found(ask(engine, "chi")) == [("docs/new.md", "fresh")]
    assert set(found(ask(engine, "rho"))) == {("more/x.md", "fresh"), ("more/in/y.md", "fresh")}
    pending["root"] = frozenset({"docs/deep"})
    shutil.rmtree(root / "docs/deep")
    assert found(ask(engine, "gamma")) == []
    pending["unheard of"] = frozenset({"../../etc/passwd"})
    assert ask(engine, "gamma").completeness.disk_freshness.pending == 0


def test_a_watcher_that_can_not_know_is_replaced_by_looking(root: Path, engine: Engine) -> None:
    engine.freshness.set_pending_source(lambda: None)
    write(root, {"a.md": "omega"})
    assert found(ask(engine, "omega")) == [("a.md", "fresh")]


def test_thousands_of_changes_are_told_without_looking_at_each(root: Path, engine: Engine) -> None:
    engine.freshness.set_pending_source(lambda: {"root": frozenset(f"{number}.md" for number in range(10_000))})
    assert ask(engine, "alpha").completeness.disk_freshness.pending == 10_000


# --- as of when, and how often ---


class Watch:
    """A clock that goes on by a fixed time whenever it is looked at."""

    def __init__(self, tick_s: float = 0.0) -> None:
        self.time = 1_000_000_000.0
        self.tick_s = tick_s

    def now(self) -> float:
        return time.time()

    def elapsed(self) -> float:
        self.time += self.tick_s
        return self.time


FILES = 300


@pytest.fixture
def large(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Engine]]:
    """More files than are looked at for every question."""
    monkeypatch.setattr("dowse.engine.freshness.MAX_SMALL_INDEX_FILES", 100)
    write(root, {f"d{number % 20}/{number}.md": f"word{number}" for number in range(FILES)})
    for place in root.rglob("*"):
        os.utime(place, (1e9, 1e9))
    opened: list[Engine] = []

    def open_one(watch: Watch, freshness_timeout_ms: int = PATIENT) -> Engine:
        settings = Settings(encoder="none", data_dir=tmp_path / "data", freshness_timeout_ms=freshness_timeout_ms)
        clock = Clock(watch.now, watch.elapsed)
        opened.append(Engine(settings, tmp_path / "index.db", create=True, clock=clock))
        return opened[-1]

    open_one(Watch()).index([root])
    yield open_one
    for engine in opened:
        engine.close()


def test_looks_at_many_files_are_rationed_and_say_as_of_when(root: Path, large: Callable[..., Engine]) -> None:
    watch = Watch()
    engine = large(watch)
    before = time.time()
    first = ask(engine, "word7")
    assert first.completeness.as_of >= before
    watch.tick_s = 0.004
    slow = ask(engine, "word7")
    watch.tick_s = 0.0
    write(root, {"d9/9.md": "omega", "d7/7.md": "psi"})
    rationed = ask(engine, "omega")
    assert found(rationed) == [] and rationed.steps[0].before < FILES / 2
    assert rationed.completeness.as_of == slow.completeness.as_of
    assert first.completeness.disk_freshness.complete and not rationed.completeness.disk_freshness.complete
    write(root, {"d1/new.md": "omega"})
    assert found(ask(engine, "omega")) == [("d1/new.md", "fresh")], "names are looked at in any case"
    again = ask(engine, "word7")
    assert (again.hits[0].stored.chunk.text, again.hits[0].freshness) == ("psi", "fresh"), "its path matches, too"
    assert found(ask(engine, "psi")) == [("d7/7.md", "fresh")]
    watch.time += 60
    assert set(found(ask(engine, "omega"))) == {("d1/new.md", "fresh"), ("d9/9.md", "fresh")}


def test_a_long_look_goes_on_with_the_next_question(root: Path, large: Callable[..., Engine]) -> None:
    watch = Watch(tick_s=0.02)
    engine = large(watch, freshness_timeout_ms=0)
    synced = engine.collections()[0].synced_at
    write(root, {"d1/new.md": "omega"})
    counts, moments = [], []
    for _ in range(80):
        watch.time += 60
        answer = ask(engine, "word7")
        counts.append(answer.steps[0].before)
        moments.append(answer.completeness.as_of)
    assert moments[0] == synced and 0 < counts[0] < FILES
    assert moments[-1] > synced
    assert answer.completeness.disk_freshness.examples == ("d1/new.md",)


def test_a_clock_that_goes_back_hides_nothing(root: Path, tmp_path: Path) -> None:
    write(root, {"a.md": "alpha"})
    moments = [time.time() + 7200]
    clock = Clock(now=lambda: moments[-1])
    settings = Settings(encoder="none", data_dir=tmp_path / "data", freshness_timeout_ms=PATIENT)
    with Engine(settings, tmp_path / "index.db", create=True, clock=clock) as engine:
        engine.index([root])
        assert ask(engine, "alpha").hits
        for number, word in enumerate(("omega", "kappa", "sigma")):
            moments.append(moments[-1] - 3600)
            write(root, {f"{number}.md": word})
            assert found(ask(engine, word)) == [(f"{number}.md", "fresh")]


# --- many at a time ---


def test_threads_share_looks_and_repairs(root: Path, engine: Engine) -> None:
    problems: list[object] = []

    def work(number: int) -> None:
        for turn in range(8):
            word = "abcd"[number] * 5 + "efghijkl"[turn] * 5
            write(root, {f"t{number}.md": word})
            answer = ask(engine, word)
            if found(answer) != [(f"t{number}.md", "fresh")]:
                problems.append((word, found(answer), answer.completeness.disk_freshness))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []


def test_nobody_waits_for_a_repair_longer_than_told(root: Path, engine: Engine, open_engine: OpenEngine) -> None:
    hasty = open_engine(encoder="none", freshness_timeout_ms=200)
    let_go = threading.Event()
    real = hasty.indexing.refresh_paths

    def slow(*arguments: object, **named: object) -> object:
        let_go.wait(60)
        return real(*arguments, **named)  # type: ignore[arg-type]

    hasty.indexing.refresh_paths = slow  # type: ignore[method-assign, assignment]
    write(root, {"a.md": "omega"})
    for _ in range(2):
        answer = ask(hasty, "omega")
        assert found(answer) == [] and "in the background" in answer.completeness.sentence(0)
    let_go.set()
    deadline = time.monotonic() + 60
    while found(ask(hasty, "omega")) != [("a.md", "fresh")]:
        assert time.monotonic() < deadline


def test_the_command_line_sees_what_was_saved(root: Path, tmp_path: Path) -> None:
    variables = os.environ | {
        "DOWSE_DATA_DIR": str(tmp_path / "data"),
        "DOWSE_ENCODER": "none",
        "DOWSE_FRESHNESS_TIMEOUT_MS": str(PATIENT),
    }
    write(root, {"a.md": "alpha"})

    def dowse(*words: str) -> str:
        command = [sys.executable, "-m", "dowse", *words]
        return subprocess.run(command, cwd=root, env=variables, capture_output=True, text=True, check=True).stdout

    dowse("index")
    write(root, {"b.md": "omega", "c.py": "def psi(): pass\n"})
    assert "b.md:1" in dowse("search", "omega")
    assert "c.py" in dowse("symbols", "psi")
