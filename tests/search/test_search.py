"""Flow 2 through the engine: modes, scopes, evidence, steps, budget, freshness, completeness."""

from __future__ import annotations

from dataclasses import replace
from importlib import metadata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dowse.config import Settings
from dowse.engine import Engine
from dowse.errors import BadInput
from dowse.model import Query, Scope
from dowse.search.recipes import RECIPES
from support import OpenEngine, write

FILES = {
    "docs/retry.md": "# Retries\n\nA failed request is retried with exponential backoff.\n\n## Limits\n\nFive tries.\n",
    "docs/cache.md": "---\ntags: [storage]\n---\n# Cache\n\nEntries expire after a while.\n",
    "src/retry.py": "def retry_request(maxTries):\n    return backoff(maxTries)\n",
}


@pytest.fixture
def engine(root: Path, open_engine: OpenEngine) -> Engine:
    write(root, FILES)
    opened = open_engine(min_chunk_chars=5)
    opened.index([root])
    return opened


def paths(engine: Engine, text: str, **rest: object) -> list[str]:
    return [hit.stored.record.path for hit in engine.search(Query(text, **rest)).hits]  # type: ignore[arg-type]


@pytest.mark.parametrize("recipe", ["lexical", "semantic", "hybrid"])
def test_each_mode_answers_with_its_evidence(engine: Engine, recipe: str) -> None:
    answer = engine.search(Query("exponential backoff", recipe=recipe))
    assert "retry" in answer.hits[0].stored.record.path
    wanted = {"lexical": {"bm25"}, "semantic": {"cosine"}, "hybrid": {"bm25", "cosine", "fused"}}[recipe]
    assert wanted <= set(answer.hits[0].evidence)
    scores = [hit.score for hit in answer.hits]
    assert scores == sorted(scores, reverse=True)
    last = ["fold_copies", "answers_before_quotes", "best_first", "within_budget"]
    assert [it.name for it in answer.steps][-4:] == last


def test_hits_carry_trail_and_lines(engine: Engine) -> None:
    (hit,) = engine.search(Query('"five tries"', recipe="lexical")).hits
    assert (hit.stored.chunk.trail, hit.stored.chunk.start_line) == (("Retries", "Limits"), 5)


def test_scope_is_pushed_down(engine: Engine) -> None:
    assert paths(engine, "retry", scope=Scope(kinds=("code",))) == ["src/retry.py"]
    assert paths(engine, "entries", scope=Scope(tags=("storage",))) == ["docs/cache.md"]
    assert paths(engine, "retry", scope=Scope(paths=("docs/*",)), recipe="lexical") == ["docs/retry.md"] * 2


def test_files_come_once(engine: Engine) -> None:
    found = paths(engine, "retries tries", recipe="hybrid-files")
    assert len(found) == len(set(found)) == 3


@pytest.mark.parametrize("limit", [1, 2, 100, 1000])
def test_never_more_than_asked_for(engine: Engine, limit: int) -> None:
    assert len(engine.search(Query("retry backoff entries", limit=limit)).hits) <= limit


def test_a_budget_packs_and_says_what_it_left_out(engine: Engine) -> None:
    answer = engine.search(Query("retry backoff entries", budget_tokens=20))
    assert sum(len(hit.stored.chunk.text) for hit in answer.hits) <= 80
    assert "left out" in answer.steps[-1].note
    tiny = engine.search(Query("exponential", budget_tokens=2, recipe="lexical"))
    assert len(tiny.hits) == 1 and len(tiny.hits[0].stored.chunk.text) <= 8


def test_freshness_is_checked_at_answer_time(engine: Engine, root: Path, open_engine: OpenEngine) -> None:
    write(root, {"docs/retry.md": "# Retries\n\nSomething else entirely."})
    (root / "docs/cache.md").unlink()
    unrepaired = open_engine(freshness_timeout_ms=0).search(Query("retry backoff entries"))
    seen = {it.stored.record.path: it.freshness for it in unrepaired.hits}
    assert seen == {"docs/retry.md": "changed", "docs/cache.md": "gone", "src/retry.py": "fresh"}


