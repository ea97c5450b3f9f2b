"""Documents in an index: found, cited by page and box, read by page, refused with a reason."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dowse.config import Settings
from dowse.engine import Engine
from dowse.errors import BadInput
from dowse.ingest.workers import WorkerPool
from dowse.model import Query
from dowse.tools.core_query import read_passage
from dowse.tools.core_render import hit_json
from office_files import make_pptx, shape
from support import OpenEngine, command_line


def presentation(*texts: str) -> bytes:
    """Each slide has a text that is long enough for a chunk of its own."""
    return make_pptx(*(shape(text, "title") + shape("More of this slide. " * 10) for text in texts))


@pytest.fixture
def indexed(open_engine: OpenEngine, root: Path) -> Engine:
    (root / "talk.pptx").write_bytes(presentation("Centrifugal pumps", "Cavitation damages impellers"))
    (root / "page.html").write_text(
        "<html><head><script>var hidden = 1</script></head><body><p>Valves</p></body></html>"
    )
    (root / "broken.docx").write_bytes(b"PK\x03\x04\0\0 cut off")
    engine = open_engine()
    engine.index([root])
    return engine


def test_a_hit_cites_its_page(indexed: Engine) -> None:
    (hit, *_) = indexed.search(Query("cavitation impellers", recipe="lexical")).hits
    assert (hit.path, hit.pages) == ("talk.pptx", (2,))
    assert hit_json(1, hit)["pages"] == [2]


def test_a_page_is_read_by_its_number(indexed: Engine) -> None:
    passage = read_passage(indexed, "talk.pptx:p2", None, None, None)
    assert passage.text.startswith("Cavitation damages impellers") and "Centrifugal" not in passage.text
    assert "Centrifugal" in read_passage(indexed, "talk.pptx:p1-2", None, None, None).text


@pytest.mark.parametrize(
    ("target", "problem"),
    [
        ("talk.pptx:p9", "text on pages 1 to 2, not on page 9"),
        ("page.html:p1", "no pages"),
        ("none.pdf:p1", "no indexed"),
    ],
)
def test_pages_that_do_not_exist(indexed: Engine, target: str, problem: str) -> None:
    with pytest.raises(BadInput, match=problem):
        read_passage(indexed, target, None, None, None)


def test_a_broken_document_is_skipped_with_a_reason(indexed: Engine) -> None:
    skipped = {it.path: it.reason for it in indexed.status().skipped}
    assert set(skipped) == {"broken.docx"} and skipped["broken.docx"]


def test_markup_and_scripts_are_not_text(indexed: Engine) -> None:
    assert [it.path for it in indexed.search(Query("valves", recipe="lexical")).hits] == ["page.html"]
    assert not indexed.search(Query("hidden", recipe="lexical")).hits


def test_templates_stay_verbatim(open_engine: OpenEngine, root: Path) -> None:
    key = "ghp_" + "a1B2" * 9
    (root / "page.html").write_text(f"<p class='x'>\n{{% if user %}}{key}{{% endif %}}\n</p>\n")
    engine = open_engine()
    engine.index([root])
    (record,) = engine.record("page.html")
    text = engine.lines(record).text
    assert record.kind == "code" and text.startswith("<p class='x'>\n{% if user %}ghp_*") and key not in text


def test_a_table_keeps_no_secret(open_engine: OpenEngine, root: Path) -> None:
    key = "ghp_" + "a1B2" * 9
    (root / "keys.csv").write_text(f"name,value\ntoken,{key}\n")
    engine = open_engine(extra_extensions=("csv",))
    engine.index([root])
    assert key not in "".join(it.chunk.text for it in engine.export())
    assert engine.search(Query("token", recipe="lexical")).hits


def test_the_layout_goes_with_its_record(indexed: Engine, root: Path) -> None:
    store = indexed._core.store
    (record,) = indexed.record("talk.pptx")
    assert store.catalog.layout(record)
    (root / "talk.pptx").unlink()
    indexed.index([root])
    assert store.catalog.layout(record) is None
    assert not list(store.db.rows("SELECT record FROM layouts WHERE record NOT IN (SELECT id FROM records)"))  # type: ignore[attr-defined]


def test_time_and_size_of_a_document_are_limited(tmp_path: Path, root: Path) -> None:
    (root / "large.pptx").write_bytes(presentation("x" * 5_000))
    settings = Settings(encoder="none", data_dir=tmp_path / "data", max_file_bytes=100, max_document_bytes=200)
    with Engine(settings, tmp_path / "i.db", create=True, workers=WorkerPool(1, 30.0)) as engine:
        engine.index([root])
        (skipped,) = engine.status().skipped
    assert "max_document_bytes" in skipped.reason


def test_the_command_line_cites_pages(
    indexed: Engine, root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = ("--root", str(root), "--index", str(tmp_path / "index" / "index.db"), "--data-dir", str(tmp_path / "data"))
    run = command_line(capsys)
    code, out, _ = run("search", "cavitation", "--mode", "lexical", *flags)
    assert code == 0 and "p. 2" in out
    code, out, _ = run("search", "cavitation", "--mode", "lexical", "--json", *flags)
    assert json.loads(out)["hits"][0]["pages"] == [2]
    code, out, _ = run("read", "talk.pptx:p2", *flags)
    assert code == 0 and out.startswith("Cavitation damages impellers\n")
