"""One question over all kinds: what is asked decides which kind comes first, and nothing is said twice."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from dowse.config import Settings
from dowse.engine import Engine
from dowse.model import Hit, Query, Scope
from gits import Repo
from support import OpenEngine, write

PROJECT = Path(__file__).resolve().parents[2]
README_QUESTION = "what happens when indexing is killed in the middle"

_CODE = {
    "src/retry.py": '''"""Retries of failed requests."""


class RetryPolicy:
    """How often a failed request is tried again, and how long the backoff between two attempts is."""

    def backoff(self, attempt: int) -> float:
        return min(30.0, 0.5 * 2**attempt)


def send_with_retries(request, policy):
    """Send a request; a failed one is tried again after a backoff."""
    for attempt in range(5):
        answer = request.send()
        if answer.ok:
            return answer
        sleep(policy.backoff(attempt))
''',
    "src/session.py": '''"""Sessions keep cookies between requests."""


class Session:
    """A store of cookies, and the connections that are open."""

    def store_cookies(self, answer):
        self.cookies.update(answer.cookies)
''',
    "tests/test_retry.py": """from retry import RetryPolicy


def test_backoff_of_retries_grows():
    assert RetryPolicy().backoff(2) > RetryPolicy().backoff(1)
""",
}
_DOCUMENTS = {
    "README.md": '# Courier\n\nA client.\n\n```sh\ncourier ask "how to configure retries of failed requests"\n```\n',
    "docs/en/retries.md": "# Retries\n\n## Configure retries\n\nTo configure retries of failed requests, set `retries` "
    "in `courier.toml`. The backoff between two attempts doubles up to thirty seconds.\n",
    "docs/de/retries.md": "# Wiederholungen\n\n## Retries konfigurieren\n\nUm retries zu konfigurieren (configure "
    "retries of failed requests), setze `retries` in `courier.toml`.\n",
    "docs/fr/retries.md": "# Reprises\n\n## Configurer les retries\n\nPour configurer les retries (configure retries "
    "of failed requests), voir `retries` dans `courier.toml`.\n",
    "docs/en/sessions.md": "# Sessions\n\nA session keeps cookies. To use one, open it with `courier.session()`.\n",
}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    place = tmp_path_factory.mktemp("kinds")
    root = place / "root"
    repo = Repo(root)
    repo.commit("Start the client", {"src/session.py": _CODE["src/session.py"]})
    cap = "Cap the backoff of retries at thirty seconds\n\nRequests were stuck for minutes after an outage.\n"
    body = "\n".join(f"retries of requests: line {number} of the notes on backoff" for number in range(150))
    repo.commit(cap, {**_CODE, "notes.cfg": body})
    (root / "notes.cfg").unlink()
    repo.commit("Describe retries and sessions", _DOCUMENTS)
    settings = Settings(encoder="static", data_dir=place / "data", freshness_timeout_ms=60_000)
    with Engine(settings, place / "index" / "index.db", create=True) as engine:
        engine.index([root])
        engine.histories.index_history()
        engine.memory.remember(
            "backoff", "The backoff of retries has jitter on purpose: clients must not return in step."
        )
        engine.indexing.encode()
        yield engine


def ask(engine: Engine, question: str, *kinds: str, limit: int = 5) -> list[Hit]:
    return list(engine.search(Query(question, Scope(kinds=kinds), limit=limit, recipe="auto")).hits)


@pytest.mark.parametrize(
    ("question", "kind", "path"),
    [
        ("where are retries of requests sent", "code", "src/retry.py"),
        ("retry policy backoff", "code", "src/retry.py"),
        ("RetryPolicy", "code", "src/retry.py"),
        ("how to configure retries of failed requests", "doc", "docs/en/retries.md"),
        ("how do I use a session", "doc", "docs/en/sessions.md"),
        ("use a session", "doc", "docs/en/sessions.md"),
        ("keep the cookies between requests", "doc", "docs/en/sessions.md"),
        ("store the cookies of a session", "code", "src/session.py"),
        ("why did we cap the backoff of retries", "commit", ""),
        ("when was the backoff of retries changed", "commit", ""),
        ("who changed the backoff of retries", "commit", ""),
        ("which commit was about retries and sessions", "commit", ""),
        ("what did we decide about the backoff of retries", "memory", "backoff.md"),
        ("what was agreed on backoff and jitter", "memory", "backoff.md"),
    ],
)
def test_what_is_asked_decides_which_kind_comes_first(engine: Engine, question: str, kind: str, path: str) -> None:
    first = ask(engine, question)[0].stored.record
    assert (first.kind, first.path if path else "") == (kind, path)


def test_a_kind_that_is_named_is_never_overridden(engine: Engine) -> None:
    for kind in ("code", "doc", "commit", "memory"):
        assert {it.stored.record.kind for it in ask(engine, "who changed the backoff of retries", kind)} == {kind}
        assert {it.stored.record.kind for it in ask(engine, "how to configure the backoff of retries", kind)} == {kind}


def test_a_commit_of_several_pieces_is_one_hit(engine: Engine) -> None:
    for kinds in (("commit",), ()):
        hits = ask(engine, "retries requests notes backoff", *kinds, limit=10)
        commits = [it.stored.record.path for it in hits if it.stored.record.kind == "commit"]
        assert commits
        assert len(commits) == len({*commits})
    folded = [it for it in ask(engine, "retries requests notes backoff", "commit") if it.evidence.get("passages")]
    assert folded


def test_a_document_is_shown_in_one_language(engine: Engine) -> None:
    found = [it.stored.record.path for it in ask(engine, "how to configure retries of failed requests", limit=10)]
    assert [it for it in found if it.endswith("retries.md")] == ["docs/en/retries.md"]
    german = [it.stored.record.path for it in ask(engine, "retries konfigurieren Wiederholungen", limit=10)]
    assert [it for it in german if it.endswith("retries.md")] == ["docs/de/retries.md"]
    first = ask(engine, "how to configure retries of failed requests")[0]
    assert first.evidence["translations"] == 2


def test_what_only_quotes_the_question_comes_behind_what_answers_it(engine: Engine) -> None:
    hits = ask(engine, "how to configure retries of failed requests", limit=50)
    paths = [it.stored.record.path for it in hits]
    assert paths.index("docs/en/retries.md") == 0
    (quoting,) = [it for it in hits if it.stored.record.path == "README.md"]
    assert quoting.evidence["quotes_question"] == 1
    assert quoting.score < hits[1].score


def test_a_heading_that_asks_the_question_is_no_quote(root: Path, open_engine: OpenEngine) -> None:
    question = "what happens to cookies of a closed session"
    write(
        root, {"faq.md": f"# FAQ\n\n## {question}?\n\nThey go.\n", "other.md": "# Session\n\nCookies of a session.\n"}
    )
    engine = open_engine(encoder="none")
    engine.index([root])
    first = ask(engine, question)[0]
    assert first.stored.record.path == "faq.md"
    assert "quotes_question" not in first.evidence


def test_copies_are_folded_into_the_best_of_them(root: Path, open_engine: OpenEngine) -> None:
    text = "# Install\n\n" + "".join(f"Step {number} of the installation of the walrus.\n\n" for number in range(12))
    write(
        root, {"docs/install.md": text, "old/install.md": text + "\nA last line.\n", "use.md": "# Use\n\nThe walrus.\n"}
    )
    engine = open_engine(encoder="none")
    engine.index([root])
    hits = ask(engine, "installation of the walrus", limit=10)
    assert sum(it.stored.record.path.endswith("install.md") for it in hits) == 1
    assert hits[0].evidence["duplicates"] == 1


def test_the_first_question_of_the_readme_is_answered_by_the_section_about_crashes(
    root: Path, open_engine: OpenEngine
) -> None:
    repo = Repo(root)
    shutil.copytree(PROJECT / "docs", root / "docs")
    for name in ("README.md", "benchmarks/README.md", "src/dowse/ingest/sync.py", "src/dowse/search/plan.py"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(PROJECT / name, root / name)
    repo.commit("Index files and documents")
    for at in range(12):
        killed = (
            f"Killed in the middle of indexing: what happens, part {at}\n\nindexing killed: the middle of a file.\n"
        )
        repo.commit(killed, {"log.cfg": f"{at}: indexing was killed in the middle\n"})
    engine = open_engine(encoder="static")
    engine.index([root])
    engine.histories.index_history()
    engine.indexing.encode()
    first = ask(engine, README_QUESTION)[0].stored
    assert (first.record.path, first.chunk.trail[-1]) == ("docs/architecture.md", "What breaks, and what then")
