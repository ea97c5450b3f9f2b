"""Filters of search_memories against a naive filter over the files themselves."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dowse.config import Settings
from dowse.engine import Engine
from dowse.tools.ragdocs_memory import MemoryOptions, MemorySearchTools, MemoryToolContext
from support import write

TYPES = ("plan", "journal", "fact", "observation", "reflection")
TAGS = ("red", "green", "blue", "deep-sea", "ünïcode")
NOW = datetime(2026, 1, 1, tzinfo=UTC).timestamp()
_DAY = 86_400
# Few moments, so that filters often fall exactly on one.
MOMENTS = tuple(int(NOW) - days * _DAY for days in (0, 1, 2, 7, 30, 365, 4_000))


@dataclass(frozen=True, slots=True)
class Noted:
    type: str
    tags: tuple[str, ...]
    at: int

    def text(self, number: int) -> str:
        when = datetime.fromtimestamp(self.at, UTC).isoformat()
        lines = [f"type: {self.type}", f"created_at: {when}", "tags:", *(f"  - {it}" for it in self.tags)]
        return "\n".join(["---", *lines, "---", "", f"Walrus number {number} of the herd.", ""])


_noted = st.builds(
    Noted, st.sampled_from(TYPES), st.lists(st.sampled_from(TAGS), unique=True).map(tuple), st.sampled_from(MOMENTS)
)
_moment = st.none() | st.sampled_from([*MOMENTS, *(it + 1 for it in MOMENTS), *(it - 0.5 for it in MOMENTS)])
_filters = st.fixed_dictionaries(
    {},
    optional={
        "filter_tags": st.none() | st.lists(st.sampled_from([*TAGS, "RED", "#Blue", "none"]), max_size=3),
        "filter_type": st.none() | st.sampled_from(TYPES),
        "after_timestamp": _moment,
        "before_timestamp": _moment,
        "relative_days": st.none() | st.sampled_from([0, 0.5, 1, 2, 7, 29.5, 30, 400, 36_500]),
    },
)


class Herd:
    """Memories as files, and the tool that finds them."""

    def __init__(self, folder: Path, notes: Sequence[Noted]) -> None:
        self.memories = folder / "root/.memories"
        write(self.memories, {f"{number}.md": it.text(number) for number, it in enumerate(notes)})
        write(folder / "root", {"walrus.md": "The walrus herd is also in a document.\n"})
        settings = Settings(encoder="none", data_dir=folder / "data")
        self.engine = Engine(settings, folder / "index.db", create=True)
        self.engine.index([folder / "root"])
        desk = MemoryToolContext(lambda: self.engine, lambda: None, lambda _: "", MemoryOptions(score_threshold=0.0))
        self.search = MemorySearchTools(desk, lambda: NOW)

    def found(self, asked: Mapping[str, object]) -> set[str]:
        text = self.search.search_memories("walrus herd", limit=100, **asked).text or ""  # type: ignore[arg-type]
        names = re.findall(r"^\[\d+\] (\S+) §", text, re.MULTILINE)
        assert len(names) == len(set(names))
        return set(names)

    def expected(self, asked: Mapping[str, object]) -> set[str]:
        return {it.name for it in self.memories.glob("*.md") if _fits(it.read_text(encoding="utf-8"), asked)}


def _fits(text: str, asked: Mapping[str, object]) -> bool:
    """The file's own lines, one filter after the other."""
    tags = set(re.findall(r"^  - (.+)$", text, re.MULTILINE))
    wanted = {str(it).lstrip("#").lower() for it in asked.get("filter_tags") or ()}  # type: ignore[attr-defined]
    if wanted and not wanted & tags:
        return False
    if (kind := asked.get("filter_type")) and f"type: {kind}\n" not in text:
        return False
    at = datetime.fromisoformat(re.findall(r"created_at: (.+)", text)[0]).timestamp()
    days, after, before = (asked.get(name) for name in ("relative_days", "after_timestamp", "before_timestamp"))
    if days is not None:
        return at >= NOW - float(days) * _DAY  # type: ignore[arg-type]
    return not (after is not None and at < after) and not (before is not None and at > before)  # type: ignore[operator]


@pytest.fixture(scope="module")
def herd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Herd]:
    """Every type at every moment, with tags that differ from one to the next."""
    notes = [
        Noted(kind, tuple(tag for bit, tag in enumerate(TAGS) if (place * 7 + turn) >> bit & 1), at)
        for turn, kind in enumerate(TYPES)
        for place, at in enumerate(MOMENTS)
    ]
    made = Herd(tmp_path_factory.mktemp("herd"), notes)
    yield made
    made.engine.close()


def _is_empty(asked: Mapping[str, object]) -> bool:
    after, before = asked.get("after_timestamp"), asked.get("before_timestamp")
    inverted = after is not None and before is not None and after > before  # type: ignore[operator]
    return inverted and asked.get("relative_days") is None


@given(asked=_filters.filter(lambda it: not _is_empty(it)))
@settings(max_examples=200)
def test_any_filters_find_what_a_look_at_each_file_finds(herd: Herd, asked: dict[str, object]) -> None:
    assert herd.found(asked) == herd.expected(asked)


@given(notes=st.lists(_noted, max_size=6), asked=_filters.filter(lambda it: not _is_empty(it)))
@settings(max_examples=10)
def test_of_any_memories(notes: list[Noted], asked: dict[str, object]) -> None:
    with TemporaryDirectory() as folder:
        made = Herd(Path(folder), notes)
        try:
            assert made.found(asked) == made.expected(asked)
        finally:
            made.engine.close()


def test_a_file_edited_by_hand_between_two_calls_is_seen(tmp_path: Path) -> None:
    made = Herd(tmp_path, [Noted("fact", ("red",), MOMENTS[1]), Noted("plan", ("blue",), MOMENTS[5])])
    try:
        assert made.found({"filter_type": "fact"}) == {"0.md"}
        write(made.memories, {"1.md": Noted("fact", ("green",), MOMENTS[0]).text(1)})
        write(made.memories, {"2.md": Noted("fact", ("green",), MOMENTS[0]).text(2)})
        (made.memories / "0.md").unlink()
        assert made.found({"filter_type": "fact"}) == {"1.md", "2.md"}
        assert made.found({"filter_tags": ["blue"]}) == set()
        assert made.found({"relative_days": 0}) == {"1.md", "2.md"}
    finally:
        made.engine.close()
