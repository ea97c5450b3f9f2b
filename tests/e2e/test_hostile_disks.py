"""Full disks, files and folders that may not be written, clocks that go back, folders that vanish."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from served import Served

from dowse.config import Settings
from dowse.engine import Engine
from dowse.errors import BadInput, DowseError, NotIndexed
from dowse.ingest.chunk import ChunkLimits
from dowse.ingest.sources.files import FileSource
from dowse.ingest.sync import CollectionSync
from dowse.model import Query
from oracle.dict_store import DictStore
from support import OpenEngine, write

MEGABYTE = 1_000_000


def large(number: int) -> str:
    return f"# Large {number}\n\nalpha {os.urandom(150_000).hex()}\n"


def exported(engine: Engine) -> list[object]:
    return [(it.record.path, it.chunk) for it in engine.export()]


# --- a full disk ---

INDEX = """
import resource, sys
from pathlib import Path
from dowse.config import Settings
from dowse.engine import Engine
from dowse.errors import DowseError
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[4]), resource.RLIM_INFINITY))
engine = Engine(Settings(encoder="none", data_dir=Path(sys.argv[2])), Path(sys.argv[1]), create=True)
try:
    engine.index([Path(sys.argv[3])])
except DowseError as error:
    print(f"{type(error).__name__}: {error}")
print(len(engine.search(__import__("dowse.model").model.Query("alpha", recipe="lexical")).hits))
"""


def test_files_that_may_not_grow_lose_nothing(open_engine: OpenEngine, root: Path, tmp_path: Path) -> None:
    write(root, {"a.md": "# A\n\nalpha\n"})
    engine = open_engine(encoder="none")
    engine.index([root])
    kept = exported(engine)
    write(root, {f"large{number}.md": large(number) for number in range(20)})
    places = [str(engine.index_path), str(tmp_path / "data"), str(root), str(2 * MEGABYTE)]
    done = subprocess.run([sys.executable, "-c", INDEX, *places], capture_output=True, text=True, timeout=120)
    error, hits = done.stdout.splitlines()
    assert error.startswith("BadInput: cannot use ") and "choose another --index" in error, done.stderr
    assert int(hits) >= 1  # it answers all the same
    assert set(map(str, kept)) <= set(map(str, exported(engine)))
    assert engine.index([root]).indexed > 0
    fresh = Engine(Settings(encoder="none", data_dir=tmp_path / "x"), tmp_path / "fresh.db", create=True)
    fresh.index([root])
    assert exported(engine) == exported(fresh)
    fresh.close()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "small"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", folder], check=True)
    yield folder
    subprocess.run(["umount", folder], check=True)


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small disk needs root")
def test_a_full_disk_is_told_and_works_again_when_there_is_room(small_disk: Path, root: Path, tmp_path: Path) -> None:
    write(root, {"a.md": "# A\n\nalpha\n"})
    engine = Engine(Settings(encoder="none", data_dir=tmp_path / "data"), small_disk / "i.db", create=True)
    engine.index([root])
    write(root, {f"large{number}.md": large(number) for number in range(20)})
    with pytest.raises(BadInput, match=r"no space left on the disk .*nothing indexed so far is lost"):
        engine.index([root])
    answer = engine.search(Query("alpha", recipe="lexical"))
    assert "a.md" in {it.stored.record.path for it in answer.hits}
    for path in root.glob("large*"):
        path.unlink()
    engine.index([root])
    assert [path for path, _ in exported(engine)] == ["a.md"]
    engine.close()


# --- what may not be written ---

AS_NOBODY = """
import os, sys, tempfile
from pathlib import Path
from dowse.config import Settings
from dowse.engine import Engine
from dowse.errors import DowseError
from dowse.model import Query
with tempfile.TemporaryDirectory() as folder:  # everything is imported by whoever may read it
    place = Path(folder, "files")
    place.mkdir()
    with Engine(Settings(encoder="none", data_dir=Path(folder, "data")), Path(folder, "x.db"), create=True) as engine:
        engine.index([place])
        (place / "a.md").write_text("alpha")
        engine.search(Query("alpha", recipe="lexical"))
os.setuid(65534)
engine = Engine(Settings(encoder="none", data_dir=Path(sys.argv[2])), Path(sys.argv[1]), create=False)
print(len(engine.search(Query("alpha", recipe="lexical")).hits))
try:
    engine.index([Path(sys.argv[3])])
