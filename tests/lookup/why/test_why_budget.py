"""Whatever there is to say, it fits: as JSON and as text; no section starves, what is left out is counted."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from why_ground import ADA, FIRST, Project

from dowse.lookup.why import explain
from dowse.lookup.why_budget import cut_text, fit_notes, fit_sections, fit_source, item_chars
from dowse.lookup.why_target import RelatedItem, SectionItems, SourceExcerpt, WhyAnswer
from dowse.model import Completeness, Extraction, Link, SkippedItem, Symbol
from dowse.tools.render_calls import related_item_json, why_json, why_text
from oracle.dict_store import DictStore

ALL_THERE = Completeness(indexed=9, listed=9, skipped=0, chunks=9, vectors=0, synced_at=1.0)
FILE = "src/a_rather_long_name_of_a_module.py"


@pytest.fixture(scope="module")
def crowded() -> Project:
    """Far more of everything than fits, with names, titles and texts that are long and need escapes."""
    project = Project(DictStore())
    body = "".join(f'    value_{it} = "{it} \\"quoted\\" \\\\ {"x" * 60}"\n' for it in range(80))
    callers = "".join(f"\n\ndef caller_{it}():\n    return shape_of_things(1, 2)\n" for it in range(40))
    project.files({
        FILE: f"def shape_of_things({', '.join(f'parameter_{it}: int' for it in range(40))}):\n{body}{callers}",
        "tests/test_shape.py": "from src.a_rather_long_name_of_a_module import shape_of_things\n" + callers,
        **{f"docs/{it}.md": f'# "Page" {it}\n\nSee `shape_of_things`, "{it}" \\ {"é" * 200}\n' for it in range(30)},
    })  # fmt: skip
    for it in range(60):
        links = [Link("touches", FILE, 1, "M"), Link("changes", f"{FILE}#shape_of_things", 1, f'"hunk {it}" ' * 30)]
        project.commit(f"{it:040x}", f'Title "{it}" {"very long " * 100}', it + 1, links, author=ADA * 3)
        project.memory(f"note-{it}.md", "n", [Link("mentions", FILE, 1, f'about "{it}" \\ {"long " * 60}')])
        project.stale[f"note-{it}.md"] = (f"{FILE} has changed since",)
    return project


def shown(answer: WhyAnswer) -> list[str]:
    data = why_json(answer, ALL_THERE)
    return [json.dumps(data, ensure_ascii=False), why_text(answer)]


@pytest.mark.parametrize("budget", [150, 151, 175, 333, 700, 1_500, 2_999, 12_345, 100_000])
def test_any_budget_is_kept(crowded: Project, budget: int) -> None:
    answer = explain(crowded.bare(), "shape_of_things", budget)
    for text in shown(answer):
        assert len(text) <= budget * 4
    totals = {it.name: it.total for it in answer.sections}
    assert totals == {"callers": 40, "commits": 60, "memories": 60, "documents": 30, "tests": 40}


def test_most_of_a_budget_is_used_and_every_section_has_its_share(crowded: Project) -> None:
    answer = explain(crowded.bare(), "shape_of_things", 1_500)
    assert len(shown(answer)[0]) > 0.75 * 1_500 * 4
    counts = [len(it.shown) for it in answer.sections]
    assert min(counts) >= 1 and max(counts) - min(counts) <= 1
    assert 0 < len(answer.source.lines) < 81 and answer.source.left_out == 81 - len(answer.source.lines)


@st.composite
def sections(draw: st.DrawFn) -> list[tuple[str, SectionItems]]:
    texts = st.text(max_size=30)
    one = st.builds(RelatedItem, st.just("calls"), texts, st.none(), how=texts, text=texts)
    return [(name, SectionItems(tuple(draw(st.lists(one, max_size=8))))) for name in ("a", "b", "c")]


@given(found=sections(), room=st.integers(-100, 4_000))
def test_rounds_are_fair(found: list[tuple[str, SectionItems]], room: int) -> None:
    """In order, without gaps; a section has fewer than another only if it has no more, or its next one is too long."""
    for (name, all_of_it), section in zip(found, fit_sections(found, room), strict=True):
        assert section.name == name and section.total == len(all_of_it.neighbours)
        names = [it.name for it in all_of_it.neighbours]
        assert [it.name for it in section.shown] == names[: len(section.shown)]
        assert section.left_out == section.total - len(section.shown)


@given(lines=st.lists(st.text(max_size=100), max_size=80), room=st.integers(-100, 8_000))
def test_source_takes_its_share_only(lines: list[str], room: int) -> None:
    source, used = fit_source(SourceExcerpt(5, tuple(lines), 3), room)
    assert used <= max(room, 0) * 0.3
    if source.lines:
        assert source.lines == tuple(lines[: len(source.lines)])
        assert source.left_out == 3 + len(lines) - len(source.lines)


def test_what_is_said_besides_takes_its_share(crowded: Project) -> None:
    said = [f"{it} changed files are not in this answer yet: {'a/rather/long/path.py, ' * 10}" for it in range(3)]
    answer = explain(crowded.bare(), "shape_of_things", 600, index_notes=said)
    assert all(len(text) <= 600 * 4 for text in shown(answer))
    assert answer.notes == tuple(said)
    assert sum(len(it.shown) for it in answer.sections) > 0


@pytest.mark.parametrize(("budget", "most"), [(150, 5), (400, 12), (1_500, 20)])
def test_candidates_fit_and_are_counted(budget: int, most: int) -> None:
    project = Project(DictStore())
    project.files({f"src/package_{it}/module_of_some_name.py": "def shape():\n    pass\n" for it in range(30)})
    answer = explain(project.bare(), "shape", budget)
    assert 1 <= len(answer.candidates) <= most
    assert all(len(text) <= budget * 4 for text in shown(answer))
    listed = "is" if len(answer.candidates) == 1 else "are"
    assert f"matches 30 (the first {len(answer.candidates)} {listed} listed)" in answer.notes[0]


LONG_TARGETS = ("x" * 900, "é" * 1_000, "\"'\\" * 300, "\0" * 900, "\U000e0001" * 900, "src/" * 200 + "x.py:12")


@pytest.mark.parametrize("budget", [150, 200, 1_500])
@pytest.mark.parametrize("target", LONG_TARGETS, ids=lambda it: ascii(it[:5]))
def test_a_long_name_that_nothing_has_keeps_the_budget(target: str, budget: int) -> None:
    project = Project(DictStore())
    project.files({f"{'x/' * 99}{it}.py": f"def {'x' * 99}{it}():\n    pass\n" for it in range(9)})
    answer = explain(project.bare(), target, budget)
    assert all(len(text) <= budget * 4 for text in shown(answer))
    assert target.startswith(answer.target.removesuffix("…")) and len(answer.target) > 5
    assert answer.notes[0].startswith("no file, symbol or link named ")


def test_of_the_names_near_it_the_first_that_fit_are_shown() -> None:
    project = Project(DictStore())
    project.files({"a.py": "".join(f"def shape_{'x' * 150}{it}():\n    pass\n\n\n" for it in range(5))})
    target = f"shape_{'x' * 150}"
    least, more = (explain(project.bare(), target, it) for it in (250, 1_500))
    assert all(len(text) <= 1_000 for text in shown(least))
    assert len(least.near) < len(more.near) == 5 and least.near == more.near[: len(least.near)]
    assert least.near and more.target == target


@pytest.mark.parametrize("budget", [150, 200, 1_500])
@pytest.mark.parametrize("target", LONG_TARGETS, ids=lambda it: ascii(it[:5]))
def test_a_long_name_that_only_links_have_keeps_the_budget(target: str, budget: int) -> None:
    project = Project(DictStore())
    project.memory("note.md", "n", [Link("mentions", target, 1, "of it")])
    answer = explain(project.bare(), target, budget)
    assert all(len(text) <= budget * 4 for text in shown(answer))
    assert {it.name: it.total for it in answer.sections}["memories"] == 1
    assert answer.subject and answer.subject.name == answer.target and "is not indexed" in answer.notes[0]


def test_a_long_way_to_say_a_path_keeps_the_budget() -> None:
    project = Project(DictStore())
    project.files({f"{it}/a.py": "def a():\n    pass\n" for it in range(3)})
    one, several = (explain(project.bare(), f"{'./' * 450}{it}", 150) for it in ("1/a.py", "a.py"))
    assert one.subject and one.subject.name == "1/a.py"
    assert several.candidates and "matches 3" in several.notes[0]
    for answer in (one, several):
        assert all(len(text) <= 600 for text in shown(answer))


def test_a_long_path_that_was_skipped_keeps_the_budget() -> None:
    project = Project(DictStore())
    path = f"{'long/' * 150}x.bin"
    project.store.writer.skip(SkippedItem(project.files({}).name, path, "it is binary"))
    answer = explain(project.bare(), path, 150)
    assert all(len(text) <= 600 for text in shown(answer))
    assert answer.notes[0].startswith("long/long/") and answer.notes[0].endswith("… is not indexed: it is binary")


_HOSTILE = st.builds(
    lambda alphabet, times: (alphabet * times)[:5_000],
    st.sampled_from(["x", "é", "\"'\\", "\1", "\U000e0001", "a b ", "a/"]) | st.text(min_size=1, max_size=9),
    st.integers(1, 5_000),
)
_NAME = _HOSTILE | st.just("plain")


@settings(deadline=None, max_examples=100)
@given(
    budget=st.integers(150, 3_000),
    names=st.tuples(*[_NAME] * 6),
    besides=st.lists(_HOSTILE, max_size=9),
    twice=st.booleans(),
)
def test_names_and_notes_of_any_length_keep_the_budget(
    budget: int, names: tuple[str, ...], besides: list[str], twice: bool
) -> None:
    """Of a definition or several, its file, its collection, a commit and its author, a memory."""
    name, path, root, title, author, note = names
    project = Project(DictStore(), root=f"/{root}", problem=note)
    for place in (path, f"{path}2")[: 1 + twice]:
        project.files({place: ""})
        symbol = Symbol(name, "function", 1, 3, signature=name)
        found = Extraction("code", title, "a\nb\nc\n", (), symbols=(symbol,), links=(), facets={"author": author})
        project.put(project.store.catalog.collections()[0].name, place, found)
    links = [Link("touches", path, 1, "M"), Link("changes", f"{path}#{name}", 1, note)]
    project.commit(FIRST, title, 1, links, author=author)
    project.memory(f"{note}.md", title, [Link("mentions", path, 1, note), Link("mentions", note[:900], 1, note)])
    for target in (name[:1_000], path[:990], f"{path[:990]}:2", f"commit:{FIRST}", f"memory:{note[:900]}", note[:900]):
        if target.strip():
            answer = explain(project.bare(), target, budget, index_notes=besides)
            assert max(map(len, shown(answer))) <= budget * 4


def test_long_notes_are_cut_alike_short_ones_are_whole_and_the_rest_is_counted() -> None:
    assert fit_notes(["short", "long " * 90, "longer " * 90, "short"], 200) == (
        "short", ("long " * 90)[:85] + "…", ("longer " * 90)[:85] + "…",
    )  # fmt: skip
    assert fit_notes([f"{it}{'x' * 300}" for it in range(9)], 100) == ("0" + "x" * 72 + "…", "8 more notes")
    assert fit_notes([], 100) == ()


@given(notes=st.lists(_HOSTILE, max_size=12), room=st.integers(60, 2_000))
def test_notes_keep_to_their_room(notes: list[str], room: int) -> None:
    said = fit_notes(notes, room)
    assert sum(len(json.dumps(it, ensure_ascii=False)) + 4 for it in said) <= room
    assert bool(said) == bool(notes)


@given(text=st.text(max_size=60) | st.text(alphabet="'\"\\a\0\U000e0001", max_size=40), most=st.integers(-5, 80))
def test_a_beginning_takes_no_more_than_it_may_and_hardly_less(text: str, most: int) -> None:
    cut = cut_text(text, most)
    taken = [len(json.dumps(it, ensure_ascii=False)) for it in (cut, repr(cut))]
    if cut != text:
        assert text.startswith(cut.removesuffix("…")) and cut.endswith("…")
        assert cut == "…" or max(taken) <= most
        longer = f"{text[: len(cut)]}…"
        assert max(len(json.dumps(it, ensure_ascii=False)) for it in (longer, repr(longer))) > most
    else:
        assert max(taken) <= most or text == "…"


def test_the_signature_gives_way_to_the_reasons(crowded: Project) -> None:
    least, more = (explain(crowded.bare(), "shape_of_things", it) for it in (150, 1_500))
    for answer, has_signature in ((least, False), (more, True)):
        assert answer.subject and answer.subject.definition
        assert bool(answer.subject.definition.symbol.signature) is has_signature


def test_what_an_item_takes_is_known_and_hardly_overrated(crowded: Project) -> None:
    everything = explain(crowded.bare(), "shape_of_things", 100_000)
    for it in (it for section in everything.sections for it in section.shown):
        taken = len(json.dumps(related_item_json(it, ""), ensure_ascii=False)) + len(", ")
        assert taken <= item_chars(it) <= taken + 30
