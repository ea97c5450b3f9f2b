"""What the ragdocs tools answer over documents made for one question each."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from ragdocs_server import STATS, page_of

from dowse.live.jobs import JobQueue
from dowse.tools.ragdocs import RagdocsTools
from support import OpenEngine, write

Documents = Callable[..., RagdocsTools]


@pytest.fixture
def documents(root: Path, open_engine: OpenEngine) -> Documents:
    def indexed(files: dict[str, str], **settings: object) -> RagdocsTools:
        write(root, files)
        engine = open_engine(**{"min_chunk_chars": 5, "freshness_timeout_ms": 0, **settings})
        engine.index([root])
        return RagdocsTools(lambda: engine, JobQueue(), patience_s=0)

    return indexed


def test_one_of_each_fills_the_answer_where_one_document_has_most_of_the_candidates(documents: Documents) -> None:
    sections = "".join(f"## Part {it}\n\n{f'whale w{it} x{it} y{it} z{it} ' * 20}\n\n" for it in range(60))
    others = {f"{it}.md": f"# Other {it}\n\nOne whale seen by boat{it} near cape{it} on day{it}.\n" for it in range(4)}
    tools = documents({"long.md": f"# Long\n\n{sections}", **others})
    unique = page_of(tools.query_unique_documents("whale", similarity_threshold=1.0).text)
    assert sorted(unique.paths) == ["0.md", "1.md", "2.md", "3.md", "long.md"]


def test_stats_of_repetitions(documents: Documents) -> None:
    line = "The pilot boards the vessel two miles before the bar"
    more = "and leaves it again at the quay in the evening, with the papers"
    tools = documents({"a.md": f"# A\n\n{line}.\n", "b.md": f"# A\n\n{line}.\n", "c.md": f"# C\n\n{line} {more}.\n"})
    for threshold, counts in ((1.0, ("3", "2", "0")), (0.5, ("3", "1", "1"))):
        answer = page_of(tools.query_documents("pilot vessel", similarity_threshold=threshold, min_score=0.0).text)
        shown = STATS.fullmatch(answer.stats)
        assert shown is not None
        assert shown.group(1, 4, 6) == counts
        assert len(answer.results) == int(counts[1])


@pytest.mark.parametrize("encoder", ["hashing", "static"])
@pytest.mark.parametrize("tool", ["query_documents", "query_unique_documents"])
def test_different_records_of_one_form_are_all_shown(documents: Documents, encoder: str, tool: str) -> None:
    advice = "Please back up the database before the upgrade and read the notes. It takes about ten minutes."
    release = "# Release {0}.0\n\nRelease {0}.0 of the product is out. {1} Build {2}.\n"
    tools = documents({f"r{it}.md": release.format(it, advice, it * 31) for it in range(160)}, encoder=encoder)
    answer = page_of(getattr(tools, tool)("release upgrade database", top_n=20).text)
    assert len(set(answer.paths)) == 20


@pytest.mark.parametrize("encoder", ["hashing", "static"])
def test_near_copies_are_shown_once(documents: Documents, encoder: str) -> None:
    text = (
        "The pilot boards the vessel two miles before the bar and stays until the quay. He knows the sands, speaks to "
        "the tower by radio, and hands the papers to the harbour master in the evening, who signs them."
    )
    other = (
        text.replace("evening", "morning").replace("radio", "lamp").replace("sands", "rocks").replace("two", "three")
    )
    others = {f"{it}.md": f"# Pilot {it}\n\nPilot {it} lives in street {it * 7}.\n" for it in range(20)}
    tools = documents(
        {"old.md": f"# Pilots\n\n{text}\n", "new.md": f"# Pilots\n\n{other}\n", **others}, encoder=encoder
    )
    answer = page_of(tools.query_documents("pilot boards vessel before the bar", top_n=20).text)
    assert len({"old.md", "new.md"}.intersection(answer.paths)) == 1
    assert len(answer.results) > 10


def test_in_a_small_wiki_what_the_best_links_to_comes_before_the_rest(documents: Documents) -> None:
    others = {f"other{it}.md": f"# Other {it}\n\nBread and butter number{it} of baker{it}.\n" for it in range(6)}
    files = {
        "hub.md": "# Anchor\n\nThe anchor holds the vessel. See [[zone]].\n",
        "zone.md": "# Zone\n\nMud.\n",
        **others,
    }
    tools = documents(files)
    assert page_of(tools.query_documents("anchor of a vessel").text).paths == ["hub.md", "zone.md"]
    for top_n in (2, 5, 50):
        every = page_of(tools.query_documents("anchor of a vessel", top_n=top_n, min_score=0).text)
        assert every.paths[:2] == ["hub.md", "zone.md"]


def test_a_description_is_searched_and_counts_more_than_the_text(documents: Documents, root: Path) -> None:
    front = "---\ndescription: Where to moor for the night\n---\n"
    files = {f"{it}.md": f"# Page {it}\n\nYou may moor at berth{it}, and sail on.\n" for it in range(5)}
    text = "# Overview\n\nThe quay is long, and the lamps are lit.\n"
    tools = documents({**files, "described.md": f"{front}{text}"}, encoder="none")
    assert page_of(tools.query_documents("moor").text).paths[0] == "described.md"
    write(
        root,
        {"described.md": f"{front.replace('moor', 'rest')}# Overview\n\nThe quay is long, and the lamps are lit.\n"},
    )
    tools._engine().index([root])
    assert "described.md" not in page_of(tools.query_documents("moor").text).paths
    assert page_of(tools.query_documents("rest for the night").text).paths[0] == "described.md"


def test_at_most_two_passages_of_a_document(documents: Documents) -> None:
    sections = "".join(f"## Part {it}\n\n{f'whale w{it} x{it} y{it} z{it} ' * 100}\n\n" for it in range(9))
    answer = page_of(documents({"long.md": f"# Long\n\n{sections}"}).query_documents("whale", top_n=10).text)
    assert answer.paths == ["long.md", "long.md"]


def test_the_beginning_shown_is_that_of_what_was_found_not_of_the_section_around_it(documents: Documents) -> None:
    intro = "The cache holds answers that were costly to compute, and is shared by all the workers there are. " * 3
    tools = documents({"cache.md": f"# Cache\n\n{intro}\n\n## Eviction\n\nEntries nobody asked for go first.\n"})
    short = page_of(tools.query_documents("eviction of entries", top_n=1).text).results[0]
    assert short.content == "## Eviction\n\nEntries nobody asked for go first."
    whole = page_of(tools.query_documents("explain the eviction of entries", top_n=1).text).results[0]
    assert whole.content.startswith("# Cache") and whole.content.endswith(short.content)


def test_names_with_brackets_are_names(documents: Documents) -> None:
    files = {"[draft] plan.md": "# Plan\n\nsail\n", "{x}.md": "# X\n\nsail away\n", "y.md": "# Y\n\nsail home\n"}
    left = page_of(documents(files).query_documents("sail", excluded_files=["[draft] plan.md", "{x}"]).text)
    assert left.paths == ["y.md"]


def test_a_file_that_changed_since_is_named(documents: Documents, root: Path) -> None:
    tools = documents({"a.md": "# A\n\nanchor\n", "b.md": "# B\n\nanchor chain\n"})
    assert page_of(tools.query_documents("anchor").text).notes == ""
    write(root, {"a.md": "# A\n\nanother text, and longer than before\n"})
    (root / "b.md").unlink()
    answer = page_of(tools.query_documents("anchor").text)
    ranks = {it.path: it.rank for it in answer.results}
    assert set(answer.notes.splitlines()) == {
        "- 2 changed files are not in this answer yet: a.md, b.md",
        "- run `dowse index` to update the index",
        f"- [{ranks['a.md']}] has changed since it was indexed",
        f"- [{ranks['b.md']}] was deleted since it was indexed",
    }


def test_several_roots_have_full_paths_which_can_be_excluded(tmp_path: Path, open_engine: OpenEngine) -> None:
    write(tmp_path, {"one/a.md": "# A\n\nanchor one\n", "two/b.md": "# B\n\nanchor two\n"})
    engine = open_engine()
    engine.index([tmp_path / "one", tmp_path / "two"])
    tools = RagdocsTools(lambda: engine, JobQueue(), patience_s=0)
    places = {str(tmp_path / "one/a.md"), str(tmp_path / "two/b.md")}
    assert set(page_of(tools.query_documents("anchor").text).paths) == places
    for place in places:
        left = page_of(tools.query_documents("anchor", excluded_files=[place]).text)
        assert set(left.paths) == places - {place}


def test_an_index_of_nothing_says_so(open_engine: OpenEngine) -> None:
    engine = open_engine()
    answer = page_of(RagdocsTools(lambda: engine, JobQueue(), patience_s=0).query_documents("anchor").text)
    assert answer.body == "0 hits; 0 of 0 files indexed; nothing is indexed yet"
    assert "- nothing is indexed yet" in answer.notes


@pytest.mark.parametrize("patience_s", [0.0, 30.0])
def test_the_first_question_waits_for_the_indexing_but_not_for_ever(
    root: Path, open_engine: OpenEngine, patience_s: float
) -> None:
    write(root, {"a.md": "# A\n\nanchor\n"})
    engine, jobs = open_engine(), JobQueue()
    may_start = threading.Event()

    def work(progress: object) -> dict[str, object]:
        may_start.wait(30)
        engine.index([root])
        return {}

    tools = RagdocsTools(lambda: engine, jobs, patience_s)
    jobs.submit("index", work)
    if patience_s:
        may_start.set()
    answer = page_of(tools.query_documents("anchor").text)
    may_start.set()
    jobs.close(30)
    assert answer.paths == (["a.md"] if patience_s else [])
    assert ("indexing is running" in answer.notes) == (not patience_s)


def test_a_failed_indexing_is_told(open_engine: OpenEngine) -> None:
    engine, jobs = open_engine(), JobQueue()

    def work(progress: object) -> dict[str, object]:
        raise PermissionError("the disk is locked away")

    tools = RagdocsTools(lambda: engine, jobs, patience_s=30)
    jobs.submit("index", work)
    notes = page_of(tools.query_documents("anchor").text).notes
    jobs.close()
    assert "- indexing failed: PermissionError: the disk is locked away" in notes


def test_no_question_waits_for_a_better_encoder(open_engine: OpenEngine, root: Path) -> None:
    write(root, {"a.md": "# A\n\nanchor\n"})
    engine = open_engine()
    engine.index([root])
    jobs, ended = JobQueue(), threading.Event()

    def encode(progress: object) -> dict[str, object]:
        ended.wait(60)
        return {}

    job = jobs.submit("encode", encode, background=True)
    try:
        answer = RagdocsTools(lambda: engine, jobs, patience_s=50).query_documents("anchor").text
        assert "a.md" in answer and job.finished is None
    finally:
        ended.set()
        jobs.close()
