"""The planner: which recipe, when again, and when nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from made_hits import hit

from dowse.encoders.base import EncoderTraits
from dowse.model import Hit, Query, Step, StoredChunk
from dowse.search.plan import answer_query, best_word_coverage
from dowse.search.search import SearchResult
from support import OpenEngine, write


class Asked:
    """Answers each recipe with what it was given, and remembers which were asked."""

    def __init__(self, unrelated: float = 0.0, **found: list[Hit]) -> None:
        self.found = found
        self.traits = EncoderTraits(similarity_floor=unrelated)
        self.recipes: list[str] = []

    def __call__(self, query: Query) -> SearchResult:
        self.recipes.append(query.recipe)
        traits = EncoderTraits() if query.recipe.startswith("lexical") else self.traits
        return SearchResult(self.found.get(query.recipe, []), [Step(query.recipe, 0, 0, 0.0)], traits)


def places(hits: list[Hit]) -> list[StoredChunk]:
    return [it.stored for it in hits]


GOOD = [hit("the parser reads retry_limit from the configuration of the server")]
POOR = [hit("bananas are yellow", cosine=0.5)]

FIRST = [
    ("retry_limit", "lexical"),
    ("src/server.py", "lexical"),
    ("parser configuration", "hybrid"),
    ("how does the parser read its configuration?", "hybrid"),
    ("the parser reads the configuration of the server " * 10, "hybrid"),
]


@pytest.mark.parametrize(("text", "recipe"), FIRST)
def test_the_form_of_the_query_decides_what_is_tried_first(text: str, recipe: str) -> None:
    asked = Asked(lexical=GOOD, hybrid=GOOD)
    found = answer_query(Query(text, recipe="auto"), asked)
    assert asked.recipes[0] == recipe
    assert found.steps[0].name == "plan" and recipe in found.steps[0].note
    assert places(found.hits) == places(GOOD) and not found.abstained


def test_whole_files_are_planned_alike() -> None:
    asked = Asked(**{"hybrid-files": GOOD})
    assert places(answer_query(Query("parser configuration", recipe="auto-files"), asked).hits) == places(GOOD)
    assert asked.recipes == ["hybrid-files"]


def test_what_has_none_of_the_words_is_asked_for_again() -> None:
    asked = Asked(hybrid=POOR, lexical=GOOD)
    found = answer_query(Query("parser configuration", recipe="auto"), asked)
    assert (asked.recipes, places(found.hits)) == (["hybrid", "lexical"], places(GOOD))
    assert [it.name for it in found.steps] == ["plan", "hybrid", "retry", "lexical"]


def test_the_second_answer_must_be_better() -> None:
    asked = Asked(hybrid=POOR, lexical=[])
    assert places(answer_query(Query("parser configuration", recipe="auto"), asked).hits) == places(POOR)


@pytest.mark.parametrize(
    ("unrelated", "cosine", "shown"),
    [(0.6, 0.5, False), (0.6, 0.6, False), (0.6, 0.7, True), (0.0, 0.0, True), (0.6, 0.0, False)],
)
def test_neither_words_nor_meaning(unrelated: float, cosine: float, shown: bool) -> None:
    hits = [hit("bananas are yellow", cosine)]
    found = answer_query(Query("parser configuration", recipe="auto"), Asked(unrelated, hybrid=hits, lexical=hits))
    assert bool(found.hits) is shown
    assert bool(found.abstained) is not shown
    if not shown:
        assert found.steps[-1].name == "abstain" and found.steps[-1].note == found.abstained


def test_few_words_of_a_second_answer_without_meaning_are_no_answer() -> None:
    asked = Asked(0.6, hybrid=[hit("bananas are yellow", 0.6)], lexical=[hit("a configuration of stars")])
    question = "parser configuration of the lexer for numerals"
    found = answer_query(Query(question, recipe="auto"), asked)
    assert asked.recipes == ["hybrid", "lexical"] and found.abstained


@pytest.mark.parametrize(("held", "shown"), [("the zymurgy of hops", True), ("the process of hops", False)])
def test_a_rare_word_says_more_than_common_ones(held: str, shown: bool) -> None:
    rarity = {"zymurgy": 8.0, "process": 0.5, "steps": 0.5}
    ranked = SearchResult([hit(held, 0.6)], [], EncoderTraits(similarity_floor=0.6), rarity=rarity)
    found = answer_query(Query("which steps does the process of zymurgy take", recipe="auto"), lambda _: ranked)
    assert bool(found.hits) is shown


@pytest.mark.parametrize(
    ("unknown", "penalty", "text", "shown"),
    [
        ((), 2.0, "which steps does brewing take", True),
        (("steps",), 2.0, "which steps does brewing take", False),
        (("steps",), 0.0, "which steps does brewing take", True),
        (("steps",), 2.0, "which steps does brewing take\n" + "Traceback of /a/b.py, line 12, in brew\n" * 40, True),
    ],
)
def test_words_that_the_index_lacks_count_against_it_except_in_reports(
    unknown: tuple[str, ...], penalty: float, text: str, shown: bool
) -> None:
    traits = EncoderTraits(similarity_floor=0.6, unknown_word_penalty=penalty)
    rarity = {"steps": 4.0, "brewing": 4.0}
    ranked = SearchResult([hit("brewing of hops", 0.6)], [], traits, rarity=rarity, unknown_words=frozenset(unknown))
    assert bool(answer_query(Query(text, recipe="auto"), lambda _: ranked).hits) is shown


def test_words_about_the_sources_do_not_count() -> None:
    rarity = {"phospholipases": 6.0, "mentioned": 6.0, "articles": 6.0}
    traits = EncoderTraits(similarity_floor=0.6, min_confidence=0.1, unknown_word_penalty=0.5)
    for held, shown in (("the phospholipases", True), ("articles mentioned here", False)):
        ranked = SearchResult([hit(held, 0.55)], [], traits, rarity=rarity)
        question = Query("the phospholipases mentioned in the articles", recipe="auto")
        assert bool(answer_query(question, lambda _, ranked=ranked: ranked).hits) is shown, held


@pytest.mark.parametrize(
    ("ranks", "cosine", "shown"),
    [((1, 1), 0.66, True), ((1, 1), 0.64, False), ((1, 2), 0.66, False), ((2, 1), 0.66, False)],
)
def test_a_hit_that_words_and_meaning_rank_first_is_an_answer(
    ranks: tuple[int, int], cosine: float, shown: bool
) -> None:
    first = hit("money for the next months", cosine)
    first.matched_hit.evidence.update(lexical_rank=ranks[0], semantic_rank=ranks[1])
    traits = EncoderTraits(similarity_floor=0.6, min_confidence=0.9, unknown_word_penalty=0.5)
    ranked = SearchResult([first], [], traits)
    found = answer_query(Query("how much runway is left before the company closes", recipe="auto"), lambda _: ranked)
    assert bool(found.hits) is shown


def test_nearly_all_words_are_an_answer_however_far_the_meaning() -> None:
    text = "parser configuration of numerals for lexers"
    for held, shown in (("lexers, numerals and a parser configuration", True), ("a parser configuration", False)):
        rarity = dict.fromkeys(("parser", "configuration", "numerals", "lexers"), 1.0)
        far = SearchResult([hit(held, 0.4)], [], EncoderTraits(similarity_floor=0.6), rarity=rarity)
        assert bool(answer_query(Query(text, recipe="auto"), lambda _, far=far: far).hits) is shown, held


def test_a_name_as_it_is_written_is_an_answer() -> None:
    text = "what does the function parse_lexer return to whoever asks"
    for held, shown in (("def parse_lexer(): pass", True), ("def parse(): pass", False)):
        found = answer_query(Query(text, recipe="auto"), Asked(0.6, hybrid=[hit(held, 0.55)], lexical=[]))
        assert bool(found.hits) is shown, held


@pytest.mark.parametrize(
    ("text", "shown"),
    [("a garden in the ruins of St Dunstan, East of here", True), ("the East of the town, without the other", False)],
)
def test_all_proper_names_together_are_an_answer(text: str, shown: bool) -> None:
    asked = Asked(0.6, hybrid=[hit(text, 0.55)], lexical=[])
    found = answer_query(
        Query("What features and amenities are present at St. Dunstan in the East?", recipe="auto"), asked
    )
    assert bool(found.hits) is shown


def test_a_named_recipe_is_taken_as_it_is() -> None:
    asked = Asked(0.9, lexical=POOR)
    found = answer_query(Query("parser", recipe="lexical"), asked)
    assert (asked.recipes, places(found.hits), found.abstained) == (["lexical"], places(POOR), "")


def test_nothing_found_is_no_abstention() -> None:
    found = answer_query(Query("parser configuration", recipe="auto"), Asked(0.9))
    assert (found.hits, found.abstained) == ([], "")


SUPPORT = [
    ("parser configuration", "Configurations of parsers", 1.0),
    ("parser configuration", "the parser", 0.5),
    ("parser configuration", "", 0.0),
    ("getUserName", "def get_user_name", 1.0),
    ("?!", "anything", 1.0),
    ("id of db", "the identity", 0.0),
    ("id of db", "its id", 0.5),
]


@pytest.mark.parametrize(("query", "text", "share"), SUPPORT)
def test_support(query: str, text: str, share: float) -> None:
    assert best_word_coverage([hit(text)], query) == pytest.approx(share)
    assert best_word_coverage([], query) in (0.0, 1.0)


def test_the_best_of_the_first_hits_decides() -> None:
    assert (
        best_word_coverage([hit("bananas"), hit("the parser"), hit("parser configuration")], "parser configuration")
        == 0.5
    )
    assert best_word_coverage([hit("bananas")] * 3 + [hit("parser configuration")], "parser configuration") == 0.0


def test_what_is_shown_instead_of_what_was_found_counts_as_that() -> None:
    hits = [replace(hit("bananas are yellow", 0.1), replaces=it) for it in GOOD * 3]
    asked = Asked(0.6, hybrid=hits)
    assert len(answer_query(Query("parser configuration", recipe="auto"), asked).hits) == 3
    assert asked.recipes == ["hybrid"]
    near = [replace(hit("bananas are yellow"), replaces=hit("apples", 0.7))]
    assert answer_query(Query("parser configuration", recipe="auto"), Asked(0.6, hybrid=near)).hits
    far = [replace(hit("bananas are yellow"), replaces=hit("apples", 0.5))]
    assert answer_query(Query("parser configuration", recipe="auto"), Asked(0.6, hybrid=far)).abstained


@pytest.mark.parametrize("superseded", [1, 3])
def test_a_successor_in_other_words_is_shown_where_only_its_predecessor_has_the_words(
    root: Path, open_engine: OpenEngine, superseded: int
) -> None:
    for number in range(superseded):
        old = f"Retries of queue {number} are exponential with jitter zebra"
        new = f"Backoff is linear now. Supersedes [[memory:old{number}]]"
        write(root, {f".memories/old{number}.md": old, f".memories/new{number}.md": new})
    with open_engine(encoder="static") as engine:
        engine.index([root])
        for limit in (superseded, 10):
            found = engine.search(Query("zebra", limit=limit, recipe="auto"))
            first = found.hits[:superseded]
            assert {it.stored.record.path for it in first} == {f"new{number}.md" for number in range(superseded)}
            assert first[0].evidence["confidence"] > 0.4
            assert "retry" not in [it.name for it in found.steps]


def test_a_real_encoder_tells_what_is_foreign_to_the_files(root: Path, open_engine: OpenEngine) -> None:
    bread = "# Bread\n\nKnead the dough, let it rise for an hour, bake it at 230 degrees.\n"
    write(root, {"bread.md": bread, "soup.md": "# Soup\n\nSimmer carrots and leeks in stock until they are soft.\n"})
    with open_engine(encoder="granite") as engine:
        engine.index([root])
        near = engine.search(Query("how long does sourdough rest before it goes into the oven", recipe="auto"))
        far = engine.search(Query("kubernetes ingress controller certificate rotation", recipe="auto"))
    assert near.hits[0].stored.record.path == "bread.md" and not near.abstained
    assert far.hits == () and "nothing relevant found" in far.abstained


def test_what_commits_and_memories_say_in_few_words_is_shown() -> None:
    far = hit("bananas are yellow", 0.5)
    commit = replace(far, stored=replace(far.stored, record=replace(far.stored.record, kind="commit")))
    assert answer_query(Query("who changed the parser", recipe="auto"), Asked(0.6, hybrid=[commit], lexical=[])).hits
    assert answer_query(Query("who changed the parser", recipe="auto"), Asked(0.6, hybrid=[far], lexical=[])).abstained
