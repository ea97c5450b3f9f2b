"""Which indexed files a directory means, where an index holds one root or several."""

from __future__ import annotations

from pathlib import Path

import pytest

from dowse.errors import BadInput
from dowse.model import EVERYTHING, Collection
from dowse.tools.codesearch_context import DirectoryScope, build_directory_scope
from dowse.tools.render import extension_condition, parse_choice, split_commas

ONE = [Collection("a", "/work/a")]
TWO = [Collection("a", "/work/a"), Collection("b", "/work/b")]


def at(directory: str, collections: list[Collection]) -> DirectoryScope:
    return build_directory_scope(Path(directory), collections)


def test_the_only_root_needs_no_filter() -> None:
    found = at("/work/a", ONE)
    assert (found.scope, found.subpath, found.path_filter()) == (EVERYTHING, "", None)
    assert found.full_path("a", "x/y.cs") == "/work/a/x/y.cs"


def test_a_directory_below_the_only_root_is_told_by_its_path() -> None:
    found = at("/work/a/src", ONE)
    keep = found.path_filter()
    assert (found.scope, found.subpath) == (EVERYTHING, "src")
    assert keep is not None
    assert [keep(path) for path in ("src/x.cs", "src", "srcs/x.cs", "lib/src/x.cs")] == [True, False, False, False]


def test_one_of_several_roots() -> None:
    assert at("/work/b", TWO).scope.collections == ("b",)
    assert at("/work/b/src", TWO).scope.collections == ("b",)
    assert at("/work", TWO).scope is EVERYTHING
    assert at("/elsewhere", TWO).scope.collections == ("",), "no collection is no filter, so a name that none has"
    assert at("/work/ab", TWO).roots == {}


def test_the_nearest_of_the_roots_around_it() -> None:
    nested = [Collection("outer", "/work"), Collection("inner", "/work/a/b")]
    assert (at("/work/a/b/c", nested).roots, at("/work/a/b/c", nested).subpath) == ({"inner": "/work/a/b"}, "c")
    assert at("/work/x", nested).roots == {"outer": "/work"}
    with pytest.raises(BadInput, match="contains other roots"):
        at("/work/a", nested)


def test_the_root_of_everything() -> None:
    found = at("/", [Collection("all", "/")])
    assert found.full_path("all", "etc/x") == "/etc/x"
    assert at("/etc", [Collection("all", "/")]).subpath == "etc"


def test_a_root_whose_own_path_is_excluded() -> None:
    assert at("/work", TWO).without_roots(["/B/"]).roots == {"a": "/work/a"}
    assert at("/work", TWO).without_roots(["/B/"]).scope.collections == ("a",)
    assert at("/work", TWO).without_roots(["work"]).scope.collections == ("",)
    assert at("/work", TWO).without_roots(["", "nothing"]).scope is EVERYTHING


@pytest.mark.parametrize(
    ("having", "excluded", "kept"),
    [
        ("", [], True),
        ("A/SRC/x", [], True),
        ("work\\a\\src", [], True),
        ("x.py", [], False),
        ("", ["a/src"], False),
        ("", ["A\\SRC"], False),
        ("", [""], True),
        ("", ["src/y"], True),
    ],
)
def test_parts_of_full_paths(having: str, excluded: list[str], kept: bool) -> None:
    keep = at("/work/a", ONE).path_filter(extension=extension_condition(("cs",)), having=having, excluded=excluded)
    assert keep is not None
    assert keep("src/x.cs") is kept
    assert not keep("src/x.py")


def test_words() -> None:
    assert split_commas(" a, ,b,,") == ("a", "b")
    assert extension_condition(()) is None
    ends = extension_condition((".CS", "tar.gz"))
    assert ends is not None
    assert [ends(path) for path in ("a.cs", "A.Cs", "a.tar.gz", "cs", "a.css")] == [True, True, True, False, False]
    assert parse_choice("mode", " AND ", ("or", "and")) == "and"
    with pytest.raises(BadInput, match=r"Invalid mode: 'x'\. Valid values: or, and"):
        parse_choice("mode", "x", ("or", "and"))
