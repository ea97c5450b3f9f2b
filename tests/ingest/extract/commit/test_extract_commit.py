"""Commits of real repositories as records, and whatever else could be told of one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dowse.git.commit import CommitData, FileChange, Signature
from dowse.ingest.chunk import ChunkLimits, chunk_extract
from dowse.ingest.extract.commit import extract_commit
from dowse.ingest.extract.registry import extract
from dowse.ingest.pipeline import chunk_prepared
from dowse.ingest.sources.commits import CommitSource
from dowse.model import Extraction, Item, Link, Record
from dowse.store.sqlite import SqliteStore
from gits import Repo

ANN = Signature("Ann", "ann@example.org", 1_700_000_060)
LONG = "x = 1\n" * 400
CODE = "class Shape:\n    sides = 4\n\n    def area(self):\n        a = 1\n        b = 2\n        return a\n"


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return Repo(tmp_path / "repo")


def read(repo: Repo, name: str = "", diff_lines: int = 200) -> Extraction:
    """What becomes of a commit, the newest one if none is named."""
    source = CommitSource(repo.git_directory, 1000, diff_lines)
    try:
        items = source.listing().items
        item = next(it for it in items if not name or it.path == name)
        return extract(*source.read(item))
    finally:
        source.close()


def links(found: Extraction, *kinds: str) -> list[tuple[str, str, int, str]]:
    return [(it.kind, it.target, it.line, it.context) for it in found.links if it.kind in kinds or not kinds]


def told(**values: object) -> CommitData:
    given: dict[str, object] = {"hash": "a" * 40, "parents": [], "author": ANN, "committer": ANN, "message": "Subject"}
    return CommitData(**{**given, "files": [], **values})  # type: ignore[arg-type]


def made(told: CommitData) -> Extraction:
    return extract_commit(Item(told.hash, 0, 0, "commit"), told.to_bytes())


# --- of real repositories ---


def test_a_root_commit(repo: Repo):
    repo.commit("Shapes have areas\n\nBecause they need them.", {"lib/shape.py": CODE})
    found = read(repo)
    assert (found.kind, found.title, found.has_line_index) == ("commit", "Shapes have areas", False)
    assert dict(found.facets) == {
        "author": "Ann <ann@example.org>",
        "committer": "Ann <ann@example.org>",
        "authored_at": "2023-11-14T22:14:20Z",
        "message": "Because they need them.",
        "files": "1",
    }
    assert links(found) == [
        ("touches", "lib/shape.py", 1, "A"),
        ("changes", "lib/shape.py#Shape", 1, "class Shape:"),
        ("changes", "lib/shape.py#Shape.area", 4, "def area(self):"),
    ]
    head, _, delta = found.text.partition("diff --git")
    assert head == (
        "Shapes have areas\n\nBecause they need them.\n\n"
        "Author: Ann <ann@example.org>\nCommitter: Ann <ann@example.org>\n\nFiles changed:\nlib/shape.py\n\n"
    )
    assert delta.startswith(" a/lib/shape.py b/lib/shape.py\nnew file mode 100644\n")


def test_a_change_deep_in_a_method_is_of_that_method(repo: Repo):
    first = repo.commit("One", {"shape.py": CODE.replace("a = 1", "a = 1\n" + "        a += 1\n" * 9)})
    repo.commit(
        "Two", {"shape.py": CODE.replace("a = 1", "a = 1\n" + "        a += 1\n" * 9).replace("b = 2", "b = 3")}
    )
    found = read(repo)
    assert found.facets["parents"] == first and "message" not in found.facets
    assert links(found, "changes") == [("changes", "shape.py#area", 16, "def area(self):")]
    assert links(found, "touches") == [("touches", "shape.py", 16, "M")]


def test_a_rename_with_a_change(repo: Repo):
    repo.commit("One", {"old.py": CODE})
    (repo.place / "old.py").rename(repo.place / "new name.py")
    repo.commit("Two", {"new name.py": CODE.replace("b = 2", "b = 3")})
    assert links(read(repo)) == [
        ("touches", "new name.py", 6, "R"),
        ("renames", "old.py", 0, "new name.py"),
        ("changes", "new name.py#Shape.area", 6, "def area(self):"),
    ]


def test_a_bare_rename_and_a_deletion(repo: Repo):
    repo.commit("One", {"old.py": CODE, "gone.py": "def gone():\n    pass\n"})
    (repo.place / "old.py").rename(repo.place / "new.py")
    (repo.place / "gone.py").unlink()
    repo.commit("Two")
    assert links(read(repo)) == [
        ("touches", "gone.py", 1, "D"),
        ("touches", "new.py", 0, "R"),
        ("renames", "old.py", 0, "new.py"),
        ("changes", "gone.py#gone", 1, "def gone():"),
    ]


def test_binaries_modes_and_submodules_are_touched_at_no_line(repo: Repo, tmp_path: Path):
    repo.commit("One", {"run.sh": "echo\n"})
    other = Repo(tmp_path / "other")
    other.commit("Other", {"x": "y"})
    (repo.place / "run.sh").chmod(0o755)
    repo.run("submodule", "--quiet", "add", str(other.place), "sub")
    repo.commit("Two", {"image.bin": b"\0\1\2" * 100})
    touched = {target: (line, status) for _, target, line, status in links(read(repo), "touches")}
    assert touched["image.bin"] == (0, "A") and touched["run.sh"] == (0, "M")
    assert touched["sub"] == (1, "A")
    assert "Binary files /dev/null and b/image.bin differ" in read(repo).text


def test_no_newline_at_the_end_and_odd_names(repo: Repo):
    repo.commit("One", {'odd "name"\t.py': "def one():\n    return 1"})
    repo.commit("Two", {'odd "name"\t.py': "def one():\n    return 2"})
    assert links(read(repo)) == [
        ("touches", 'odd "name"\t.py', 2, "M"),
        ("changes", 'odd "name"\t.py#one', 2, "def one():"),
    ]


def test_a_merge_tells_who_its_parents_are(repo: Repo):
    base = repo.commit("Base", {"a": "1\n"})
    repo.run("checkout", "-q", "-b", "side")
    side = repo.commit("Side", {"b": "1\n"})
    repo.run("checkout", "-q", "main")
    main = repo.commit("Main", {"c": "1\n"})
    repo.run("merge", "-q", "--no-ff", "-m", "Merged", "side")
    found = read(repo)
    assert base not in found.facets["parents"]
    assert found.facets["parents"] == f"{main} {side}" and found.facets["files"] == "0"
    assert found.links == () and "Files changed" not in found.text


def test_what_is_cut_off_is_counted(repo: Repo):
    repo.commit("Long", {"long.py": LONG})
    found = read(repo, diff_lines=100)
    assert found.facets["omitted"] == "306"  # 400 lines and six in front of them
    assert found.text.endswith("\n\n... (306 lines omitted)")
    assert "omitted" not in read(repo, diff_lines=1000).facets


@pytest.mark.parametrize(("omitted", "said"), [(499_043, "at least 499043"), (0, "at least 1")])
def test_what_was_not_read_to_its_end_has_at_least_so_many_lines_more(omitted: int, said: str):
    found = made(told(diff="diff --git a/a b/a", omitted=omitted, is_cut=True))
    assert found.facets["omitted"] == said
    assert found.text.endswith(f"\n\n... ({said} lines omitted)")


def test_the_head_is_for_meaning_and_the_rest_for_words(repo: Repo):
    repo.commit("Long", {"long.py": LONG})
    chunks = chunk_extract(read(repo, diff_lines=1000), ChunkLimits())
    assert [it.role for it in chunks] == ["text", "delta"]
    assert chunks[0].text.startswith("Long\n\nAuthor") and len(chunks[0].text) > 1500
    assert all(set(it.text) <= set("+x = 1\n") for it in chunks[1:])


def test_a_long_message_is_all_for_meaning():
    delta = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n+changed"
    found = made(told(message="Subject\n\n" + "word " * 1_000, files=[FileChange("M", "x")], diff=delta))
    head, rest = found.blocks
    assert found.text[: head.end].endswith("\n\nFiles changed:\nx") and (head.role, rest.role) == ("text", "delta")


# --- whatever is told ---

TEXT = st.text(st.characters(codec="utf-8"), max_size=60)
LINES = st.lists(
    TEXT
    | st.sampled_from(
        [
            "diff --git a/x.py b/x.py",
            "--- a/x.py",
            "+++ b/x.py",
            "@@ -1,2 +3,4 @@ def x():",
            "+class X:",
            "-    y",
            "\\ No",
        ]
    ),
    max_size=30,
).map("\n".join)
PEOPLE = st.builds(Signature, TEXT, TEXT, st.integers(-(2**40), 2**40))
TOLD = st.builds(
    CommitData,
    hash=st.text("0123456789abcdef", min_size=40, max_size=40),
    parents=st.lists(st.text("0123456789abcdef", min_size=40, max_size=40), max_size=3),
    author=PEOPLE,
    committer=PEOPLE,
    message=TEXT | LINES,
    files=st.lists(st.builds(FileChange, st.sampled_from("AMDRCT"), TEXT | st.just("x.py"), TEXT), max_size=5),
    diff=LINES,
    omitted=st.integers(0, 10**6),
    is_cut=st.booleans(),
    problem=TEXT,
)


def assert_sound(found: Extraction) -> None:
    """Blocks cover the text, in order; every word is in a chunk."""
    assert [it.start for it in found.blocks] == [0, *(it.end for it in found.blocks)][:-1]
    assert found.blocks[-1].end == len(found.text)
    assert "".join(found.text.split()) == "".join(
        "".join(it.text.split()) for it in chunk_extract(found, ChunkLimits())
    )
    assert all(found.facets.values()) and json.loads(json.dumps(dict(found.facets))) == dict(found.facets)
    assert all(it.line >= 0 and it.context == it.context.strip("\n") for it in found.links)


@given(TOLD)
def test_whatever_is_told_makes_a_sound_record(told: CommitData):
    assert CommitData.from_bytes(told.to_bytes()) == told
    found = made(told)
    assert_sound(found)
    assert [it.target for it in found.links if it.kind == "touches"] == [it.path for it in told.files]


@pytest.mark.parametrize(
    "hostile",
    [
        told(message="", author=Signature("", "", 0)),
        told(message="\0\x01\x1b[31m\r\n\u2028\ufeff", diff="\0\x1b[0m\u2028"),
        told(message="m" * 1_000_000, diff="+" + "d" * 1_000_000),
        told(message="s\n\n" + "word " * 200_000),
        told(diff="@@ -1 +1 @@\n" * 100_000),
        told(
            files=[FileChange("M", "x.py")],
            diff="diff --git a/x.py b/x.py\n--- a/x.py\n+++ b/x.py\n@@ -1 +99999999999999999999 @@ " + "(" * 100_000,
        ),
        told(
            files=[FileChange("M", "x.js")],
            diff="diff --git a/x.js b/x.js\n--- a/x.js\n+++ b/x.js\n@@ -1 +1 @@\n"
            + "\n".join("+ " + "a " * 5_000 + "(" + "b, " * 5_000 for _ in range(200)),
        ),
        told(files=[FileChange("A", "long/" * 800 + str(number)) for number in range(300)]),
        told(author=Signature("n\n" * 1_000, "e" * 10_000, 2**62), committer=Signature("", "", -(2**62))),
    ],
    ids=["empty", "control", "one-line", "message", "hunks", "number", "slow", "paths", "people"],
)
def test_hostile_commits_are_bounded_and_stored(hostile: CommitData, tmp_path: Path):
    found = made(hostile)
    assert_sound(found)
    assert len(found.text) < 80_000 and len(found.title) <= 1_000
    assert len(found.facets.get("message", "")) <= 10_000
    assert all(len(it.context) <= 200 for it in found.links)
    store_and_find(found, tmp_path)


def store_and_find(found: Extraction, place: Path) -> None:
    store = SqliteStore(place / "index.db", create=True)
    try:
        home = store.writer.add_collection("/repository.git", source="commits").name
        record = Record(home, "a" * 40, found.kind, found.title, 0, 0, "", "", facets=found.facets)
        store.writer.put(record, chunk_prepared(found, ChunkLimits()).chunk_inputs, links=found.links, text=None)
        assert store.catalog.records("a" * 40, home) == [record]
        assert store.catalog.links(record) == list(found.links)
    finally:
        store.close()


def test_every_file_is_touched_however_many():
    files = [FileChange("A", f"f{number}.txt") for number in range(10_000)]
    found = made(told(files=files))
    assert [it.target for it in found.links] == [it.path for it in files]
    assert "... (9800 more files)" in found.text and found.facets["files"] == "10000"
    assert_sound(found)


def test_a_title_that_is_too_long_goes_on_in_the_message():
    found = made(told(message="t" * 1_500 + "\n\nrest"))
    assert found.title == "t" * 1_000 and found.facets["message"] == "t" * 500 + "\n\nrest"


def test_moments_no_calendar_has_are_the_nearest_it_has():
    found = made(told(author=Signature("A", "a@b", 2**62)))
    assert found.facets["authored_at"] == "9999-12-31T23:59:59Z"
    assert made(told(author=Signature("A", "a@b", -5))).facets["authored_at"] == "1970-01-01T00:00:00Z"


def test_only_files_that_were_touched_have_lines():
    delta = "diff --git a/x.py b/x.py\n--- a/x.py\n+++ b/x.py\n@@ -1 +7 @@ def x():\n+    1"
    assert made(told(files=[FileChange("M", "y.py")], diff=delta)).links == (Link("touches", "y.py", 0, "M"),)


def test_a_copy_is_no_rename_and_a_name_may_be_missing():
    found = made(told(files=[FileChange("C", "b.py", "a.py")], author=Signature("", "a@b", 0)))
    assert found.links == (Link("touches", "b.py", 0, "C"),)
    assert found.facets["author"] == "<a@b>"


def test_a_file_that_became_another_thing_is_touched_at_its_first_line():
    hunk = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +{line} @@\n+changed\n"
    found = made(told(files=[FileChange("T", "x")], diff=hunk.format(line=3) + hunk.format(line=9)))
    assert found.links == (Link("touches", "x", 3, "T"),)
