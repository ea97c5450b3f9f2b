"""Names that source text defines, and what names are made of."""

from __future__ import annotations

import pytest

from dowse.text.code_names import defined_names, share_stem, split_name_parts


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("def get_user(name):\n    pass", ["get_user"]),
        ("export class HttpClient {}", ["HttpClient"]),
        ("pub fn parse() {}\nstruct Node;", ["parse", "Node"]),
        ("const $el = 1; interface Props {}", ["$el", "Props"]),
        ("the class of things", ["of"]),
        ("nothing here", []),
    ],
)
def test_defined_names(text: str, names: list[str]) -> None:
    assert [*defined_names(text)] == names


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("combineReducers", ("combine", "reducers")),
        ("get_user_name", ("get", "user", "name")),
        ("_", ()),
        ("x", ("x",)),
    ],
)
def test_name_parts(name: str, parts: tuple[str, ...]) -> None:
    assert split_name_parts(name) == parts


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("render", "rendering", True),
        ("templates", "template", True),
        ("url", "urls", True),
        ("register", "registration", False),
        ("registry", "registries", True),
        ("form", "formatter", False),
        ("a", "b", False),
        ("", "", True),
    ],
)
def test_alike(one: str, other: str, same: bool) -> None:
    assert share_stem(one, other) is share_stem(other, one) is same