except DowseError as error:
    print(f"{type(error).__name__}: {error}")
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="dropping privileges needs root")
@pytest.mark.parametrize("what", ["file", "folder"])
def test_what_may_not_be_written_is_read_and_writing_says_why_not(
    root: Path, tmp_path: Path, open_engine: OpenEngine, what: str
) -> None:
    write(root, {"a.md": "# A\n\nalpha\n"})
    engine = open_engine(encoder="none")
    engine.index([root])
    engine.indexing.checkpoint()
    engine.close()
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)  # everybody may look into it
    shutil.copytree(engine.index_path.parent, folder, dirs_exist_ok=True)
    try:
        for file in folder.iterdir():
            file.chmod(0o444)
        (folder / "data").mkdir(mode=0o755)
        shutil.copy(tmp_path / "data" / "key", folder / "data" / "key")
        (folder / "data" / "key").chmod(0o444)  # whoever has the key trusts what it signed
        folder.chmod(0o777 if what == "file" else 0o555)
        command = [sys.executable, "-c", AS_NOBODY, str(folder / "index.db"), str(folder / "data"), str(folder)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        hits, error = done.stdout.splitlines()
        assert hits == "1", done.stderr
        assert error.startswith("BadInput: cannot ") and "--index" in error
    finally:
        shutil.rmtree(folder)


# --- clocks ---


def test_a_clock_that_goes_back_and_times_to_come_lose_nothing(root: Path) -> None:
    store = DictStore()
    collection = store.writer.add_collection(str(root)).name
    clock = iter(range(10**18, 0, -(10**16)))

    def sync() -> tuple[int, int]:
        report = CollectionSync(FileSource(root), store, collection, ChunkLimits(), now_ns=lambda: next(clock)).run()
        return report.indexed, report.deleted

    write(root, {"now.md": "# Now\n\nalpha\n", "later.md": "# Later\n\nbeta\n"})
    os.utime(root / "later.md", ns=(2**62, 2**62))
    assert sync() == (2, 0)
    assert sync() == (0, 0)
    for turn in range(3):
        # The same size, and a time before that of the last version.
        write(root, {"later.md": f"# Later\n\nbet{turn}\n"})
        os.utime(root / "later.md", ns=(2**61 - turn, 2**61 - turn))
        assert sync() == (1, 0)
    (root / "now.md").unlink()
    assert sync() == (0, 1)


def test_a_lock_taken_in_the_future_was_taken_just_now(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from dowse.store.sqlite.locks import read_lock_owner, write_lock

    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 3_600)
    with write_lock(tmp_path / "i.db", 1.0):
        monkeypatch.setattr(time, "time", lambda: now)
        held = read_lock_owner(tmp_path / "i.db")
        assert held is not None and "for 0 s" in held.describe()


# --- a folder that vanishes ---


def everything(engine: Engine) -> None:
    shutil.rmtree(engine.index_path.parent)


def the_file(engine: Engine) -> None:
    engine.index_path.unlink()


@pytest.mark.parametrize("remove", [everything, the_file])
def test_an_index_removed_under_a_running_process(
    open_engine: OpenEngine, root: Path, remove: Callable[[Engine], None]
) -> None:
    write(root, {"a.md": "# A\n\nalpha\n"})
    engine = open_engine(encoder="none")
    engine.index([root])
    remove(engine)
    with pytest.raises(NotIndexed, match="was removed; run `dowse index` to create a new one"):
        engine.index([root])
    with suppress(DowseError):  # from what it has open, or not at all
        engine.search(Query("alpha", recipe="lexical"))
    engine.close()
    again = open_engine(encoder="none")
    again.index([root])
    assert [path for path, _ in exported(again)] == ["a.md"]


def test_a_server_goes_on_with_a_new_index_when_the_old_one_was_removed(root: Path, tmp_path: Path) -> None:
    from served import Served

    write(root, {"a.md": "# A\n\nalpha\n"})
    served = Served(root, tmp_path / "data")
    try:
        served.greet()
        served.ask("tools/call", {"name": "index", "arguments": {}})
        shutil.rmtree(served.index.parent)
        served.ask("tools/call", {"name": "index", "arguments": {}})
        reply = served.ask("tools/call", {"name": "search", "arguments": {"query": "alpha"}})
        assert "a.md" in str(reply["result"])
    finally:
        served.close()


# --- names that are no text ---

ASKED: dict[str, list[tuple[str, dict[str, object]]]] = {
    "core": [("index", {}), ("search", {"query": "alpha"}), ("grep", {"pattern": "alpha"}), ("status", {})],
    "rifflux": [("reindex", {}), ("search_rifflux", {"query": "alpha"}), ("index_status", {})],
    "ragdocs": [("query_documents", {"query": "alpha"})],
    "codesearch": [("search_find", {"pattern": "bad"}), ("search_fast", {"pattern": "a"}), ("search_info", {})],
}
ASKED["all"] = [it for asked in ASKED.values() for it in asked]


@pytest.mark.parametrize("profile", ASKED)
def test_names_that_are_not_utf8_end_no_server(root: Path, tmp_path: Path, profile: str) -> None:
    """Where nothing is indexed before an answer, the answer names the files that are not in it."""
    write(root, {"a.md": "# A\n\nalpha\n"})
    for name in (b"bad\xff.md", b"folder\xfe/bad.md"):
        path = Path(os.fsdecode(os.fsencode(root) + b"/" + name))
        path.parent.mkdir(exist_ok=True)
        path.write_text("# B\n\nalpha\n")
    served = Served(root, tmp_path / "data", words=("--profile", profile), DOWSE_FRESHNESS_TIMEOUT_MS="0")
    try:
        served.greet()
        replies = [served.ask("tools/call", {"name": name, "arguments": given}) for name, given in ASKED[profile] * 2]
        assert all("result" in it for it in replies)
        assert "\\\\xff" in json.dumps(replies) or profile in ("ragdocs", "codesearch")
        served.leave()
        assert served.process.returncode == 0
    finally:
        served.close()
