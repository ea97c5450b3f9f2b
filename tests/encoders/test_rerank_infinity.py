"""The reranker against a real server: infinity, see `infinity_server.py`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from infinity_server import KEY, executable, running, write_reranker

from dowse.encoders.choose import RERANKER_SERVERS
from dowse.encoders.http import HttpTransport
from dowse.encoders.rerank import HttpReranker
from dowse.errors import EncoderMissing
from dowse.model import Query
from support import OpenEngine, write

pytestmark = pytest.mark.xdist_group("infinity")


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    program, model = executable(), tmp_path_factory.mktemp("tiny")
    write_reranker(model)
    with running(program, model, model / "infinity.log") as server:
        yield server.url


def reranker(url: str, key: str = KEY, batch: int = 32) -> HttpReranker:
    server = RERANKER_SERVERS.parse(f"cohere:tiny@{url}")
    return HttpReranker(server, HttpTransport(server.url, api_key=key, waits_s=()), batch=batch)


def test_scores_come_in_the_order_of_the_texts(url: str) -> None:
    texts = ["cat", "dog barks", "ünïcode 漢字", "a\x00b", "", "cat dog " * 500, "cat"]
    scores = reranker(url).judge("cats", texts)
    each = [reranker(url).judge("cats", [text])[0] for text in texts]
    assert scores == pytest.approx(each, abs=1e-4)
    assert reranker(url, batch=2).judge("cats", texts) == pytest.approx(each, abs=1e-4)
    assert scores[0] == pytest.approx(scores[-1], abs=1e-6)
    assert len({round(score, 4) for score in scores}) > 2


@pytest.mark.parametrize("key", ["", "wrong"])
def test_a_wrong_key_is_told_but_not_shown(url: str, key: str) -> None:
    with pytest.raises(EncoderMissing, match=r"answered 401: .*check its key") as caught:
        reranker(url, key).judge("cat", ["dog"])
    assert KEY not in str(caught.value)


def test_a_search_is_reranked_by_it(url: str, root: Path, open_engine: OpenEngine) -> None:
    write(root, {"a.md": "# Cats\n\ncats purr and sleep\n", "b.md": "# Dogs\n\ndogs bark at cats\n"})
    engine = open_engine(reranker=f"cohere:tiny@{url}", reranker_key=KEY)
    engine.index([root])
    answer = engine.search(Query("cats purr", recipe="rerank"))
    assert [it.note for it in answer.steps if it.name == "rerank"] == [""]
    by_path = {hit.stored.record.path: hit.evidence["rerank"] for hit in answer.hits}
    expected = reranker(url).judge("cats purr", ["# Cats\n\ncats purr and sleep", "# Dogs\n\ndogs bark at cats"])
    assert by_path == pytest.approx(dict(zip(("a.md", "b.md"), expected, strict=True)), abs=1e-4)
