"""`why` and `related` as a client asks for them: over stdio, in one call, within the budget."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from served import Served

from storied import CHANGED_LINE, storied


class Asked:
    """What the tools of a server answer."""

    def __init__(self, server: Served, story: dict[str, str]) -> None:
        self.server, self.story = server, story

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        reply = self.server.ask("tools/call", {"name": tool, "arguments": arguments})
        found: dict[str, Any] = reply["result"]
        return found


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    place = tmp_path_factory.mktemp("served")
    root = place / "root"
    root.mkdir()
    story = storied(root)
    environment = os.environ | {"DOWSE_DATA_DIR": str(place / "data"), "DOWSE_ENCODER": "none"}
    subprocess.run([sys.executable, "-m", "dowse", "index"], cwd=root, env=environment, check=True, capture_output=True)
    server = Served(root, place / "data", DOWSE_ENCODER="none")
    try:
        server.greet()
        yield Asked(server, story)
        server.leave()
    finally:
        server.close()


def test_one_line_in_one_call_has_everything_within_the_budget(asked: Asked) -> None:
    result = asked.call("why", target=f"src/app/repo.py:{CHANGED_LINE}")
    text, found = result["content"][0]["text"], result["structuredContent"]
    assert len(text) / 4 < 1_500 and len(json.dumps(found)) / 4 < 1_500
    assert (found["definition"]["name"], found["definition"]["start_line"]) == ("Repo.save", 2)
    assert [(it["name"], it["path"], it["line"]) for it in found["callers"]] == [
        ("Service.keep", "src/app/service.py", 9)
    ]
    assert [it["path"] for it in found["tests"]] == ["tests/test_repo.py"]
    assert found["commits"][0]["commit"] == asked.story["changed"][:12]
    assert found["commits"][0]["name"] == "Refuse to save nothing"
    assert {it["commit"] for it in found["commits"]} == {it[:12] for it in asked.story.values()}
    assert [(it["path"], it["line"], it["kind"]) for it in found["documents"]] == [("docs/guide.md", 3, "links_to")]
    assert {it["path"]: it["kind"] for it in found["memories"]} == {
        "why-refuse.md": "mentions", "twice.md": "anchored"
    }  # fmt: skip
    for said in ("Service.keep", asked.story["changed"][:12], "docs/guide.md:3", "why-refuse.md", "test_save"):
        assert said in text


@pytest.mark.parametrize("budget", [150, 300, 700])
def test_smaller_budgets_are_kept(asked: Asked, budget: int) -> None:
    result = asked.call("why", target="Repo.save", budget_tokens=budget)
    for shown in (result["content"][0]["text"], json.dumps(result["structuredContent"])):
        assert len(shown) <= budget * 4


def test_related_crosses_kinds(asked: Asked) -> None:
    found = asked.call("related", target=asked.story["changed"][:9])["structuredContent"]
    assert {(it["kind"], it["direction"]) for it in found["groups"]} >= {("touches", "out"), ("changes", "out")}
    only = asked.call("related", target="Repo.save", kinds=["anchored"], limit=1)["structuredContent"]
    assert [it["neighbours"][0]["path"] for it in only["groups"]] == ["twice.md"]


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("why", {}, "target"),
        ("why", {"target": ""}, "empty"),
        ("why", {"target": "x" * 10_000}, "at most 1,000 characters"),
        ("why", {"target": "src/app/repo.py:0"}, "line numbers start at 1"),
        ("why", {"target": "Repo", "budget_tokens": 149}, "budget_tokens"),
        ("why", {"target": "Repo", "budget_tokens": 10**9}, "budget_tokens"),
        ("why", {"target": "Repo", "unheard_of": 1}, "unheard_of"),
        ("why", {"target": ["Repo"]}, "target"),
        ("related", {"target": "Repo", "limit": 0}, "limit"),
        ("related", {"target": "Repo", "kinds": "calls", "more": 1}, "more"),
        ("related", {"target": "Repo", "collection": "nowhere"}, "nowhere"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(asked: Asked, tool: str, arguments: dict[str, Any], said: str) -> None:
    result = asked.call(tool, **arguments)
    text = result["content"][0]["text"]
    assert result["isError"] and said in text and "\n" not in text and len(text) < 600


@pytest.mark.parametrize("target", ["..", "../../etc/passwd", "-x", 'NEAR("a")', "(?<", "*", "commit:..", "\u0000"])
def test_hostile_targets_are_unknown(asked: Asked, target: str) -> None:
    found = asked.call("why", target=target)["structuredContent"]
    assert found["definition"] is None and found["notes"]
