"""Schemas that clients are shown, as they follow from the signatures of tools."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, get_args, get_type_hints

import pytest

from dowse.cli import main
from dowse.errors import BadInput
from dowse.server import PROFILES
from dowse.server.mcp import bind_tool
from dowse.server.runtime import ServerRuntime, make_profile
from dowse.tools.tool import Param, Tool, ToolReply

Share = Annotated[float, Param("A share", ge=0, le=1)]


def half(
    plain: Share,
    told: Annotated[Share, Param("How much of it")],
    bounded: Annotated[Share, Param("", le=0.5)] = 0.5,
) -> ToolReply:
    return ToolReply({"sum": plain + told + bounded})


def test_the_words_nearest_to_a_parameter_win_and_bounds_come_from_either() -> None:
    told = bind_tool(Tool(half, "Half")).schema["properties"]
    shown = {name: (it["description"], it["minimum"], it["maximum"]) for name, it in told.items()}
    assert shown == {"plain": ("A share", 0, 1), "told": ("How much of it", 0, 1), "bounded": ("A share", 0, 0.5)}


@pytest.mark.parametrize("name", PROFILES)
def test_every_parameter_is_told_in_the_words_nearest_to_it(name: str, tmp_path: Path) -> None:
    profile = make_profile(name, roots=(), flags={}, environment={}, cwd=tmp_path, server_runtime=ServerRuntime())
    for tool in profile.tools:
        hints, told = get_type_hints(tool.call, include_extras=True), bind_tool(tool).schema["properties"]
        for parameter, hint in hints.items():
            if parameter != "return":
                assert told[parameter.rstrip("_")].get("description", "") == get_args(hint)[-1].help, (
                    tool.name,
                    parameter,
                )


def many(
    texts: Annotated[Sequence[str], Param("Some")] = (),
    rows: Annotated[list[str] | None, Param("Some")] = None,
    text: Annotated[str, Param("One")] = "",
) -> ToolReply:
    return ToolReply({"count": len(texts) + len(rows or ()) + len(text)})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"texts": ["a"] * 1_001}, "many: texts: at most 1,000 items, not 1,001"),
        ({"rows": ["a"] * 100_000}, "many: rows: at most 1,000 items, not 100,000"),
        ({"rows": ["a", "b" * 100_001]}, "many: rows: at most 100,000 characters in an item, not 100,001"),
        ({"text": "a" * 20_000_001}, "many: text: at most 20,000,000 characters, not 20,000,001"),
    ],
)
def test_what_is_larger_than_any_question_is_refused_by_name(given: dict[str, object], message: str) -> None:
    with pytest.raises(BadInput) as refused:
        bind_tool(Tool(many, "Many"))(given)
    assert str(refused.value) == message


def test_bounds_are_no_part_of_schemas_and_all_up_to_them_is_taken() -> None:
    bound = bind_tool(Tool(many, "Many"))
    assert bound.schema["properties"]["texts"] == {
        "default": [], "description": "Some", "items": {"type": "string"}, "type": "array",
    }  # fmt: skip
    assert bound({"texts": ["a"] * 1_000, "rows": None, "text": "a" * 20_000_000}).data == {"count": 20_001_000}


@pytest.mark.parametrize("name", PROFILES)
def test_every_list_of_every_tool_is_bounded(name: str, tmp_path: Path) -> None:
    profile = make_profile(name, roots=(), flags={}, environment={}, cwd=tmp_path, server_runtime=ServerRuntime())
    lists = 0
    for tool in profile.tools:
        bound = bind_tool(tool)
        for parameter, field in bound.arguments.model_fields.items():
            if re.search(r"\b(list|Sequence)\[", str(field.annotation)):
                lists += 1
                with pytest.raises(BadInput, match=f"{parameter}: at most 1,000 items, not 100,000"):
                    bound({parameter: ["a"] * 100_000})
    assert lists


def test_what_may_be_repeated_on_the_command_line_is_bounded(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["search", "x", *["--path", "*.py"] * 1_001])
    assert (ended.value.code, capsys.readouterr().err) == (2, "dowse: --path: at most 1,000, not 1,001\n")


# For each type that a schema may name: values of other types, which must not be taken for it.
_OF_OTHER_TYPES: dict[str, tuple[object, ...]] = {
    "integer": (True, False, "3", 3.5, [3], {}),
    "number": (True, "0.5", [0.5], {}),
    "boolean": ("yes", "true", 1, 0, [], {}),
    "string": (7, True, ["a"], {}),
    "array": ("a", 7, True, {"a": 1}, [7], [True], [None]),
}


@pytest.mark.parametrize("name", PROFILES)
def test_no_parameter_of_any_tool_takes_another_type_or_what_is_out_of_bounds(name: str, tmp_path: Path) -> None:
    profile = make_profile(name, roots=(), flags={}, environment={}, cwd=tmp_path, server_runtime=ServerRuntime())
    seen: set[str] = set()
    for tool in profile.tools:
        bound = bind_tool(tool)
        for parameter, told in bound.arguments.model_json_schema()["properties"].items():
            kinds = {it["type"]: it for it in told.get("anyOf", [told]) if "type" in it}
            assert len(kinds.keys() - {"null"}) == 1, (tool.name, parameter, told)
            seen |= kinds.keys()
            for kind, bounds in kinds.items():
                wrong = list(_OF_OTHER_TYPES.get(kind, ()))
                wrong += [bounds["minimum"] - 1] if "minimum" in bounds else []
                wrong += [bounds["maximum"] + 1] if "maximum" in bounds else []
                assert kind not in ("integer", "number") or "minimum" in bounds, (tool.name, parameter)
                for value in wrong:
                    with pytest.raises(BadInput, match=rf"(^|[ :]){re.escape(parameter)}(\.\d+)?: "):
                        bound({parameter: value})
    assert seen >= {"integer", "boolean", "string"} or name == "ragdocs"
