"""What tells a good place in code beside the words."""

from __future__ import annotations

from pathlib import Path

import pytest

from dowse.model import TEST_ROLE, TEXT_ROLE, Chunk, Hit, Query, Record, StoredChunk
from dowse.search.run import QueryVector, SearchModels, SearchRun
from dowse.search.stages.code_priors import CodePriors, query_content_words
from dowse.search.stages.scores import FileScores
from dowse.store.types import ColumnWeights
from oracle.dict_store import DictStore
from support import OpenEngine


def run(text: str) -> SearchRun:
    return SearchRun(
        Query(text), DictStore().view(), SearchModels(lambda _: QueryVector(None)), 10, ColumnWeights(), 60
    )


def hit(path: str, text: str = "x", score: float = 1.0, kind: str = "code", key: int = 1, role: str = TEXT_ROLE) -> Hit:
    record = Record("c", path, kind, "", 1, 1, "d", "c")
    return Hit(StoredChunk(key, Chunk(0, text, 1, 1, role=role), record), score, {})


PRIORS = [
    ("src/app.py", "x", "routing", 1.0),
    ("src/routing.py", "x", "routing", 2.0),
    ("src/route_table.py", "x", "routes", 1.5),
    ("src/app.py", "def combineReducers(): ...", "combine reducers", 1.5),
    ("src/app.py", "class Blueprint:", "blueprint", 1.5),
    ("src/app.py", "class Blueprint:", "Blueprint", 6.0),
    ("src/app.py", "def add_url_rule(self):", "what does add_url_rule do", 6.0),
    ("src/app.py", "class Other:", "what does add_url_rule do", 1.0),
    ("src/z.py", "class Blueprint:", "how is a blueprint registered with its outer app", 1.25),
    ("tests/test_app.py", "x", "routing", 0.3),
    ("src/routing.spec.ts", "x", "zebra", 0.3),
    ("dist/app.cjs", "x", "routing", 0.3),
    ("pkg/__init__.py", "x", "routing", 0.5),
    ("pkg/__init__.py", "def run():", "routing", 1.0),
    ("pkg/core/app.py", "x", "what does pkg/core/app.py do with pkg.core.other", 4.0),
    ("pkg/core/app.py", "x", "import of pkg.core.app.Thing fails", 4.0),
]


@pytest.mark.parametrize(("path", "text", "query", "prior"), PRIORS)
def test_priors(path: str, text: str, query: str, prior: float) -> None:
    (found,) = CodePriors()([hit(path, text)], run(query))
    assert found.score == pytest.approx(prior)
    assert found.evidence["prior"] == pytest.approx(prior)


PROJECT = [
    ("pyproject.toml", "zebra stripes", 0.5),
    ("web/package.json", "zebra stripes", 0.5),
    ("src/Zoo/Zoo.csproj", "stripes", 0.5),
    ("core/api/core.api", "stripes", 0.5),
    (".github/workflows/zoo.yml", "stripes", 0.5),
    (".golangci.yml", "stripes", 0.5),
    ("src/stripes.json", "zebra", 1.0),
    ("src/package.py", "zebra", 1.0),
    ("pyproject.toml", "which dependencies has the zebra", 1.0),
    ("pyproject.toml", "zebra in pyproject.toml", 4.0),
]


@pytest.mark.parametrize(("path", "query", "prior"), PROJECT)
def test_files_that_describe_the_project_count_less_unless_they_are_asked_for(
    path: str, query: str, prior: float
) -> None:
    (found,) = CodePriors()([hit(path)], run(query))
    assert found.score == pytest.approx(prior)


TESTS = [
    ("src/lib.rs", TEST_ROLE, "zebra", 0.3),
    ("src/lib.rs", TEXT_ROLE, "zebra", 1.0),
    ("tests/zoo.rs", TEST_ROLE, "zebra", 0.3),
    ("src/lib.rs", TEST_ROLE, "which tests are there for the zebra", 1.0),
    ("tests/zoo.rs", TEXT_ROLE, "unit test of the zebra", 1.0),
    ("tests/zoo.rs", TEXT_ROLE, "test cases of the zebra", 1.0),
    ("tests/zoo.rs", TEXT_ROLE, "how does the test client simulate a zebra", 0.3),
    ("tests/zoo.rs", TEXT_ROLE, "zebra fails\nwhen the tests run", 0.3),
    ("examples/zoo.rs", TEXT_ROLE, "tests of the zebra", 0.3),
]


@pytest.mark.parametrize(("path", "role", "query", "prior"), TESTS)
def test_tests_are_set_aside_unless_they_are_asked_for(path: str, role: str, query: str, prior: float) -> None:
    (found,) = CodePriors()([hit(path, role=role)], run(query))
    assert found.score == pytest.approx(prior)


RUST = f"""\
pub fn stripes_of(zebra: &Zebra) -> usize {{
    zebra.coat().count();
{"    log::trace!(started);" * 25}
}}

#[cfg(test)]
mod tests {{
    #[test]
    fn counts_all_stripes() {{
        assert_eq!(stripes_of(&zebra), 7, "counted stripes of a zebra");
        assert_eq!(stripes_of(&zebra), 8, "counted stripes of a zebra");
{"        log::trace!(ended);" * 25}
    }}
}}
"""


