"""Binds a profile's functions to a transport: schemas from signatures, arguments checked before anything runs."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from dowse.errors import BadInput
from dowse.profiles.tool import OUR_WORDING, Param, Reply, Tool, Wording


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
    def schema(self) -> dict[str, Any]:
        schema = self.arguments.model_json_schema()
        schema.pop("title", None)
        for parameter in schema["properties"].values():
            parameter.pop("title", None)
        return schema

    @property
    def description(self) -> str:
        return inspect.cleandoc(self.tool.call.__doc__ or "")

    def __call__(self, given: Mapping[str, object]) -> Reply:
        """Run the tool; wrong, missing or unknown arguments are a BadInput that names them."""
        try:
            checked = self.arguments.model_validate(self._renamed(given))
        except ValidationError as error:
            prefix = "" if self.wording.missing else f"{self.tool.name}: "
            raise BadInput(f"{prefix}{'; '.join(self._complaints(error))}") from None
        return self.tool.call(**{self.own[name]: getattr(checked, name) for name in checked.model_fields_set})

    def _renamed(self, given: Mapping[str, object]) -> dict[str, object]:
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


def _public(name: str) -> str:
    return name.rstrip("_")


def _typed(hint: Any) -> Any:  # noqa: ANN401 - a type expression has no narrower type
    return get_args(hint)[0] if get_origin(hint) is Annotated else hint


def _field(hint: Any, default: Any) -> Any:  # noqa: ANN401
    param = next((it for it in get_args(hint)[1:] if isinstance(it, Param)), Param(""))
    extra: dict[str, Any] | None = {"enum": list(param.choices)} if param.choices else None
    return Field(default, description=param.help or None, ge=param.ge, le=param.le, json_schema_extra=extra)


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name).lower()


def reply_text(reply: Reply) -> str:
    return json.dumps(reply.data, ensure_ascii=False) if reply.text is None else reply.text
