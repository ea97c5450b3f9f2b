"""What the benchmark of agent programs takes for shown, and for cut."""

from __future__ import annotations

import json
from urllib.request import Request, urlopen

import pytest

from agents.scripted_model import Conversation, scripted_model
from agents.section import missing_parts

HITS = [{"text": 'def stop():\n    return "now"\n'}, {"text": "Ein Schluß, with \\t inside"}]
ANSWER = {"result": {"structuredContent": {"hits": HITS}}}


@pytest.mark.parametrize(
    "read",
    [
        json.dumps(HITS),
        json.dumps(json.dumps(HITS)),
        json.dumps(HITS, ensure_ascii=False),
        '1. a.py\n   1│ def stop():\n   2│     return "now"\n2. b.md\n   9│ Ein Schluß, with \\t inside',
    ],
)
def test_an_answer_that_is_there_whole_lacks_nothing(read: str):
    assert missing_parts(read, ANSWER) == []


def test_a_hit_that_is_cut_is_named():
    assert missing_parts(json.dumps(HITS)[:25], ANSWER) == ["hit 1", "hit 2"]
    assert missing_parts(json.dumps(HITS[:1]), ANSWER) == ["hit 2"]


def test_a_server_that_finds_nothing_proves_nothing():
    assert missing_parts("", {"result": {}}) != []


TOOL = "mcp__dowse__search"
PROTOCOLS = {
    "/v1/messages?beta=true": (
        {"tools": [{"name": "Read"}, {"name": TOOL}], "messages": []},
        {"messages": [{"role": "user", "content": [{"type": "tool_result", "content": "found"}]}]},
    ),
    "/v1/responses": (
        {"tools": [{"type": "namespace", "name": "mcp__dowse", "tools": [{"name": "search"}]}], "input": []},
        {"input": [{"type": "function_call_output", "output": "found"}]},
    ),
    "/v1/chat/completions": (
        {"tools": [{"type": "function", "function": {"name": "dowse_search"}}], "messages": []},
        {"messages": [{"role": "tool", "content": "found"}]},
    ),
}


@pytest.mark.parametrize("path", PROTOCOLS)
def test_the_model_calls_search_once_and_notes_what_comes_back(path: str):
    first, second = PROTOCOLS[path]
    conversation = Conversation("why?")
    with scripted_model(conversation) as base:
        assert "why?" in _post(base + path, first)
        assert "why?" not in _post(base + path, {**first, **second})
    assert len(conversation.shown_tools()) == 1
    assert conversation.tool_results() == ["found"]


def test_tools_that_come_with_the_second_request_were_not_shown():
    conversation = Conversation("why?", [{"tools": [{"name": "Read"}]}, {"tools": [{"name": TOOL}]}])
    assert conversation.shown_tools() == []


def _post(address: str, body: object) -> str:
    with urlopen(Request(address, json.dumps(body).encode(), method="POST"), timeout=10) as reply:
        return reply.read().decode()
