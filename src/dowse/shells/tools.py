"""Binds a profile's functions to a transport: schemas from signatures, arguments checked before anything runs."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, create_model
from pydantic_core import PydanticCustomError

from dowse.errors import BadInput, IndexUnusable, advised
from dowse.profiles.tool import MAX_ITEMS, OUR_WORDING, Param, Profile, Reply, Tool, Wording

MAX_CHARS = 20_000_000  # of a text; contracts have bounds of their own below it
MAX_ITEM_CHARS = 100_000  # of a text in a list


@dataclass(frozen=True, slots=True)
class BoundTool:
    """A tool with the model of its arguments, whose fields are named as clients know them; `own` are their names in
    the tool's function, `spelt` themselves by what remains of them when casing does not count."""

    tool: Tool
    arguments: type[BaseModel]
    wording: Wording
    own: Mapping[str, str]
    spelt: Mapping[str, str]

    @property
    def required(self) -> tuple[str, ...]:
        return tuple(name for name, field in self.arguments.model_fields.items() if field.is_required())

    @property
    def schema(self) -> dict[str, Any]:
        schema = self.arguments.model_json_schema()
        schema.pop("title", None)
        for parameter in schema["properties"].values():
            parameter.pop("title", None)
        return _brief(schema) if self.tool.brief else schema

    @property
    def description(self) -> str:
        return inspect.cleandoc(self.tool.call.__doc__ or "")

    def __call__(self, given: Mapping[str, object]) -> Reply:
        """Run the tool; wrong, missing or unknown arguments are a BadInput that names them."""
        try:
            checked = self.arguments.model_validate(self.renamed(given))
        except ValidationError as error:
            prefix = "" if self.wording.missing else f"{self.tool.name}: "
            raise BadInput(f"{prefix}{'; '.join(self._complaints(error))}") from None
        try:
            return self.tool.call(**{self.own[name]: getattr(checked, name) for name in checked.model_fields_set})
        except IndexUnusable as error:
            if not self.wording.mending:
                raise
            raise type(error)(advised(str(error), self.wording.mending)) from error

    def renamed(self, given: Mapping[str, object]) -> dict[str, object]:
        """`topK` is taken for `top_k` and the other way round: families of clients differ in casing only."""
        return {self.spelt.get(_snake(name), name): value for name, value in given.items()}

    def _complaints(self, error: ValidationError) -> list[str]:
        complaints = []
        for problem in error.errors(include_url=False, include_input=False):
            name = ".".join(str(part) for part in problem["loc"]) or "arguments"
            if problem["type"] == "extra_forbidden":
                known = ", ".join(self.arguments.model_fields)
                complaints.append(f"unknown parameter {name[:100]!r} (known: {known})")
            elif problem["type"] == "missing" and self.wording.missing:
                complaints.append(self.wording.missing.format(name=name))
            else:
                complaints.append(f"{name}: {problem['msg'][0].lower()}{problem['msg'][1:]}")
        return list(dict.fromkeys(complaints))


@dataclass(frozen=True, slots=True)
class Either:
    """Tools of one name: the one whose required arguments are given is meant."""

    choices: tuple[BoundTool, ...]

    @property
    def tool(self) -> Tool:
        return replace(self.choices[0].tool, title="; ".join(it.tool.title for it in self.choices))

    @property
    def schema(self) -> dict[str, Any]:
        """Every parameter of each; none is required, because that depends on what is asked."""
        schemas = [it.schema for it in self.choices]
        properties = {name: told for it in reversed(schemas) for name, told in it["properties"].items()}
        return {**schemas[0], "properties": properties, "required": []}

    @property
    def description(self) -> str:
        return " ".join(f"With {_listed(it.required)}: {it.description}" for it in self.choices)

    def __call__(self, given: Mapping[str, object]) -> Reply:
        meant = [it for it in self.choices if not it.renamed(given).keys().isdisjoint(it.required)]
        if len(meant) != 1:
            asked = "these arguments belong to different questions" if meant else "what is asked for is missing"
            raise BadInput(
                f"{self.tool.name}: {asked}; give {', or '.join(_listed(it.required) for it in self.choices)}"
            )
        return meant[0](given)


