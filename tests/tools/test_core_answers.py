"""Answers of the native tools: short in both forms, the same facts in both, and every cut says how to get the rest."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dowse.server.mcp import bind_tools, reply_text
from dowse.server.runtime import ServerRuntime, make_profile
from dowse.tools.core_render import fit_reply, reply_length
from dowse.tools.tool import ToolReply
from support import write

ROOM = 8_000
LONG = "an_argument_with_a_long_name"
BODY = "".join(f"    step_{it} = prepare('{it}', \"quoted\", '\\\\', {LONG})\n" for it in range(60))
PROSE = 'The ferry leaves the harbour at dawn, and nobody knows why it is "late". ' * 60

Call = Callable[..., ToolReply]


def crowded(root: Path) -> None:
    """Many files, long lines, names that are defined and called everywhere."""

    def callers(package: int) -> str:
        names = (f"caller_{package}_{it}_{LONG}" for it in range(40))
        return "".join(f"def {name}():\n    return handle({package}, '{name}')\n\n\n" for name in names)

    write(root, {
        "src/handle.py": f"def handle(request):\n    '''Handle the request.'''\n{BODY}    return retry(request)\n",
        **{f"src/package_{it}/module_of_a_long_name.py": f"from src.handle import handle\n\n\n{callers(it)}"
           for it in range(12)},
        **{f"src/same_{it}.py": f"class Repo{it}:\n    def save(self, item):\n        pass\n" for it in range(60)},
        **{f"docs/page_{it}.md": f"# Ferry {it}\n\n{PROSE}\n\nSee [handle](../src/handle.py).\n" for it in range(30)},
        "data/minified.js": f"var ferry = '{'x' * 20_000}';\n" * 3,
        "big.txt": "".join(f"line {it} of the ferry\n" for it in range(5_000)),
    })  # fmt: skip


@pytest.fixture(scope="module")
def call(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Call]:
    root = tmp_path_factory.mktemp("crowded")
    crowded(root)
    server_runtime = ServerRuntime()
    environment = {"DOWSE_DATA_DIR": str(root.parent / "data"), "DOWSE_ENCODER": "hashing"}
    tools = bind_tools(
        make_profile("core", roots=(), flags={}, environment=environment, cwd=root, server_runtime=server_runtime)
    )  # fmt: skip
    tools["index"]({})
    yield lambda tool, /, **arguments: tools[tool](arguments)
    server_runtime.close()


DEFAULTS: list[tuple[str, dict[str, Any]]] = [
    ("search", {"query": "ferry harbour late"}),
    ("search", {"query": "handle"}),
    ("search", {"query": "nothing of the kind whatsoever"}),
    ("fetch", {"id": "big.txt"}),
    ("fetch", {"id": "data/minified.js"}),
    ("grep", {"pattern": "e"}),
    ("grep", {"pattern": "ferry", "context": 3}),
    ("symbols", {"name": "save"}),
    ("symbols", {"name": "save", "body": True}),
    ("symbols", {}),
    ("calls", {"name": "handle"}),
    ("calls", {"name": "handle", "direction": "callees"}),
    ("calls", {"name": "save"}),
    ("why", {"target": "handle"}),
    ("why", {"target": "save"}),
    ("related", {"target": "src/handle.py"}),
    ("remember", {"name": "a-note", "content": "short"}),
    ("index", {}),
    ("status", {}),
]


def forms(reply: ToolReply) -> tuple[str, str]:
    return json.dumps(reply.data, ensure_ascii=False, separators=(",", ":")), reply_text(reply)


@pytest.mark.parametrize(("tool", "arguments"), DEFAULTS)
def test_a_default_answer_fits_in_both_forms_and_speaks_of_no_flag(call: Call, tool: str, arguments: Any) -> None:
    for form in forms(call(tool, **arguments)):
        assert 0 < len(form) <= ROOM
        assert not re.search(r"[( ]--[a-z]", form) and "null" not in form.replace('"definition":null', "")


def test_eight_hits_of_at_most_ten_lines_each_with_real_numbers(call: Call) -> None:
    hits = call("search", query="handle retry request", kinds=["code"]).data["hits"]
    assert isinstance(hits, list) and len(hits) == 8
    for hit in hits:
        lines = hit["text"].split("\n")
        assert len(lines) <= 10 and hit["end_line"] - hit["start_line"] + 1 == len(lines)
        file = str(call("fetch", id=hit["path"], start_line=hit["start_line"], end_line=hit["end_line"]).data["text"])
        assert file == hit["text"] or "…" in hit["text"]
    assert any(hit["path"] == "src/handle.py" and "retry(request)" in hit["text"] for hit in hits)
    cut = [hit for hit in hits if "passage" in hit]
    assert cut
    for hit in cut:
        first, last = hit["passage"]
        whole = call("fetch", id=hit["chunk_id"]).data
        assert (whole["start_line"], whole["end_line"]) == (first, last) and last - first >= 10


def test_the_same_facts_stand_in_both_forms(call: Call) -> None:
    reply = call("search", query="ferry harbour")
    text = reply_text(reply)
    hits = reply.data["hits"]
    assert isinstance(hits, list)
    for rank, hit in enumerate(hits, 1):
        assert f"\n{rank}. {hit['path']}:{hit['start_line']}-{hit['end_line']}" in text
        assert hit["chunk_id"] in text and f"confidence {hit['confidence']}" in text
        for number, line in enumerate(hit["text"].split("\n"), hit["start_line"]):
            assert f"\n{number}│{line}\n" in text
    assert all(len(str(hit["confidence"])) <= 6 for hit in hits)


@pytest.mark.parametrize("budget", [150, 300, 700, 1_200])
def test_a_budget_shortens_texts_before_it_drops_hits(call: Call, budget: int) -> None:
    reply = call("search", query="ferry harbour", budget_tokens=budget)
    hits = reply.data["hits"]
    assert isinstance(hits, list) and hits and reply_length(reply) <= budget * 4
    if len(hits) < 8:
        assert max(hit["text"].count("\n") for hit in hits) < 3  # no more than three lines
        assert reply.data["more"] == f"{8 - len(hits)} more hits left out (raise `budget_tokens` or lower `limit`)"


def test_a_larger_budget_shows_more_of_each(call: Call) -> None:
    def chars(budget: int) -> int:
        hits = call("search", query="handle retry request", kinds=["code"], budget_tokens=budget).data["hits"]
        assert isinstance(hits, list) and len(hits) == 8
        return sum(len(hit["text"]) for hit in hits)

    assert chars(6_000) > 1.5 * chars(2_000)


def test_steps_evidence_and_completeness_only_when_asked(call: Call) -> None:
    plain, explained = call("search", query="ferry").data, call("search", query="ferry", explain=True).data
    assert plain.keys() == {"hits"}
    assert explained.keys() == {"hits", "recipe", "steps", "completeness"}
    (hit, *_) = explained["hits"]  # type: ignore[misc]
    assert hit["evidence"].keys() >= {"bm25", "cosine"} and "confidence" not in hit["evidence"]
    assert all(it == float(f"{it:.4g}") for it in (hit["score"], hit["confidence"], *hit["evidence"].values()))


CUTS: list[tuple[str, dict[str, Any], str]] = [
    ("grep", {"pattern": "ferry"}, r"(\d+) more files \(raise `limit` or `budget_tokens`, or narrow with `paths`\)"),
    ("grep", {"pattern": "line", "paths": ["big.txt"]}, r"4,\d+ more lines \(raise `budget_tokens`"),
    ("symbols", {"name": "save"}, r"40 more definitions \(raise `limit` or `budget_tokens`, or narrow with `paths`"),
    ("symbols", {"name": "handle", "body": True, "budget_tokens": 500}, r"… \d+ more lines \(fetch the path with"),
    ("calls", {"name": "handle"}, r"470 more callers \(raise `width`\)"),
    ("calls", {"name": "handle", "width": 470}, r"4\d\d more callers \(raise `nodes`\)"),
    ("calls", {"name": "handle", "width": 470, "nodes": 400, "depth": 1}, r"80 more callers \(raise `nodes`"),
    ("calls", {"name": "handle", "depth": 1}, r"1 levels shown \(raise `depth` for more\)"),
    ("calls", {"name": "save"}, r"50 more definitions of this name"),
    ("calls", {"name": "save"}, r"60 classes define it; pick one as `Class.name`: Repo0, .* …"),
    ("why", {"target": "handle"}, r"left out: \d+ callers.* \(raise `budget_tokens`\)"),
    ("related", {"target": "src/handle.py"}, r"left out: \d+ more of the kinds above \(raise `limit`"),
    ("fetch", {"id": "big.txt"}, r"… continue with start_line=\d+"),
    ("fetch", {"id": "data/minified.js"}, r"line 1 is cut \(raise `budget_tokens`\)"),
]  # fmt: skip


@pytest.mark.parametrize(("tool", "arguments", "said"), CUTS)
def test_every_cut_is_counted_and_names_the_parameter_that_shows_the_rest(
    call: Call, tool: str, arguments: dict[str, Any], said: str
) -> None:
    assert re.search(said, reply_text(call(tool, **arguments)))


def test_what_is_cut_can_be_had(call: Call) -> None:
    read: list[str] = []
    line: object = 1
    while line is not None:
        part = call("fetch", id="big.txt", start_line=line).data
        read += str(part["text"]).split("\n")
        line = part.get("next_line")
    assert read == [f"line {it} of the ferry" for it in range(5_000)]
    many = call("calls", name="handle", width=1_000, nodes=1_000, depth=1).data["callers"]
    assert isinstance(many, list) and len(many) == 480
    assert len(call("symbols", name="save", limit=100).data["definitions"]) == 60  # type: ignore[arg-type]


def test_fit_takes_the_most_detailed_answer_of_which_both_forms_fit() -> None:
    def make(level: int) -> ToolReply:
        return ToolReply({"rows": ["x" * 10] * level}, "y" * 5 * level)

    assert [len(fit_reply(make, 50, room).data["rows"]) for room in (1_000, 200, 50, 0)] == [50, 14, 3, 0]  # type: ignore[arg-type]
    assert fit_reply(make, 0, 0).data == {"rows": []}