def test_completeness_tells_empty_from_unindexed(engine: Engine, open_engine: OpenEngine, tmp_path: Path) -> None:
    answer = engine.search(Query("zzzz", recipe="lexical"))
    assert answer.hits == ()
    assert answer.completeness.sentence(0) == "0 hits; 3 of 3 files indexed"
    with Engine(Settings(encoder="none"), tmp_path / "empty.db", create=True) as empty:
        assert "nothing is indexed yet" in empty.search(Query("zzzz")).completeness.sentence(0)


def test_an_unknown_recipe_and_an_empty_query_are_refused(engine: Engine) -> None:
    with pytest.raises(BadInput, match="unknown recipe 'best'; choose one of auto, lexical"):
        engine.search(Query("x", recipe="best"))
    with pytest.raises(BadInput, match="the query is empty"):
        engine.search(Query(" \n"))


def test_a_query_without_words_says_so(engine: Engine) -> None:
    answer = engine.search(Query("!?", recipe="hybrid"))
    assert answer.hits == ()
    assert [it.note for it in answer.steps[1:3]] == [
        "the query has no words to match", "skipped: the query has no content to encode",
    ]  # fmt: skip


def test_without_an_encoder_hybrid_answers_by_words_and_says_so(engine: Engine, open_engine: OpenEngine) -> None:
    answer = open_engine(encoder="none").search(Query("backoff"))
    assert answer.hits
    assert "search is off" in next(it.note for it in answer.steps if it.name == "semantic")


@pytest.mark.parametrize("encoder", ["auto", "granite"])
def test_an_index_is_asked_with_the_encoder_it_was_made_with(
    engine: Engine, open_engine: OpenEngine, encoder: str
) -> None:
    ours, theirs = (it.search(Query("backoff", recipe="semantic")) for it in (engine, open_engine(encoder=encoder)))
    assert theirs.hits == ours.hits != ()


def test_an_unknown_encoder_is_named(open_engine: OpenEngine, root: Path) -> None:
    write(root, FILES)
    with pytest.raises(BadInput, match="unknown encoder 'gpt'"):
        open_engine(encoder="gpt").index([root])
    open_engine().index([root])
    with pytest.raises(BadInput, match="unknown encoder 'gpt'"):
        open_engine(encoder="gpt").search(Query("retry"))


def test_stages_of_one_retriever_show_in_steps_and_evidence(engine: Engine) -> None:
    answer = engine.search(Query("retry request", recipe="lexical"))
    assert [it.name for it in answer.steps[:3]] == ["freshness", "lexical", "lexical.code_priors"]
    documents = engine.search(Query("retry request", Scope(kinds=("doc",)), recipe="lexical"))
    assert "lexical.code_priors" not in [it.name for it in documents.steps]
    code = next(it for it in answer.hits if it.stored.record.kind == "code")
    assert code.evidence["prior"] > 1
    assert code.score == pytest.approx(code.evidence["bm25"] * code.evidence["prior"])
    rifflux = engine.search(Query("retry request", recipe="rifflux-lexical"))
    assert all("prior" not in it.evidence for it in rifflux.hits)


def test_the_condensed_recipe_folds_repetitions_and_widens(root: Path, open_engine: OpenEngine) -> None:
    body = "A failed request is retried with exponential backoff and jitter. "
    write(
        root, {f"{name}.md": f"# {name.title()}\n\n{body * 3}\n\n## Limits\n\nFive tries.\n" for name in ("one", "two")}
    )
    engine = open_engine(min_chunk_chars=5)
    engine.index([root])
    plain = engine.search(Query("exponential backoff"))
    condensed = engine.search(Query("exponential backoff", recipe="ragdocs"))
    assert len(plain.hits) > len(condensed.hits) == 1
    assert condensed.hits[0].evidence["duplicates"] == 1
    assert 0.3 <= condensed.hits[0].score <= 1.2
    assert "Five tries." in condensed.hits[0].stored.chunk.text


def test_every_recipe_answers(engine: Engine) -> None:
    for name in RECIPES:
        assert engine.search(Query("backoff", recipe=name)).hits, name