Bound = BoundTool | Either


def bind_all(profile: Profile) -> dict[str, Bound]:
    """By name, in the order of the profile."""
    bound: dict[str, list[BoundTool]] = {}
    for tool in profile.tools:
        bound.setdefault(tool.name, []).append(bind(tool, tool.wording or profile.wording))
    return {name: tools[0] if len(tools) == 1 else Either(tuple(tools)) for name, tools in bound.items()}


def _listed(names: Sequence[str]) -> str:
    return " and ".join(names)


def bind(tool: Tool, wording: Wording = OUR_WORDING) -> BoundTool:
    hints = get_type_hints(tool.call, include_extras=True)
    fields: dict[str, Any] = {}
    for parameter in inspect.signature(tool.call).parameters.values():
        default = ... if parameter.default is inspect.Parameter.empty else parameter.default
        fields[parameter.name] = (hints[parameter.name], default)
    own = {_public(name): name for name in fields}
    fields = {_public(name): (_typed(hint), _field(hint, default)) for name, (hint, default) in fields.items()}
    config = ConfigDict(extra="forbid", allow_inf_nan=False, strict=tool.strict)
    model = create_model(tool.name, __config__=config, **fields)
    return BoundTool(tool, model, wording, own, {_snake(name): name for name in own})


def _brief(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Without what says nothing to who calls it: that null is a value too, and what is taken if nothing is given.

    That other parameters are refused is not said either: the refusal names them.
    """
    properties = {}
    for name, told in schema["properties"].items():
        plain = {**told.pop("anyOf", [{}])[0], **told}
        properties[name] = {key: it for key, it in plain.items() if key != "default"}
    required = {"required": schema["required"]} if schema.get("required") else {}
    return {"type": "object", "properties": properties, **required}


def _public(name: str) -> str:
    return name.rstrip("_")


def _typed(hint: Any) -> Any:  # noqa: ANN401 - a type expression has no narrower type
    return Annotated[get_args(hint)[0] if get_origin(hint) is Annotated else hint, BeforeValidator(_within_bounds)]


def _within_bounds(value: object) -> object:
    """Refuses what is larger than any question: of every tool, before anything runs, and not told in the schema."""
    if isinstance(value, str) and len(value) > MAX_CHARS:
        raise _too_large(MAX_CHARS, "characters", len(value))
    if isinstance(value, Sequence) and not isinstance(value, str):
        if len(value) > MAX_ITEMS:
            raise _too_large(MAX_ITEMS, "items", len(value))
        longest = max((len(it) for it in value if isinstance(it, str)), default=0)
        if longest > MAX_ITEM_CHARS:
            raise _too_large(MAX_ITEM_CHARS, "characters in an item", longest)
    return value


def _too_large(most: int, what: str, given: int) -> PydanticCustomError:
    return PydanticCustomError("too_large", "at most {most} {what}, not {given}", {
        "most": f"{most:,}", "what": what, "given": f"{given:,}",
    })  # fmt: skip


def _field(hint: Any, default: Any) -> Any:  # noqa: ANN401
    param = reduce(_refined, (it for it in get_args(hint)[1:] if isinstance(it, Param)), Param(""))
    extra: dict[str, Any] | None = {"enum": list(param.choices)} if param.choices else None
    return Field(default, description=param.help or None, ge=param.ge, le=param.le, json_schema_extra=extra)


def _refined(inner: Param, outer: Param) -> Param:
    """What stands around a type that has words and bounds of its own says more of this one parameter."""
    return Param(
        outer.help or inner.help,
        inner.ge if outer.ge is None else outer.ge,
        inner.le if outer.le is None else outer.le,
        outer.choices or inner.choices,
    )


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name).lower()


def reply_text(reply: Reply) -> str:
    return json.dumps(reply.data, ensure_ascii=False) if reply.text is None else reply.text
