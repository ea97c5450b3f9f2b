"""Schemas that clients are shown, as they follow from the signatures of tools."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, get_args, get_type_hints

import pytest

from dowse.profiles.tool import Param, Reply, Tool
from dowse.shells.backstage import Backstage
from dowse.shells.serving import make_profile
from dowse.shells.tools import bind
from dowse.shells.workspace import PROFILES

Share = Annotated[float, Param("A share", ge=0, le=1)]


def half(
    plain: Share,
    told: Annotated[Share, Param("How much of it")],
    bounded: Annotated[Share, Param("", le=0.5)] = 0.5,
) -> Reply:
    return Reply({"sum": plain + told + bounded})


def test_the_words_nearest_to_a_parameter_win_and_bounds_come_from_either() -> None:
    told = bind(Tool(half, "Half")).schema["properties"]
    shown = {name: (it["description"], it["minimum"], it["maximum"]) for name, it in told.items()}
    assert shown == {"plain": ("A share", 0, 1), "told": ("How much of it", 0, 1), "bounded": ("A share", 0, 0.5)}


@pytest.mark.parametrize("name", PROFILES)
def test_every_parameter_is_told_in_the_words_nearest_to_it(name: str, tmp_path: Path) -> None:
    profile = make_profile(name, roots=(), flags={}, environment={}, cwd=tmp_path, backstage=Backstage())
    for tool in profile.tools:
        hints, told = get_type_hints(tool.call, include_extras=True), bind(tool).schema["properties"]
        for parameter, hint in hints.items():
            if parameter != "return":
                assert told[parameter.rstrip("_")].get("description", "") == get_args(hint)[-1].help, (
                    tool.name,
                    parameter,
                )
