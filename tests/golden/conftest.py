"""The golden corpus in an index of its own."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dowse.config import Settings
from dowse.engine import Engine
from dowse.engine.core import Clock

collect_ignore = ["corpus"]  # it holds tests of its own, which are text here

HERE = Path(__file__).parent
DAY_S = 86_400
# Ages in days, by the beginning of the path: what is ranked by age must not depend on when it was checked out.
AGES = {"notes/2026-09": 3.5, "docs/runbooks/": 14.5, "": 400.5}


@pytest.fixture(scope="session")
def moment() -> float:
    """When everything is asked: ages must not depend on how long the tests take."""
    return time.time()


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory, moment: float) -> Path:
    """A copy: the one that is committed lies in a repository, and its times are those of the checkout."""
    root = tmp_path_factory.mktemp("golden") / "corpus"
    shutil.copytree(HERE / "corpus", root, ignore=shutil.ignore_patterns("__pycache__"))
    for path in (it for it in root.rglob("*") if it.is_file()):
        relative = path.relative_to(root).as_posix()
        written = moment - DAY_S * next(days for prefix, days in AGES.items() if relative.startswith(prefix))
        os.utime(path, (written, written))
    return root


@pytest.fixture(scope="session")
def engine_with(corpus: Path, moment: float) -> Iterator[Callable[[str], Engine]]:
    """The corpus indexed with an encoder, once for each."""
    opened: dict[str, Engine] = {}

    def engine(encoder: str) -> Engine:
        if encoder not in opened:
            settings = Settings(encoder=encoder, data_dir=corpus.parent / "data")
            clock = Clock(now=lambda: moment)
            opened[encoder] = Engine(settings, corpus.parent / f"{encoder}.db", create=True, clock=clock)
            report = opened[encoder].index([corpus])
            assert report.skipped == 0 and report.embedded > 0
        return opened[encoder]

    yield engine
    for each in opened.values():
        each.close()
