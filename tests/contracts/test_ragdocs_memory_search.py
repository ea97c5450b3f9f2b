"""Searching memories over the wire: what each parameter does, and what is said of each memory."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from ragdocs_memory_server import did, found, memory_folder, names, note, noting, results
from ragdocs_server import text
from rifflux_server import Served

from dowse.text.references import content_digest
from dowse.text.times import parse_time
from support import write

_DAY = 86_400
_LONG = "\n\n".join(f"## Part {n}\n\n" + f"Puffin burrow number {n} is deep and dry. " * 40 for n in range(3))


def at(text: str) -> float:
    return parse_time(text, 0.0)


NOTES = {
    "old.md": note(
        "Gulls nest on cliffs.", type="fact", tags=("gull", "bird", "cliff"), created_at="2020-01-01T00:00:00Z"
    ),
    "mid.md": note(
        "Gulls nest on roofs.", type="plan", tags=("gull", "bird", "roof"), created_at="2023-06-01T12:00:00Z"
    ),
    "new.md": note("Gulls nest on ships.", type="fact", tags=("gull", "ship"), created_at="2025-12-31T23:59:59Z"),
    "puffin.md": note(f"# Puffin\n\n{_LONG}", type="journal", created_at="2024-01-01T00:00:00Z"),
    "tower-1.md": note("The tower is red.", aliases=("Red Tower",), created_at="2024-01-01T00:00:00Z"),
    "tower-2.md": note("The tower is blue. Supersedes [[memory:tower-1]].", created_at="2024-02-01T00:00:00Z"),
    "closed.md": note("The ferry is closed.", valid_until="2021-01-01", created_at="2020-12-01T00:00:00Z"),
    "coming.md": note("The ferry will be free.", valid_from="2199-01-01", created_at="2020-12-01T00:00:00Z"),
    "shelved.md": note("The ferry was sold.", status="archived", created_at="2020-12-01T00:00:00Z"),
    "odd.md": "---\n- no\n- mapping\n---\n\nThe quagga is odd.\n",
    "anchored.md": note(
        "The heron class is small.",
        anchors=("src/heron.py#Heron@" + content_digest("class Heron:\n    legs = 2"),),
        created_at="2024-01-01T00:00:00Z",
    ),
    "link-plan.md": note("We plan to rework the lock of [[src/server.py]].", created_at="2024-01-01T00:00:00Z"),
    "link-name.md": note("See [[src/server]], it answers slowly.", created_at="2024-01-02T00:00:00Z"),
    "link-else.md": note("We plan to rework the lock of [[src/client.py]].", created_at="2024-01-03T00:00:00Z"),
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("search") / "work"
    write(folder, {"src/heron.py": "class Heron:\n    legs = 2\n"})
    with noting(folder, NOTES) as served:
        yield served


# --- search_memories ---


def test_a_result_says_what_it_is_and_is_whole(server: Served) -> None:
    first = found(server, "gulls on roofs", limit=1, filter_type="plan")[0]
    assert (first.rank, first.name) == (1, "mid.md")
    assert 0 < first.score <= 1
    assert first.content == (
        "Type: plan | Status: active | Tags: bird, gull, roof | Created: 2023-06-01T12:00:00Z\nGulls nest on roofs."
    )


def test_limit(server: Served) -> None:
    assert len(found(server, "gulls nest", limit=2)) == 2
    assert names(server, "gulls nest", limit=3) == {"old.md", "mid.md", "new.md"}
    assert len(found(server, "gulls nest tower ferry plan puffin", limit=100)) > len(
        found(server, "gulls nest tower ferry plan puffin")
    )


def test_documents_are_no_memories_and_memories_no_documents(server: Served) -> None:
    assert "guide.md" not in names(server, "lighthouse", limit=100)
    assert "Gulls" not in text(server, "query_documents", query="gulls nest on cliffs")


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        (["bird"], {"old.md", "mid.md"}),
        (["roof", "ship"], {"mid.md", "new.md"}),
        (["#Bird"], {"old.md", "mid.md"}),
        (["bir"], set()),
        ([], {"old.md", "mid.md", "new.md"}),
        (None, {"old.md", "mid.md", "new.md"}),
    ],
)
def test_filter_tags(server: Served, tags: list[str] | None, expected: set[str]) -> None:
    assert names(server, "gulls nest", filter_tags=tags, limit=3) == expected


def test_filter_type(server: Served) -> None:
    assert names(server, "gulls nest", filter_type="fact") == {"old.md", "new.md"}
    assert names(server, "gulls nest", filter_type="reflection") == set()


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"after_timestamp": at("2023-06-01T12:00:00Z")}, {"mid.md", "new.md"}),
        ({"after_timestamp": at("2023-06-01T12:00:01Z")}, {"new.md"}),
        ({"before_timestamp": at("2023-06-01T12:00:00Z")}, {"old.md", "mid.md"}),
        ({"before_timestamp": int(at("2023-06-01T11:59:59Z"))}, {"old.md"}),
        ({"after_timestamp": at("2021-01-01"), "before_timestamp": at("2024-01-01")}, {"mid.md"}),
        ({"after_timestamp": None, "before_timestamp": None, "relative_days": None}, {"old.md", "mid.md", "new.md"}),
        ({"after_timestamp": 9_000_000_000}, set()),
        ({"before_timestamp": 0}, set()),
    ],
)
def test_timestamps_really_filter(server: Served, given: dict[str, float], expected: set[str]) -> None:
    assert names(server, "gulls nest", filter_tags=["gull"], **given) == expected


def test_relative_days_override_the_timestamps(server: Served) -> None:
    def gulls(**given: float) -> set[str]:
        return names(server, "gulls nest", filter_tags=["gull"], **given)

    days = (time.time() - at("2023-01-01")) / _DAY
    assert gulls(relative_days=days) == {"mid.md", "new.md"}
    never = {"after_timestamp": at("2024-01-02"), "before_timestamp": at("2024-01-01")}
    assert gulls(relative_days=days, **never) == {"mid.md", "new.md"}
    assert gulls(relative_days=0) == set()
    assert gulls(relative_days=36_500) == {"old.md", "mid.md", "new.md"}


def test_load_full_memory(server: Served) -> None:
    (whole,) = found(server, "puffin burrow", limit=1)
    assert "## Part 0" in whole.content
    assert "## Part 2" in whole.content
    assert whole == found(server, "puffin burrow", limit=1, load_full_memory=True)[0]
    (passage,) = found(server, "puffin burrow", limit=1, load_full_memory=False)
    assert passage.name == "puffin.md"
    assert len(passage.content) < len(whole.content)


def test_each_memory_comes_once(server: Served) -> None:
    found_names = [it.name for it in found(server, "puffin burrow", limit=10)]
    assert len(found_names) == len(set(found_names))


def test_a_very_long_memory_is_cut_and_says_so(server: Served) -> None:
    did(server, "create_memory", filename="whale", content="Whales sing long songs. " * 2_000)
    (whole,) = found(server, "whales sing long songs", limit=1)
    assert len(whole.content) < 21_000
    assert "more characters; see read_memory)" in whole.content


def test_an_answer_without_results_says_what_was_searched(server: Served) -> None:
    answer = text(server, "search_memories", query="gulls nest", filter_tags=["nothing-has-this"])
    assert answer.startswith("# Memory Search Results\n\n0 hits; ")


# --- what is said of a memory ---


@pytest.mark.parametrize(
    ("query", "name", "said"),
    [
        ("tower is red", "tower-1.md", "superseded by tower-2.md"),
        ("ferry is closed", "closed.md", "no longer valid: it ended 2021-01-01"),
        ("ferry will be free", "coming.md", "not valid before 2199-01-01"),
        ("ferry was sold", "shelved.md", "archived"),
        ("quagga is odd", "odd.md", "is not a mapping"),
    ],
)
def test_a_memory_says_why_it_may_not_count(server: Served, query: str, name: str, said: str) -> None:
    (told,) = [it for it in found(server, query, limit=20) if it.name == name]
    lines = [it for it in told.content.splitlines() if it.startswith("Note: ")]
    assert len(lines) == 1
    assert said in lines[0]
    read = text(server, "read_memory", filename=name)
    assert "\n\n# Notes\n\n- " in read
    assert said in read.partition("\n# Notes\n")[2]


def test_a_memory_is_stale_when_its_code_has_changed(server: Served) -> None:
    (before,) = found(server, "heron class small", limit=1)
    assert "Note: " not in before.content
    assert "# Notes" not in text(server, "read_memory", filename="anchored")
    write(server.folder, {"src/heron.py": "class Heron:\n    legs = 4\n"})
    (after,) = found(server, "heron class small", limit=1)
    assert "Note: stale: src/heron.py#Heron has changed since the memory was written" in after.content
    assert "- stale: src/heron.py#Heron has changed" in text(server, "read_memory", filename="anchored")


# --- search_linked_memories ---


@pytest.mark.parametrize(
    "spelling", ["src/server.py", "./src/server.py", "src/server", "{root}/src/server.py", "server.py"]
)
def test_what_is_linked_to_need_not_exist(server: Served, spelling: str) -> None:
    target = spelling.format(root=server.folder)
    answer = text(server, "search_linked_memories", query="rework the lock", target_document=target)
    linked = results(answer, f"# Memories Linked to {target}")
    assert [it.name for it in linked] == ["link-plan.md", "link-name.md"]
    assert linked[0].content == (
        "Type: journal | Status: active | Created: 2024-01-01T00:00:00Z\n"
        "- plans src/server.py (line 5): We plan to rework the lock of [[src/server.py]]."
    )
    assert linked[0].score > linked[1].score


def test_the_query_decides_which_comes_first(server: Served) -> None:
    answer = text(server, "search_linked_memories", query="answers slowly", target_document="src/server.py")
    assert results(answer, "# Memories Linked to src/server.py")[0].name == "link-name.md"


def test_the_limit_of_linked_memories_is_said(server: Served) -> None:
    answer = text(server, "search_linked_memories", query="lock", target_document="src/server.py", limit=1)
    assert len(results(answer, "# Memories Linked to src/server.py")) == 1
    assert answer.endswith("# Notes\n\n- 1 more link to it; raise limit")


def test_memories_are_linked_to_as_well(server: Served) -> None:
    answer = text(server, "search_linked_memories", query="tower", target_document="memory:tower-1")
    assert [it.name for it in results(answer, "# Memories Linked to memory:tower-1")] == ["tower-2.md"]


@pytest.mark.parametrize("target", ["tower-1", "tower-1.md", "Tower-1", "red tower", "memory:Red Tower"])
def test_a_memory_is_linked_to_by_whatever_it_is_called(server: Served, target: str) -> None:
    answer = text(server, "search_linked_memories", query="tower", target_document=target)
    assert [it.name for it in results(answer, f"# Memories Linked to {target}")] == ["tower-2.md"]


def test_nothing_links_to_it(server: Served) -> None:
    answer = text(server, "search_linked_memories", query="lock", target_document="src/other.py")
    looked_at = len(list(memory_folder(server.folder).glob("*.md")))
    assert answer == f"# Memories Linked to src/other.py\n\nNo memory links to it; {looked_at} memories searched."


def test_the_configuration_counts(tmp_path: Path) -> None:
    """Facts fade at once, plans never; what is not sure enough is left out."""
    config = """
        [memory]
        score_threshold = 0.39
        decay_fact = { decay_rate = 0.0, floor_multiplier = 0.01 }
        decay_plan = { decay_rate = 1.0, floor_multiplier = 1.0 }
        """
    folder = tmp_path / "work"
    write(folder, {".mcp-markdown-ragdocs/config.toml": config})
    notes = {
        "fact.md": note("Gulls nest, gulls nest.", type="fact", created_at="2025-12-31"),
        "plan.md": note("Gulls nest and sleep here and there.", type="plan", created_at="2001-01-01"),
        "else.md": note("Otters once saw gulls, and slept.", type="plan", created_at="2001-01-01"),
    }
    with noting(folder, notes, DOWSE_ENCODER="none") as served:
        first, second = found(served, "gulls nest")
        assert (first.name, second.name) == ("plan.md", "fact.md")
        assert second.score < 0.02 < first.score


def test_nothing_was_unexpected(server: Served) -> None:
    assert server.errors.read_text(encoding="utf-8") == ""
