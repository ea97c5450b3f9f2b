"""Which definitions a hunk changed, by its heading, its lines and their indentation."""

from __future__ import annotations

import pytest

from dowse.ingest.extract.commit import DiffHunk, FileDiff, changed_definitions


def changed(path: str, *lines: str, heading: str = "", line: int = 10) -> list[tuple[str, int]]:
    delta = FileDiff(path, [DiffHunk(line, heading, lines)])
    return [(it.name, it.line) for it in changed_definitions(delta)]


def names(path: str, *lines: str, heading: str = "") -> list[str]:
    return [name for name, _ in changed(path, *lines, heading=heading)]


def test_the_heading_tells_what_the_first_lines_stand_in():
    assert changed("a.py", "     x = 1", "-    y = 2", "+    y = 3", heading="def area(self):") == [("area", 11)]


def test_a_definition_in_the_hunk_begins_a_new_one():
    lines = (" def one():", "     pass", " ", " def two():", "+    x = 1")
    assert changed("a.py", *lines, heading="def before():") == [("two", 14)]


def test_members_are_named_with_what_they_stand_in():
    lines = (" class Shape:", "+    sides = 4", "     def area(self):", "+        return 1")
    assert names("a.py", *lines) == ["Shape", "Shape.area"]


def test_a_method_in_the_heading_is_not_around_its_siblings():
    lines = ("         return 1", " ", "     def other(self):", "+        return 2")
    assert names("a.py", *lines, heading="    def area(self):") == ["other"]


def test_what_stands_to_the_left_closes_a_definition():
    assert names("a.py", "     return 1", " ", "+LIMIT = 3", heading="def area():") == []
    assert names("a.py", "         return 1", "+    sides = 4", heading="    def area(self):") == []


def test_lines_that_close_brackets_or_remark_do_not():
    lines = ("     one,", " ) -> int:", "+    return 1")
    assert names("a.py", *lines, heading="def area(") == ["area"]
    assert names("a.py", "     x = 1", " # a remark", "+    return 1", heading="def area():") == ["area"]
    assert names("a.py", "     x = 1", "+# a remark of nobody", heading="def area():") == []


def test_both_sides_of_a_renamed_definition_are_changed():
    assert names("a.py", "-def old():", "+def new():", "     pass") == ["old", "new"]


def test_a_decorator_belongs_to_what_follows():
    lines = ("+@cached(", "+    size=3,", "+)", " def area():", "     pass")
    assert changed("a.py", *lines, heading="def before():") == [("area", 10)]
    assert names("a.py", "+@cached", " ", " LIMIT = 3", heading="def before():") == []
    assert names("a.py", "+@cached", " LIMIT = 3", " def area():", "     pass") == []
    assert names("a.py", " class Shape:", "+    @property", "     def area(self):") == ["Shape.area"]
    assert names("a.py", " def area():", " " * 12 + " [", "+" + " " * 12 + "@ other") == ["area"]


def test_blank_lines_and_what_git_remarks_change_nothing():
    assert names("a.py", "+", "+   ", heading="def area():") == []
    lines = ("-    x = 1", "\\ No newline at end of file", "+    x = 1")
    assert names("a.py", *lines, heading="    def close(self):") == []  # it is no deeper than the heading
    assert names("a.py", *lines, heading="def close(self):") == ["close"]
    assert changed("a.py", *lines, "+def area():", "+    pass", line=1)[-1] == ("area", 2)


def test_each_is_told_once_with_its_first_line():
    lines = ("+    x = 1", "     y = 2", "+    z = 3")
    assert changed("a.py", *lines, heading="def area():") == [("area", 10)]


def test_the_words_that_begin_it_are_told_wherever_they_stand():
    delta = FileDiff("a.py", [DiffHunk(1, "    def area(self):", ["+        pass"])])
    assert [it.beginning for it in changed_definitions(delta)] == ["def area(self):"]
    below = ["         return 1", " ", "     def size(self):", "-        return 2", "+        return 3"]
    delta = FileDiff("a.py", [DiffHunk(1, "    def area(self):", below)])
    assert [(it.name, it.beginning) for it in changed_definitions(delta)] == [("size", "def size(self):")]


def test_words_without_end_are_cut():
    delta = FileDiff("a.py", [DiffHunk(1, "", [f"+def area({'x' * 10_000}):", "+    pass"])])
    assert [len(it.beginning) for it in changed_definitions(delta)] == [80]


def test_deleted_lines_do_not_count_in_the_new_file():
    assert changed("a.py", "-import x", "-import y", " def area():", "+    pass", line=1) == [("area", 2)]


@pytest.mark.parametrize(
    ("path", "lines", "found"),
    [
        ("a.js", (" class Shape {", "   area(width, height) {", "+    return 1;"), "Shape.area"),
        ("a.js", (" export async function load() {", "+  return 1;"), "load"),
        ("a.ts", (" export const load = async (name: string) => {", "+  return 1;"), "load"),
        ("a.ts", (" describe('it', () => {", "+  return 1;"), ""),
        ("a.js", (" function area() {", "   if (x) {", "+    return 1;"), "area"),
        ("A.java", (" public class Shape {", "     public int area(int width) {", "+        return 1;"), "Shape.area"),
        ("A.java", (" class Shape {", "     Shape(int width) {", "+        x = 1;"), "Shape"),
        (
            "a.cs",
            (" internal class Shape", " {", "     public Shape(int x)", "     {", "+        X = x;"),
            "Shape.Shape",
        ),
        ("a.c", (" static int", " area(int width)", " {"), ""),
        ("a.c", (" static int area(int width)", " {", "+    return 1;", " }"), "area"),
        ("a.cpp", (" int Shape::area(int width) {", "+    return 1;"), "Shape.area"),
        ("a.go", (" func (s *Shape) Area() int {", "+\treturn 1"), "Shape.Area"),
        ("a.go", (" func Area() int {", "+\treturn 1"), "Area"),
        ("a.go", (" type Shape struct {", "+\tsides int"), "Shape"),
        ("a.rs", (" impl<'a> Display for Shape<'a> {", "     pub fn area(&self) {", "+        1"), "Shape.area"),
        ("a.rb", (" class Shape", "   def self.area", "+    1"), "Shape.area"),
        (
            "a.php",
            (" final class Shape", " {", "     public function area()", "     {", "+        return 1;"),
            "Shape.area",
        ),
        (
            "a.kt",
            (" data class Shape(", "     val sides: Int", " ) {", "     fun area() {", "+        1"),
            "Shape.area",
        ),
        ("a.scala", (" object Shape {", "   def area: Int = {", "+    1"), "Shape.area"),
        ("a.swift", (" extension Shape {", "     func area() -> Int {", "+        1"), "Shape.area"),
        ("a.sh", (" area() {", "+  echo 1"), "area"),
        ("a.sql", (" CREATE OR ALTER PROCEDURE [dbo].[Area]", "+  SELECT 1"), "Area"),
        ("a.txt", (" def area():", "+    pass"), ""),
    ],
)
def test_languages(path: str, lines: tuple[str, ...], found: str):
    assert names(path, *lines) == ([found] if found else [])


def test_control_flow_is_no_definition():
    for line in ("if (x) {", "for (int i = 0; i < 3; i++) {", "return area(1) {", "else if (x) {", "switch (x) {"):
        for path in ("a.js", "A.java", "a.cs", "a.c"):
            assert names(path, f"     {line}", "+        x = 1") == [], (path, line)
