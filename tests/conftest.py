"""What many tests need: a small corpus, a store of each backend, an engine that is deterministic."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, settings

from dowse.config import Settings
from dowse.engine import Engine
from dowse.store.base import Store
from dowse.store.sqlite import SqliteStore
from gits import Git
from oracle.dict_store import DictStore
from support import OpenEngine, Stranger, shared_workers

settings.register_profile("dowse", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("dowse")


# What an answer waits for, or does without where it takes longer: here, whatever a busy machine may take. Tests of
# these limits set their own.
_PATIENT_MS = 30_000
_PATIENT_S = {
    "dowse.engine.freshness._CHEAP_REF_CHECK_S": 60.0,
    "dowse.engine.code_service._BLAME_TIMEOUT_S": 60.0,
    "dowse.lookup.why_evidence.CALLERS_DEADLINE_S": 60.0,
    "dowse.lookup.why_evidence._MENTIONS_DEADLINE_S": 60.0,
    "dowse.lookup.related._CODE_EDGES_DEADLINE_S": 60.0,
}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update", action="store_true", help="Rewrite the files that tests compare with.")


@pytest.fixture
def update(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--update"))


@pytest.fixture(scope="session", autouse=True)
def patient() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DOWSE_FRESHNESS_TIMEOUT_MS", str(_PATIENT_MS))
        patch.setenv("DOWSE_SHARE", "false")  # no server outlives a test that is not about sharing
        patch.setenv("DOWSE_BACKGROUND", "false")  # nor a process that finishes an index
        for name, seconds in _PATIENT_S.items():
            patch.setattr(name, seconds)
        yield


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    folder.mkdir()
    return folder


@pytest.fixture(params=["dicts", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """Of either backend, with one collection."""
    opened: Store = SqliteStore(tmp_path / "index.db") if request.param == "sqlite" else DictStore()
    opened.writer.add_collection("/work/notes")
    yield opened
    opened.close()


@pytest.fixture
def public_path() -> Iterator[Path]:
    """A folder that every user of the machine may enter and read, which pytest's own are not."""
    with TemporaryDirectory() as place:
        Path(place).chmod(0o755)
        yield Path(place)


@pytest.fixture
def stranger(monkeypatch: pytest.MonkeyPatch) -> Stranger:
    """Gives places to another user, and tells which: really, where this is root, else by being root from now on."""

    def give(*places: Path) -> int:
        if os.geteuid() != 0:
            monkeypatch.setattr(os, "geteuid", lambda: 0)
            return os.getuid()
        for place in places:
            os.chown(place, 65534, 65534, follow_symlinks=False)
        return 65534

    return give


@pytest.fixture
def open_engine(tmp_path: Path) -> Iterator[OpenEngine]:
    """Opens engines on one index with the hashing encoder; settings may be given by name."""
    opened: list[Engine] = []

    def open_one(**changes: object) -> Engine:
        fixed = {"encoder": "hashing", "data_dir": tmp_path / "data", "freshness_timeout_ms": _PATIENT_MS}
        values: dict[str, object] = {**fixed, **changes}
        settings = Settings(**values)  # type: ignore[arg-type]
        workers = None if "memory_mb" in changes else shared_workers()  # shared processes have no memory limit
        engine = Engine(settings, tmp_path / "index" / "index.db", create=True, workers=workers)
        opened.append(engine)
        return engine

    yield open_one
    for engine in opened:
        engine.close()


@pytest.fixture
def git(monkeypatch: pytest.MonkeyPatch) -> Git:
    """Runs git in a directory, with no settings but its own."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main"]
    allow_local_clones = ["-c", "protocol.file.allow=always"]

    def run(directory: Path, *command: str) -> str:
        words = ["git", "-C", str(directory), *identity, *allow_local_clones, *command]
        return subprocess.run(words, check=True, capture_output=True, text=True).stdout

    return run
