"""Healing ends: what is not damaged any more is not looked for again."""

from __future__ import annotations

from pathlib import Path

import apsw

from dowse.config import Settings
from dowse.engine import Engine
from dowse.live.heal import repair_or_rebuild
from support import write


def test_damage_that_went_with_its_file_is_forgotten_by_everybody(tmp_path: Path) -> None:
    root, index = tmp_path / "root", tmp_path / "index.db"
    settings = Settings(encoder="none", data_dir=tmp_path / "data", workers=1, freshness_timeout_ms=0)
    write(root, {"a.md": "# Alpha\n\nanchor\n"})
    with Engine(settings, index, create=True) as engine:
        engine.index([root])
        apsw.Connection(str(index)).execute("UPDATE records SET seal = seal + 1")
        engine.record("a.md")
        assert "records" in engine.health.damaged_parts()
        write(root, {"a.md": "# Alpha\n\nanchorage\n"})
        engine.indexing.refresh("root", ["a.md"])
        assert "records" in engine.health.damaged_parts()
        assert repair_or_rebuild(settings, index, root, lambda stage, done, total: None) == ()
        assert engine.health.damaged_parts() == {}
