"""Definitions against another lister: what is found, what is missing, what does not count, and how it is said."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import pytest

from definitions import listers, sources
from definitions.comparing import DEFINED, HELD, Span, Tag, compare
from definitions.listers import LISTERS, listed
from definitions.section import Measured, lines, measure
from definitions.sources import LEAST_FILES, PACKAGES, files_of

RUBY = "class Cat\n  SOUNDS = 1\n  attr_reader :age\n\n  def purr\n  end\nend\n"


CTAGS = """#!{python}
import json, sys

if "--version" in sys.argv:
    print("Universal Ctags 5.9.0")
    sys.exit()
kinds = next(it for it in sys.argv if it.startswith("--kinds-Ruby="))
for path in map(str.strip, sys.stdin):
    for kind, name, line in [("class", "Cat", 1), ("constant", "SOUNDS", 2), ("accessor", "age", 3),
                             ("method", "purr", 5), ("library", "set", 9), ("class", "__anon1", 9)]:
        if "{" + kind + "}" in kinds:
            print(json.dumps({"_type": "tag", "language": "Ruby", "path": path, "name": name, "line": line,
                              "kind": kind}))
    print(json.dumps({"_type": "tag", "language": "RSpec", "path": path, "name": "x", "line": 1, "kind": "it"}))
"""


@pytest.fixture
def ctags(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A ctags that lists the definitions of RUBY in every file, as far as their kinds are asked for."""
    command = tmp_path / "bin" / "ctags-universal"
    command.parent.mkdir()
    command.write_text(CTAGS.replace("{python}", sys.executable))
    command.chmod(0o755)
    monkeypatch.setenv("PATH", str(command.parent))


def tag(name: str, line: int, group: str = DEFINED, kind: str = "function") -> Tag:
    return Tag("a.rb", name, line, kind, group)


def span(name: str, start: int, end: int) -> Span:
    return Span("a.rb", name, start, end, "method")


@pytest.mark.parametrize(
    ("line", "there"), [(3, False), (4, True), (5, True), (9, True), (10, False)], ids=lambda it: str(it)
)
def test_a_definition_is_found_at_its_line_one_beside_it_or_inside_of_it(line: int, there: bool) -> None:
    compared = compare([tag("f", line)], [span("f", 5, 9)])
    assert compared.recall(DEFINED) == float(there)
    assert [it.line for it in compared.missing] == ([] if there else [line])


def test_another_file_or_name_is_no_find() -> None:
    compared = compare([tag("f", 5), tag("g", 5)], [span("f", 5, 5)._replace(path="b.rb"), span("f", 5, 5)])
    assert (compared.recall(DEFINED), [it.name for it in compared.missing]) == (0.5, ["g"])
    assert [it.path for it in compared.only_here] == ["b.rb"]


def test_groups_are_counted_apart_and_what_is_listed_twice_once() -> None:
    compared = compare([tag("f", 5), tag("f", 5), tag("x", 2, HELD, "field")], [span("f", 5, 9)])
    assert (compared.listed, compared.recall(DEFINED), compared.recall(HELD)) == (Counter({DEFINED: 1, HELD: 1}), 1, 0)
    assert compare([], []).recall(HELD) is None


def test_what_does_not_count_is_known_to_both() -> None:
    assert compare([], [span("f", 1, 1)], [("a.rb", "f")]).only_here == ()


def test_misses_come_by_kind_with_samples_of_several_files() -> None:
    tags = [tag("a", 1), tag("b", 2), tag("c", 3)._replace(path="b.rb"), tag("d", 4, kind="class")]
    ((kind, count, samples), (other, *_)) = compare(tags, []).misses(DEFINED)
    assert (kind, count, [it.name for it in samples], other) == ("function", 3, ["b", "c"], "class")


@pytest.mark.usefixtures("ctags")
def test_ctags_lists_what_counts_and_the_rest_is_told_with_its_reason(tmp_path: Path) -> None:
    found = listed("ruby", [tmp_path / "cat.rb"])
    assert [(it.name, it.line, it.group) for it in found.tags] == [
        ("Cat", 1, DEFINED),
        ("SOUNDS", 2, HELD),
        ("age", 3, HELD),
        ("purr", 5, DEFINED),
    ]
    assert [name for _, name, _ in found.left_out] == ["set", "__anon1"]
    assert all(reason for *_, reason in found.left_out)