@pytest.mark.parametrize(
    ("query", "first_line"), [("how are the stripes of a zebra counted", 1), ("tests of the stripes of a zebra", 6)]
)
def test_tests_in_a_source_file_step_back_in_a_search(
    query: str, first_line: int, tmp_path: Path, open_engine: OpenEngine
) -> None:
    root = tmp_path / "zoo"
    root.mkdir()
    (root / "lib.rs").write_text(RUST)
    for name in ("emu", "gnu", "owl"):
        (root / f"{name}.rs").write_text(f"pub fn feed_{name}() {{}}\n")
    engine = open_engine(encoder="none")
    engine.index([root])
    first, *_ = engine.search(Query(query, recipe="lexical")).hits
    assert first.stored.chunk.start_line == first_line


def test_documents_are_left_alone() -> None:
    (found,) = CodePriors()([hit("tests/routing.md", kind="doc")], run("routing"))
    assert (found.score, found.evidence) == (1.0, {})


@pytest.mark.parametrize(
    ("path", "query", "score"),
    [
        ("src/PublicAPI.Shipped.txt", "routing", 0.5),
        ("api/go1.1.txt", "routing", 0.5),
        ("tests/Api.approved.txt", "routing", 0.5),
        ("src/PublicAPI.Shipped.txt", "public API of routing", 1.0),
        ("docs/api/routing.md", "routing", 1.0),
        ("notes.txt", "routing", 1.0),
    ],
)
def test_lists_of_what_is_offered_count_less_than_other_documents(path: str, query: str, score: float) -> None:
    (found,) = CodePriors()([hit(path, kind="doc")], run(query))
    assert found.score == score


def test_the_order_follows_the_new_scores() -> None:
    hits = [hit("a/test_x.py", score=3.0, key=1), hit("b/x.py", score=2.0, key=2)]
    assert [it.stored.key for it in CodePriors()(hits, run("zebra"))] == [2, 1]
    assert CodePriors()([], run("zebra")) == []


def test_of_a_long_text_only_identifiers_are_asked_for() -> None:
    assert query_content_words("How does getUser work") == ("get", "user", "work")
    long = "It fails when the thing is saved and loaded again in another process because of caches " * 2
    assert query_content_words(f"{long} see save_model and QuerySet") == ("save", "model", "query", "set")
    assert len(query_content_words("camelCase" + " oneTwo threeFour" * 10_000)) <= 40


def test_a_file_counts_its_passages_less_and_less() -> None:
    hits = [hit("a", score=4.0, key=1), hit("b", score=3.0, key=2), hit("b", score=3.0, key=3)]
    files = FileScores(decay=0.5)(hits, run("x"))
    assert [(it.stored.key, it.score, it.evidence["passages"]) for it in files] == [(2, 4.5, 2), (1, 4.0, 1)]
    assert [it.score for it in FileScores(decay=0.0)(hits, run("x"))] == [4.0, 3.0]
    assert FileScores(passages=1)(hits, run("x"))[0].score == 4.0
    assert FileScores()([], run("x")) == []
    documents = [
        hit("a", score=4.0, key=1, kind="doc"),
        *(hit("b", score=3.0, key=2 + n, kind="doc") for n in range(3)),
    ]
    assert [it.score for it in FileScores()(documents, run("x"))] == [4.0, 3.0]


def test_all_retrievers_speak_of_a_file_by_the_same_passage() -> None:
    search = run("x")
    first = FileScores()([hit("a", score=4.0, key=1), hit("b", score=3.0, key=2)], search)
    second = FileScores()([hit("b", score=9.0, key=3), hit("c", score=1.0, key=4)], search)
    assert [(it.stored.key, it.score) for it in (*first, *second)] == [(1, 4.0), (2, 3.0), (2, 9.0), (4, 1.0)]
    assert FileScores()([], search) == []


COPIES = [
    (["src/v4/parse.ts", "v4/parse.js", "v4/parse.d.ts", "dist/v4/parse.mjs", "v4/other.js"], "parse", 3),
    (["a/src/x.ts", "b/dist/x.js"], "x", 0),
    (["lib/x.js", "src/x.js"], "x", 0),
    (["src/v3/errors.ts", "src/v4/errors.ts", "src/v10/errors.ts"], "errors", 2),
    (["src/v3/errors.ts", "src/v4/errors.ts"], "errors of v3", 0),
    (["api/v1/users.py"], "users", 0),
    (["a/v1/users.py", "b/v2/users.py"], "users", 0),
    ([], "", 0),
]


@pytest.mark.parametrize(("paths", "query", "copies"), COPIES)
def test_built_files_and_older_versions_count_less(paths: list[str], query: str, copies: int) -> None:
    hits = [hit(path, key=key) for key, path in enumerate(paths)]
    alone = {it.stored.key: CodePriors()([it], run(query))[0].score for it in hits}
    together = {it.stored.key: it.score for it in CodePriors()(hits, run(query))}
    lower = [key for key in alone if together[key] < alone[key]]
    assert len(lower) == copies
    assert all(together[key] == pytest.approx(alone[key] * 0.3) for key in lower)
