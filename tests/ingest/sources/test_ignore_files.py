"""Ignore files: the walk lists what git lists, whatever the patterns."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from dowse.git.ignore import parse_ignore_file
from dowse.ingest.sources.walk import (
    WHOLE_TREE,
    BareRepositories,
    DirectoryFilter,
    DirectoryWalker,
    SizeLimits,
    WalkResult,
    make_selection,
)

DIRECTORIES = ["", "a", "a/b", "a/b/a", "b", "b/foo", "foo", "foo/a b", "é"]
NAMES = ["a.md", "b.md", "foo", "foo.md", "a b", "ab", "!a", "#b", "é", "x[1]", "b\\c", "foobar"]

PIECES = r"a b foo .md * ** ? / /**/ **/ [ab] [!a] [^b-z] [[:alpha:]] [ ] \ \a \* ! # é bar x[[]1] - [a- []a]"
pieces = st.sampled_from([*PIECES.split(), "\\ ", " ", "\t", "[z-a]"])
lines = st.builds(
    lambda lead, body, tail: lead + "".join(body) + tail,
    st.sampled_from(["", "", "", "!", "/", "!/", "\\!", "\\#", "#", "**/"]),
    st.lists(pieces, min_size=1, max_size=4),
    st.sampled_from(["", "", "", "/", " ", "  ", "\\ ", "/*", "/**", "\r", "//"]),
).filter(lambda line: "*\\/" not in line)  # a slash that is escaped after stars: nobody means it
ignore_files = st.dictionaries(
    st.sampled_from(DIRECTORIES),
    st.lists(lines, min_size=1, max_size=5).map("\n".join),
    min_size=1,
    max_size=4,
)


def make_tree(root: Path) -> None:
    subprocess.run(["git", "init", "-q", "--template=", str(root)], check=True)
    for directory in DIRECTORIES:
        path = root / directory
        path.mkdir(parents=True, exist_ok=True)
        for name in NAMES:
            if f"{directory}/{name}".lstrip("/") not in DIRECTORIES:
                (path / name).touch()


def git_lists(root: Path) -> list[str]:
    command = [
        "git",
        "-C",
        str(root),
        "-c",
        "core.excludesFile=/dev/null",
        "ls-files",
        "-co",
        "--exclude-standard",
        "-z",
    ]
    return sorted(filter(None, os.fsdecode(subprocess.check_output(command)).split("\0")))


def walk_lists(root: Path) -> list[str]:
    place = os.path.realpath(root)
    ledger = WalkResult(place, SizeLimits(1_000_000))
    walk = DirectoryWalker(
        place,
        make_selection((), (), WHOLE_TREE),
        DirectoryFilter(place, frozenset()),
        BareRepositories(place),
        use_gitignore=True,
    )
    assert walk.walk("", ledger) == []
    return [item.path for item in ledger.listing().items]


@pytest.fixture(scope="module")
def tree():
    with tempfile.TemporaryDirectory() as place:
        make_tree(Path(place))
        yield Path(place)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ignore_files)
@example({"": "foo\n!foo/a.md"})
@example({"": "a.md\n!a", "a": "!a.md"})
@example({"": "/*\n!/a\n/a/*\n!/a/b"})
@example({"": "a/b**/a.md\na/b**"})
@example({"": "a**/**/*"})
@example({"": "*\n!*/\n!*.md", "a": "b.md\\ \nb.md "})
@example({"": "[é]\n?\na\\/b"})
@example({"": "\ufefffoo\r\n"})
@example({"": "!\n/\n//\n\\\n[\n[[:no:]]\nfoo"})
def test_the_walk_lists_what_git_lists(tree, contents):
    written = [tree / directory / ".gitignore" for directory in contents]
    try:
        for file, text in zip(written, contents.values(), strict=True):
            file.write_bytes(text.encode())
        assert walk_lists(tree) == git_lists(tree)
    finally:
        for file in written:
            file.unlink()


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(lines, min_size=1, max_size=5), st.randoms(use_true_random=False))
def test_also_among_thousands_of_rules(tree, some, random):
    """Where there are many, they are looked up and grouped by their beginnings and ends."""
    forms = [
        "n{}.md",
        "*.x{}",
        "p{}*",
        "/d{}/",
        "!k{}",
        "a/{}*b",
        "**/t{}",
        "**/m{}/**",
        "*c{}*",
        "*d?{}*/",
        "**/*e{}*/*x*",
        "f[0-9]{}?",
        "foo{}/",
    ]
    rules = [form.format(number) for number in range(60) for form in forms]
    for line in [*some, "foo*", "!*.md", "a?b", "*b.md", "/a/b/*.md", "!fo?.md", "*oo*", "!*o?.m*"]:
        rules.insert(random.randrange(len(rules)), line)
    (tree / ".gitignore").write_bytes("\n".join(rules).encode())
    try:
        assert walk_lists(tree) == git_lists(tree)
    finally:
        (tree / ".gitignore").unlink()


def test_thirty_thousand_rules_are_few_regexes():
    """Of plain ones there is none, and of others none that has nothing to do with a name."""
    plain = parse_ignore_file("".join(f"name{n}\n/a/b{n}/\n**/c{n}\n" for n in range(10_000)).encode(), "/x/")
    assert plain is not None and plain.names is not None and plain.paths is not None
    assert plain.judge("/x/", "name77") and plain.judge("/x/a/", "b99/") and plain.judge("/x/q/", "c5")
    assert plain.judge("/x/a/", "b99") is None and not plain.names._groups and not plain.paths._groups
    others = parse_ignore_file("".join(f"*.x{n}\npre{n}*\n" for n in range(15_000)).encode(), "/x/")
    assert others is not None and others.names is not None
    assert others.judge("/x/", "a.x14999") and others.judge("/x/", "pre1") and others.judge("/x/", "b.py") is None
    assert sum(len(it._parts) for it in others.names._groups.values()) < 200  # of 600


def test_thirty_thousand_rules_between_stars_are_few_regexes():
    inner = parse_ignore_file("".join(f"*mid{n}*\n!*{n}-*-no*\n*[ab]-{n}*/\n" for n in range(10_000)).encode(), "/x/")
    assert inner is not None and inner.names is not None
    assert inner.judge("/x/", "a-mid77-b") and inner.judge("/x/", "mid9999") and inner.judge("/x/", "a-7/")
    assert inner.judge("/x/", "a-mid77--no") is False and inner.judge("/x/", "a-7") is None
    groups = [*inner.names._groups.values(), *inner.names._inner.values()]
    assert sum(len(it._parts) for it in groups) < 50  # of 600


def test_info_exclude_counts_less_than_any_ignore_file(tree):
    exclude = tree / ".git/info/exclude"
    exclude.parent.mkdir(exist_ok=True)
    exclude.write_text("foo\na.md\n")
    (tree / "a/.gitignore").write_text("!a.md\n")
    try:
        listed = walk_lists(tree)
        assert listed == git_lists(tree)
        assert "a/a.md" in listed
        assert "a.md" not in listed
    finally:
        shutil.rmtree(exclude.parent)
        (tree / "a/.gitignore").unlink()


@pytest.mark.parametrize("content", [b"", b"\n\n", b"# only a comment\n", b"[\n\\\n"])
def test_a_file_without_usable_lines_has_no_rules(content):
    assert parse_ignore_file(content, "/x/") is None


def test_a_hostile_pattern_ends():
    """Backtracking over each pair of stars would take for ever."""
    rules = parse_ignore_file(b"**/a/" * 200 + b"b\n" + b"*a" * 400 + b"b", "/x/")
    assert rules is not None
    assert rules.judge("/x/" + "a/" * 1500, "a" * 255) is None