REASONS = [
    ("shell", "function", "f", "f() {", False),
    ("shell", "function", "f", "then f() { :; }; fi", False),
    ("shell", "function", "xs=", "xs=()", True),
    ("shell", "function", "name", "the function name (second part)", True),
    ("shell", "alias", "ll", "alias ll='ls'", False),
    ("shell", "alias", "list", "lxc image alias list", True),
    ("javascript", "constant", "fs", "const fs = require('fs');", True),
    ("javascript", "class", "Foo", "Foo.prototype.bar = function () {", True),
    ("javascript", "method", "bar", "Foo.prototype.bar = function () {", False),
    ("javascript", "method", "bar", "Foo.prototype.bar.call(this);", True),
    ("javascript", "field", "x", "this.x.go();", True),
    ("sql", "field", "member", "  member function peek return varchar2,", True),
    ("sql", "field", "map", "  map member function id return varchar2,", True),
    ("sql", "field", "id", "  id number,", False),
    ("sql", "variable", "l_count", "  l_count pls_integer;", True),
    ("sql", "table", "rows", "  type rows is table of number;", True),
    ("sql", "table", "rows", "create table rows (", False),
    ("typescript", "constant", "x7f", "const A = 0x7f", True),
    ("typescript", "variable", "A", "readonly A: number;", False),
]


@pytest.mark.parametrize(("language", "kind", "name", "line", "is_dropped"), REASONS)
def test_what_ctags_reads_by_mistake_does_not_count(
    language: str, kind: str, name: str, line: str, is_dropped: bool
) -> None:
    row = {"kind": kind, "name": name, "pattern": f"/^{line}$/", "line": 1}
    assert bool(LISTERS[language].drop(row)) is is_dropped


@pytest.mark.parametrize(
    ("language", "text", "places", "local"),
    [
        (
            "javascript",
            "let a = 1;\nfunction f() {\n  let b = 2;\n  this.c = 3;\n}\n",
            (("a", 1), ("b", 3), ("c", 4)),
            "b",
        ),
        (
            "kotlin",
            "class C(val a: Int) {\n  val b: Int\n    get() {\n      val c = 1\n      return c\n    }\n"
            "  init {\n    for (d in 1..2) {}\n  }\n  fun f() {\n    val e = 1\n  }\n  var g = 1\n}\n",
            (("a", 1), ("b", 2), ("c", 4), ("d", 8), ("e", 11), ("g", 13)),
            "cde",
        ),
    ],
)
def test_what_a_function_holds_is_local_but_not_members_of_this(
    tmp_path: Path, language: str, text: str, places: tuple[tuple[str, int], ...], local: str
) -> None:
    path = tmp_path / "a"
    path.write_text(text)
    bodies = LISTERS[language].bodies
    assert bodies is not None
    within = listers._Bodies(bodies)
    rows = [{"path": str(path), "name": name, "line": line} for name, line in places]
    assert "".join(str(row["name"]) for row in rows if within.holds(row)) == local


def test_without_ctags_the_package_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SystemExit, match=f"install the package {listers.PACKAGE}"):
        listed("ruby", [tmp_path / "a.rb"])


def test_grammars_list_what_ctags_cannot_read(tmp_path: Path) -> None:
    path = tmp_path / "a.scala"
    path.write_text("package p\nclass A {\n  val x = 1\n  def f = 2\n}\n")
    found = listed("scala", [path])
    assert [(it.name, it.line, it.group) for it in found.tags] == [("A", 2, DEFINED), ("x", 3, HELD), ("f", 4, DEFINED)]
    assert [name for _, name, _ in found.left_out] == ["p"]


def test_every_language_has_a_lister_and_several_packages() -> None:
    assert set(LISTERS) == set(PACKAGES)
    assert all(len(it.packages) > 1 for it in PACKAGES.values())


def package(work: Path, name: str, count: int) -> None:
    for number in range(count):
        path = work / "corpora" / "src" / name / "lib" / f"{number}.rb"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(RUBY)


def test_packages_take_turns_and_too_few_files_are_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "PACKAGES", {"ruby": sources._of(".rb", "one/lib two")})
    package(tmp_path, "one", 3)
    package(tmp_path, "two", LEAST_FILES)
    found = files_of("ruby", tmp_path)
    assert [("one" in it.parts) for it in found[:8]] == [True, False] * 3 + [False, False]
    assert files_of("ruby", tmp_path) == found
    for path in (tmp_path / "corpora" / "src" / "two" / "lib").iterdir():
        path.unlink()
    with pytest.raises(SystemExit, match="ruby has 3 files"):
        files_of("ruby", tmp_path)


@pytest.mark.usefixtures("ctags")
def test_the_section_has_recall_and_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packages = {"ruby": sources._of(".rb", "one two")}
    monkeypatch.setattr(sources, "PACKAGES", packages)
    package(tmp_path, "one", LEAST_FILES)
    package(tmp_path, "two", 1)
    section, good = measure(["ruby"], tmp_path)
    assert good
    assert "| ruby | 201 | 402 | 1.000 | 402 | 1.000 | 0 (0%) |" in section.lines
    missed = Measured("ruby", 1, compare([tag("f", 5)], []), Counter({"a reason": 2}))
    told = lines([missed], tmp_path)
    assert "| ruby | 1 | 1 | 0.000 (below) | 0 | – | 0 (0%) |" in told
    assert "- missing: 1 function, such as `f` a.rb:5" in told
    assert "- not counted: 2: a reason" in told