@given(text=st.text(max_size=60))
def test_any_text_is_answered(shared_engine: Engine, text: str) -> None:
    if text.strip():
        shared_engine.search(Query(text))


@given(
    st.sampled_from(["retry", "backoff entries", "tries"]),
    st.sampled_from(["docs/**", "*.py", "src/*", "nowhere"]),
)
def test_a_narrower_scope_gives_a_subset(shared_engine: Engine, text: str, glob: str) -> None:
    everything = {it.stored.key for it in shared_engine.search(Query(text, limit=100, recipe="lexical")).hits}
    query = Query(text, Scope(paths=(glob,)), limit=100, recipe="lexical")
    assert {it.stored.key for it in shared_engine.search(query).hits} <= everything


@pytest.fixture(scope="module")
def shared_engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    folder = tmp_path_factory.mktemp("shared")
    write(folder / "root", FILES)
    opened = Engine(Settings(encoder="hashing", data_dir=folder), folder / "i.db", create=True)
    opened.index([folder / "root"])
    yield opened  # type: ignore[misc]
    opened.close()


def test_reading_lines_and_chunks(engine: Engine, root: Path) -> None:
    (record,) = engine.record("docs/retry.md")
    passage = engine.lines(record, 5, 7)
    assert (passage.text, passage.start_line, passage.end_line, passage.total_lines) == (
        "## Limits\n\nFive tries.", 5, 7, 7,
    )  # fmt: skip
    with pytest.raises(BadInput, match="has 7 lines"):
        engine.lines(record, 8)
    (root / "docs/retry.md").unlink()
    gone = engine.lines(record)
    assert gone.freshness == "gone"
    assert "exponential backoff" in gone.text and gone.text.split("\n")[6] == "Five tries."


def test_a_passage_of_a_changed_file_is_what_was_indexed(engine: Engine, root: Path) -> None:
    (stored,) = (hit.stored for hit in engine.search(Query('"five tries"', recipe="lexical")).hits)
    assert engine.passages.passage(stored).text == "## Limits\n\nFive tries."
    for text in ("new\nlines\nabove\n" + FILES["docs/retry.md"], "shorter"):
        write(root, {"docs/retry.md": text})
        moved = engine.passages.passage(stored)
        assert (moved.text, moved.freshness) == ("## Limits\n\nFive tries.", "changed")


