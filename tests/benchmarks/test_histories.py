"""The benchmark of histories: what it asks, what it counts, and what it writes."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from dowse.engine import Engine
from gits import Repo
from histories.asking import QUESTIONS, WAYS, Asked, ask, questions
from histories.building import OTHER, Built, build, index_in, opened, root_of, settings_of
from histories.inventing import invent
from histories.peers import CHANGES, MESSAGES, ask_git
from histories.sampling import Sample
from histories.section import Searched, lines
from histories.whole import Effort, Indexed, Killed, Whole, measure
from histories.whole_section import is_good
from histories.whole_section import lines as whole_lines

WORDS = ("parser", "lexer", "cache", "router", "logging", "session", "template", "config")


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Repo:
    repo = Repo(tmp_path_factory.mktemp("history") / "repo")
    for number, word in enumerate(WORDS):
        repo.commit(f"Improve {word} handling", {f"src/{word}.py": f"def {word}():\n    return {number}\n"})
    repo.commit("x")
    return repo


@pytest.fixture(scope="module")
def built(repo: Repo, tmp_path_factory: pytest.TempPathFactory) -> tuple[Built, Path]:
    place = tmp_path_factory.mktemp("built") / "hashing"
    return build(repo.place, "hashing", 100, place, place / "no-models"), place


def test_every_commit_is_built_and_weighed(built: tuple[Built, Path]) -> None:
    it, place = built
    assert (it.commits, it.chunks, it.vectors) == (len(WORDS) + 1, len(WORDS) + 1, len(WORDS) + 1)
    assert it.links == 2 * len(WORDS)
    assert it.rate < it.words_rate and it.bytes_by_part["vectors"] > 0
    on_disk = sum(part.stat().st_size for part in place.glob("index.db*") if not part.name.endswith(("wal", "shm")))
    assert sum(it.bytes_by_part.values()) == pytest.approx(on_disk, rel=0.1) and it.bytes_by_part[OTHER] > 0


def test_a_bare_repository_is_a_root_too(repo: Repo, tmp_path: Path) -> None:
    bare = Repo(tmp_path / "bare", "--bare")
    root = root_of(bare.place, tmp_path / "root")
    told = subprocess.run(
        ["git", "-C", str(root), "rev-parse", "--git-dir"], capture_output=True, text=True, check=True
    )
    assert Path(told.stdout.strip()).resolve() == bare.place.resolve()
    assert (root_of(repo.place, tmp_path / "other") / ".git").read_text() == f"gitdir: {repo.git_directory}\n"


def test_questions_are_words_of_commits_and_find_them(built: tuple[Built, Path]) -> None:
    _, place = built
    with opened(place) as store:
        asked = questions(store.catalog, seed=1)
        assert asked == questions(store.catalog, seed=1) != questions(store.catalog, seed=2)
    assert {it.text for it in asked} == {f"Improve {word} handling" for word in WORDS}  # the one without is left out
    assert all(it.path == f"src/{it.text.split()[1]}.py" for it in asked)
    with Engine(settings_of("hashing", 100, place), index_in(place), create=False) as engine:
        found = ask(engine, asked, "hybrid")
    assert [it.way for it in found] == list(WAYS)
    assert {(len(it.ms), it.found) for it in found} == {(len(WORDS), len(WORDS))}


def test_git_is_asked_over_the_same_commits(repo: Repo, built: tuple[Built, Path]) -> None:
    with opened(built[1]) as store:
        asked = questions(store.catalog, seed=1, count=2)
    found = ask_git(repo.place, [it.commit.path for it in asked], asked)
    assert {name: len(times) for name, times in found.items()} == {MESSAGES: 2, CHANGES: 1}


def test_the_tables() -> None:
    parts = {"texts": 3_000_000, "vectors": 0}
    words = Built("none", 1000, 2000, 0, 3000, 2.0, 0.0, parts)
    granite = Built("granite", 300, 600, 300, 900, 1.0, 9.0, {"texts": 900_000, "vectors": 300_000})
    searched = [Searched("lexical", "none", [Asked("everything", [1.0, 2.0, 3.0, 4.0], 3)])]
    searched.append(Searched("hybrid", "static", [Asked("everything", [2.0] * 4, 4)], [0.5] * 4))
    told = "\n".join(lines(Path("/mirror/django/repo"), [words, granite], searched, {MESSAGES: [100.0]}))
    assert "`django`: 1,000 commits, 2,000 chunks, 3,000 links" in told
    assert "| none | 1,000 | 500 | 0 |  | 3,000 |" in told
    assert "| granite (a sample) | 300 | 300 | 300 | 30.0 | 4,000 |" in told
    assert "| vectors | 0 | 1,000 |" in told
    assert "| lexical | none | everything | 2.00 ms | 4.00 ms |  | 75% |" in told
    assert "| hybrid | static | everything | 2.00 ms | 2.00 ms | 0.50 ms | 100% |" in told
    assert f"| {MESSAGES} | 100 ms | 50.0 × |" in told
    assert QUESTIONS >= 100


def test_a_made_up_history_is_the_same_each_time_and_like_a_real_one(tmp_path: Path) -> None:
    one, same, other = (invent(tmp_path / name, 300, seed) for name, seed in (("a", 1), ("b", 1), ("c", 2)))
    assert _git(one, "rev-parse", "main") == _git(same, "rev-parse", "main") != _git(other, "rev-parse", "main")
    assert _git(one, "rev-list", "--count", "--all") == "300"
    assert int(_git(one, "rev-list", "--count", "--merges", "main")) > 5
    assert len(set(_git(one, "log", "--format=%an", "main").splitlines())) > 20
    assert " R100\t" in _git(one, "log", "--raw", "-M100%", "main")


def _git(place: Path, *command: str) -> str:
    done = subprocess.run(["git", "-C", str(place), *command], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_a_whole_history_is_measured_and_killed_without_a_loss(tmp_path: Path) -> None:
    repository = invent(tmp_path / "made.git", 450, seed=1)
    whole = measure("made up", repository, tmp_path / "work", 1, Effort(questions=2, times=1, kills=1))
    assert whole.indexed.commits == 450 and whole.indexed.most_resident > 10_000_000
    assert {name.partition("`")[2] for name in whole.once} >= {"dowse status`", "search_git_authors` by message"}
    assert whole.killed is not None and len(whole.killed.after) == 1
    assert whole.killed.finally_there == 451 and is_good(whole)


def test_rates_are_of_parts_that_are_about_as_long() -> None:
    samples = [Sample(at, 100 * at, at / 2, 1, 1) for at in range(11)]
    done = Indexed(samples, 10.0, 1000, 1, [1.0])
    assert done.rates(3) == [(100.0, 200.0)] * 3


def test_a_long_log_or_a_lost_commit_is_not_good() -> None:
    def whole(log: int, there: int) -> Whole:
        done = Indexed([Sample(1.0, 10, 1.0, 1, log)], 1.0, 10, 1, [1.0])
        return Whole("made up", done, [], killed=Killed([5], there))

    assert is_good(whole(64_000_000, 11))
    assert not is_good(whole(64_000_001, 11)) and not is_good(whole(1, 10))


def test_the_tables_of_whole_histories() -> None:
    samples = [Sample(float(at), 100 * at, at / 2, 200_000_000, 5_000_000) for at in range(1, 11)]
    done = Indexed(samples, 10.0, 1000, 80_000_000, [3.0, 5.0, 4.0])
    whole = Whole("made up", done, [Asked("everything", [1.0, 2.0], 2)], {"`dowse status`": 900.0}, Killed([9], 1001))
    told = "\n".join(whole_lines([whole, whole]))
    assert "| commits/s | 100 | 100 |" in told and "| peak memory | 200 MB | 200 MB |" in told
    assert "| search during indexing, max | 5 ms | 5 ms |" in told
    assert "| commits after each kill | 9, 1,001 | 9, 1,001 |" in told
    assert "| made up | 100, 200 | 100, 200 | 100, 200 | 100, 200 | 100, 200 |" in told
    assert "| `dowse status` | 900 ms | 900 ms |" in told
    assert "| a search, everything, p50, p95 | 1.0 ms, 2.0 ms | 1.0 ms, 2.0 ms |" in told
