"""What real git shows as the heading of a hunk: the method, not its class, and no function inside of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from dowse.git.commit import CommitData
from dowse.ingest.sources.commits import CommitSource
from gits import Repo

FILLER = "        step();\n" * 8


def heading(place: Path, name: str, text: str) -> str:
    """Of the only hunk that changes the line with CHANGED."""
    repo = Repo(place)
    repo.commit("One", {name: text})
    repo.commit("Two", {name: text.replace("CHANGED", "changed")})
    source = CommitSource(repo.git_directory, 1, 200)
    try:
        delta = CommitData.from_bytes(source.read(source.listing().items[0])[1]).diff
    finally:
        source.close()
    (found,) = (line for line in delta.split("\n") if line.startswith("@@"))
    return found.split(" @@ ", 1)[1]


@pytest.mark.parametrize(
    ("name", "before"),
    [
        ("a.py", "    def area(self):"),
        ("a.py", "    async def area(self, width):"),
        ("A.java", "    public int area(int width) {"),
        ("a.cs", "    internal static Task<int> Area(int width)"),
        ("a.ts", "  area(width: number): number {"),
        ("a.php", "    public function area()"),
        ("a.kt", "    private fun area(width: Int): Int {"),
        ("a.rs", "    pub fn area(&self) -> u32 {"),
        ("a.rb", "  def area"),
        ("a.scala", "  def area(width: Int): Int = {"),
        ("a.swift", "    func area() -> Int {"),
    ],
)
def test_a_method_is_shown_as_it_is_indented(tmp_path: Path, name: str, before: str):
    text = f"class Shape {{\n{before}\n{FILLER}        CHANGED();\n{FILLER}"
    assert heading(tmp_path / "repo", name, text) == before


def test_a_function_inside_of_another_is_passed_over(tmp_path: Path):
    inner = "def outer():\n    def inner():\n        pass\n" + "    step()\n" * 8 + "    CHANGED()\n"
    assert heading(tmp_path / "repo", "a.py", inner) == "def outer():"


def test_control_flow_and_calls_are_no_headings(tmp_path: Path):
    text = (
        "class Shape {\n    int area(int x) {\n        if (x) {\n            call(x);\n"
        + FILLER
        + "        CHANGED();\n"
    )
    assert heading(tmp_path / "repo", "A.java", text) == "    int area(int x) {"


def test_what_a_repository_sets_for_itself_is_not_run(tmp_path: Path):
    """A driver of our name in its configuration: what it names is a program, and stays unused."""
    repo = Repo(tmp_path / "repo")
    mark = tmp_path / "ran"
    for setting in ("textconv", "command"):
        repo.run("config", f"diff.dowse-python.{setting}", f"touch {mark};:")
    text = "def area():\n" + "    step()\n" * 8 + "    CHANGED()\n"
    assert heading(tmp_path / "repo", "a.py", text) == "def area():"
    assert not mark.exists()