def test_a_missing_model_leaves_hybrid_to_the_words(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> object:
        raise metadata.PackageNotFoundError(name)

    engine._core.store.writer.note("encoder", "granite")  # as if granite had made the vectors
    monkeypatch.setattr(metadata, "files", missing)
    monkeypatch.setattr(metadata, "distribution", missing)
    with Engine(replace(engine.settings, encoder="granite"), engine.index_path, create=False) as other:
        answer = other.search(Query("backoff"))
        assert answer.hits
        assert "skipped" in next(it.note for it in answer.steps if it.name == "semantic")


@pytest.mark.parametrize("path", ["../root/docs/retry.md", "/etc/passwd", "", "\0", "docs", "x" * 100_000])
def test_only_indexed_paths_can_be_read(engine: Engine, path: str) -> None:
    assert engine.record(path) == []


def test_a_symlink_put_in_the_place_of_a_file_is_not_followed(engine: Engine, root: Path) -> None:
    (root / "docs/cache.md").unlink()
    (root / "docs/cache.md").symlink_to("/etc/passwd")
    (record,) = engine.record("docs/cache.md")
    assert "expire" in engine.lines(record).text


def test_what_the_hits_link_to_joins_them(root: Path, open_engine: OpenEngine) -> None:
    write(
        root,
        {
            "a.md": "# Start\n\nA failed request is retried, see [[limits]] and [[secret/plan]].\n",
            "limits.md": "# Limits\n\nFive times.\n",
            "copy.md": "# Limits\n\nFive times.\n\n[[limits]] [[a]]\n",
            "secret/plan.md": "# Plan\n\nNothing for everyone.\n",
        },
    )
    engine = open_engine(encoder="none")
    engine.index([root])
    answer = engine.search(Query("retried", Scope(paths=("/*.md",)), recipe="ragdocs", min_score=0.0))
    found = {hit.stored.record.path: hit.evidence for hit in answer.hits}
    assert next(iter(found)) == "a.md" and set(found) == {"a.md", "limits.md", "copy.md"}
    assert found["limits.md"]["linked_from_rank"] == 1 and "linked_from_rank" not in found["a.md"]
    assert found["a.md"]["community_boost"] == 1.1
    names = [it.name for it in answer.steps]
    assert names[names.index("load") :][:3] == ["load", "graph_neighbours", "community_boost"]


_SEA = {
    "sea.md": "# Dead Sea\n\nIts basin holds Saturated Salt Water. See [lakes](lakes.md) and [salts](salts.md).\n",
    "lakes.md": "# Lakes\n\nWater with salt, nearly saturated, fills these lakes.\n",
    "salts.md": "---\ntags: [salt]\n---\n# Salt\n\nSalt dissolves in water until it is saturated.\n",
    "brine.md": "# Brine\n\nSaturated brine is salty water.\n",
    "brine.py": "def saturated(water, salt):\n    return salt / water\n",
}
_PHRASE = '"saturated salt water"'


@pytest.fixture
def seas(root: Path, open_engine: OpenEngine) -> Engine:
    write(root, _SEA)
    opened = open_engine(min_chunk_chars=5)
    opened.index([root])
    return opened


@pytest.mark.parametrize("recipe", ["auto", "auto-files", *RECIPES])
def test_every_recipe_requires_a_phrase_in_quotes(seas: Engine, recipe: str) -> None:
    for text in (_PHRASE, f"{_PHRASE} lakes brine", f"lakes of brine\nand {_PHRASE} in many lines"):
        answer = seas.search(Query(text, recipe=recipe, min_score=0.0))
        found = [hit.stored.record.path for hit in answer.hits]
        assert found == ["sea.md"], text
        assert answer.abstained == ""


@pytest.mark.parametrize("recipe", ["auto", "auto-files", *RECIPES])
def test_a_phrase_that_occurs_nowhere_finds_nothing_and_says_so(seas: Engine, recipe: str) -> None:
    answer = seas.search(Query('salt "salt saturated lakes" lakes', recipe=recipe))
    assert answer.hits == ()
    assert answer.abstained == (
        'no indexed passage contains "salt saturated lakes"; remove the quotes to search for the words'
    )
    scoped = seas.search(Query(_PHRASE, Scope(kinds=("code",)), recipe=recipe))
    assert (scoped.hits, "in this scope contains" in scoped.abstained) == ((), True)


def test_meaning_is_compared_beyond_the_candidates_of_a_query_without_quotes(
    root: Path, open_engine: OpenEngine
) -> None:
    write(root, {f"{n}.md": f"# Salt {n}\n\nsalt water lakes of saturated salt {n}\n" for n in range(120)})
    write(root, {"far.md": "# Elsewhere\n\nA harbour tale where by chance saturated salt water is named once.\n"})
    engine = open_engine()
    engine.index([root])
    assert paths(engine, f"salt lakes {_PHRASE}", recipe="semantic") == ["far.md"]


def test_a_sketch_of_the_answer_requires_nothing(seas: Engine) -> None:
    sketch = 'Salt is called "salt saturated lakes" in lakes.'
    assert seas.search(Query(sketch, recipe="ragdocs-hypothesis", hypothesis=sketch)).hits


# What defines a name, and what uses it far more often, by file name; the name as it is asked for.
_DEFINING = {
    "sql": ("CREATE PROCEDURE dbo.GetOrders\n  @id INT\nAS\nBEGIN\n  SELECT {} FROM orders;\nEND\n", "EXEC {};\n", "GetOrders"),  # noqa: E501
    "SQL": ("CREATE TABLE GET_ORDERS (\n  {} INT\n);\n", "SELECT * FROM {};\n", "get_orders"),
    "cs": ("class Desk\n{{\n    public Task<int> PlaceOrder(int id)\n    {{\n        return {};\n    }}\n}}\n", "{}(1);\n", "PlaceOrder"),  # noqa: E501
    "go": ("package desk\n\nfunc (d *Desk) PlaceOrder(id int) int {{\n\treturn {}\n}}\n", "{}(1)\n", "PlaceOrder"),
    "java": ("class Desk {{\n    public int placeOrder(int id) {{\n        return {};\n    }}\n}}\n", "{}(1);\n", "placeOrder"),  # noqa: E501
    "rs": ("impl Desk {{\n    pub fn place_order(&self) -> u32 {{\n        {}\n    }}\n}}\n", "{}(1);\n", "place_order"),  # noqa: E501
    "ts": ("export class Desk {{\n  async placeOrder(id: number) {{\n    return {};\n  }}\n}}\n", "{}(1);\n", "placeOrder"),  # noqa: E501
    "py": ("class Desk:\n    def place_order(self):\n        return {}\n", "{}(1)\n", "place_order"),
    "rb": ("class Desk\n  def self.place_order(id)\n    {}\n  end\nend\n", "{}(1)\n", "place_order"),
    "kt": ("class Desk {{\n  suspend fun placeOrder(id: Int): Int = {}\n}}\n", "{}(1)\n", "placeOrder"),
    "php": ("<?php\nclass Desk {{\n  public function placeOrder($id) {{ return {}; }}\n}}\n", "{}(1);\n", "placeOrder"),
    "c": ("static int place_order(int id)\n{{\n    return {};\n}}\n", "{}(1);\n", "place_order"),
}  # fmt: skip


@pytest.mark.parametrize("recipe", ["auto", "lexical", "hybrid"])
@pytest.mark.parametrize("suffix", _DEFINING)
def test_the_place_that_defines_a_name_comes_first(
    root: Path, open_engine: OpenEngine, suffix: str, recipe: str
) -> None:
    definition, use, name = _DEFINING[suffix]
    much_else = " + ".join(f"value_{number}" for number in range(60))
    write(root, {f"desk.{suffix}": definition.format(much_else if suffix != "SQL" else "id")})
    write(root, {f"use{number}.{suffix}": use.format(name) * (number + 1) for number in range(6)})
    engine = open_engine()
    engine.index([root])
    assert paths(engine, name, recipe=recipe)[0] == f"desk.{suffix}"


def test_the_place_that_defines_a_name_is_found_where_many_use_it_more(root: Path, open_engine: OpenEngine) -> None:
    used = "def use_{0}(parcel):\n    return ParcelBox(ParcelBox(ParcelBox(parcel)))\n"
    body = "".join(f"        self.part_{number} = weight + {number}\n" for number in range(12))
    files = {f"uses/a{number}.py": used.format(number) for number in range(130)}
    write(root, files | {"goods.py": f"class ParcelBox:\n    def __init__(self, weight):\n{body}"})
    engine = open_engine()
    engine.index([root])
    for recipe in ("lexical", "hybrid", "auto"):
        assert paths(engine, "ParcelBox", recipe=recipe, limit=5)[0] == "goods.py", recipe
        assert "goods.py" not in paths(engine, "ParcelBox", recipe=recipe, scope=Scope(paths=("uses/*",)))


def test_a_definition_is_found_where_documents_take_all_places(root: Path, open_engine: OpenEngine) -> None:
    guides = {f"docs/{it}.md": f"# Install\n\ninstall install install step {it}\n" for it in range(420)}
    write(root, guides | {"src/setup.py": "def install(target, options):\n    return copy(target, options)\n" * 3})
    engine = open_engine()
    engine.index([root])
    for recipe in ("lexical", "hybrid", "auto"):
        assert len(paths(engine, "install", recipe=recipe, limit=5)) == 5


def test_passages_of_one_file_leave_room_for_others(root: Path, open_engine: OpenEngine) -> None:
    def work(name: str, times: int) -> str:
        return f"def {name}(parcel):\n    return [{'weigh(parcel), ' * times}stamp(parcel)]\n\n\n"

    many = "".join(work(f"first_{number}", 6) for number in range(8))
    write(root, {"many.py": many, "other.py": work("second", 4)})
    engine = open_engine(min_chunk_chars=5, max_chunk_chars=120)
    engine.index([root])
    found = paths(engine, "weigh the parcel", recipe="lexical", limit=8)
    assert "other.py" in found and found.count("many.py") >= 5
