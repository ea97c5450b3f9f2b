"""`dowse symbols` and `dowse find` on the command line, in process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support import Run, command_line, write

FILES = {
    "src/shop.py": (
        "class Base:\n    pass\n\n\n@register\nclass Shop(Base):\n    async def sell(self, count):\n"
        "        if count:\n            return count\n        return 0\n\n\ndef shopping():\n    return Shop()\n"
    ),
    "src/empty.py": "# nothing here\n",
    "docs/shop.md": "# Shop\n",
}


@pytest.fixture
def run(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    write(root, FILES)
    monkeypatch.chdir(root)
    monkeypatch.setenv("DOWSE_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("DOWSE_ENCODER", "none")
    return command_line(capsys)


def asked(run: Run, *words: str) -> dict[str, Any]:
    code, out, err = run(*words, "--json")
    assert code in (0, 1), err
    return json.loads(out)  # type: ignore[no-any-return]


def names(run: Run, *words: str) -> list[str]:
    return [it["name"] for it in asked(run, "symbols", *words)["definitions"]]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("shop",), ["Shop", "shopping"]),
        (("SHOP", "--exact"), ["Shop"]),
        (("^s.*g$", "--regex"), ["shopping"]),
        (("sell", "base"), ["Base", "sell"]),
        (("--kind", "class"), ["Base", "Shop"]),
        (("--kind", "class", "--kind", "function"), ["Base", "Shop", "shopping"]),
        (("--base", "base"), ["Shop"]),
        (("--attribute", "register"), ["Shop"]),
        (("--in", "shop"), ["sell"]),
        (("--modifier", "async"), ["sell"]),
        (("--path", "docs/**"), []),
        (("shop", "--not-path", "src/**"), []),
        (("--at", "src/shop.py:9"), ["sell", "Shop"]),
        (("--sort", "cyclomatic", "-k", "1"), ["sell"]),
        (("--min", "cyclomatic=2", "--min", "returns=2"), ["sell"]),
    ],
)
def test_symbols(run: Run, words: tuple[str, ...], expected: list[str]) -> None:
    assert names(run, *words) == expected


def test_the_json_of_a_definition(run: Run) -> None:
    answer = asked(run, "symbols", "sell", "--body", "--max-lines", "2")
    assert (answer["count"], answer["total"], answer["before_stats"]) == (1, 1, 1)
    assert (answer["index_files"], answer["index_definitions"]) == (3, 4)
    (found,) = answer["definitions"]
    assert found.pop("stats")["cyclomatic"] == 2
    assert found == {
        "name": "sell", "kind": "method", "collection": "root", "path": "src/shop.py", "start_line": 7, "end_line": 10,
        "trail": ["Shop"], "signature": "async def sell(self, count)", "modifiers": ["async"], "attributes": [],
        "bases": [],
        "body": {
            "start_line": 7, "lines": ["    async def sell(self, count):", "        if count:"], "truncated": True,
            "changed": False, "omitted": False, "problem": "",
        },
    }  # fmt: skip


def test_symbols_as_text(run: Run, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOWSE_FRESHNESS_TIMEOUT_MS", "0")
    code, out, _ = run("symbols", "shop", "--body", "--total-lines", "5", "-k", "2", "--stats")
    assert code == 0
    lines = out.splitlines()
    assert lines[0].startswith("src/shop.py:") and "class Shop  class Shop(Base)  [lines " in lines[0]
    assert "…" in out and "left out" in out and lines[-1] == "2 definitions"
    write(root, {"src/shop.py": "# other\n"})
    assert "the file has changed since" in run("symbols", "sell", "--body")[1]
    assert run("symbols", "e", "-k", "1")[1].splitlines()[-3:] == [
        "2 definitions (showing the first 1; -k shows more)",
        "1 changed file is not in this answer yet: src/shop.py",
        "run `dowse index` to update the index",
    ]


def test_an_audit(run: Run, root: Path) -> None:
    assert asked(run, "symbols", "--audit", "--min-bytes", "1") == {
        "root": str(root),
        "files": 2, "with_definitions": 1, "unreadable": 0, "lossy": 0, "unexplained": 0,
        "files_without_definitions": [
            {"collection": "root", "path": "src/empty.py", "size": 15, "reason": "only comments"},
        ],
    }  # fmt: skip
    _, out, _ = run("symbols", "--audit", "--min-bytes", "1")
    assert out.startswith("1 of 2 files of known languages have definitions")
    assert "src/empty.py  15 bytes: only comments" in out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("symbols", "--kind", "clas"), "use one of class"),
        (("symbols", "a", "--regex", "--exact"), "not both"),
        (("symbols", "(", "--regex"), "regex"),
        (("symbols", "--at", "src/shop.py"), "FILE:LINE"),
        (("symbols", "--at", "src/shop.py:0"), "start at 1"),
        (("symbols", "--at", "../x.py:1"), "not indexed"),
        (("symbols", "--min", "lines"), "NAME=N"),
        (("symbols", "--min", "size=3"), "unknown metric"),
        (("symbols", "--sort", "size"), "size"),
        (("symbols", "--max-lines", "-1"), "max-lines"),
        (("find", ""), "empty"),
        (("find", "x", "--hidden"), "--live"),
        (("find", "x", "--contents", "--glob"), "--contents"),
        (("find", "(", "--regex"), "regex"),
        (("find", "x", "--max-depth", "-1"), "max-depth"),
        (("find", "x", "-k", "many"), "--limit"),
    ],
)
def test_bad_words_are_one_line_that_says_more(run: Run, words: tuple[str, ...], said: str) -> None:
    code, out, err = run(*words)
    assert (code, out) == (2, "")
    assert said in err and err.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("shop",), ["docs/shop.md", "src/shop.py"]),
        (("SHOP", "-i"), ["docs/shop.md", "src/shop.py"]),
        (("shop,empty",), ["docs/shop.md", "src/shop.py", "src/empty.py"]),
        (("shop", "-e", "py,cs"), ["src/shop.py"]),
        (("*.md", "--glob"), ["docs/shop.md"]),
        (("^e", "--regex"), ["src/empty.py"]),
        (("sshp", "--fuzzy"), ["src/shop.py", "docs/shop.md"]),
        (("s", "--dirs"), ["src", "docs"]),
        (("s", "--files"), ["docs/shop.md", "src/shop.py"]),
        (("shop", "--min-size", "20"), ["src/shop.py"]),
        (("shop", "--max-size", "20"), ["docs/shop.md"]),
        (("s", "--max-depth", "1"), ["src", "docs"]),
        (("shop", "--live"), ["docs/shop.md", "src/shop.py"]),
        (("new", "--live"), ["new.py"]),
        (("new",), ["new.py"]),
        (("new", "--freshness-timeout-ms", "0"), []),
        (("hid", "--live"), []),
        (("hid", "--live", "--hidden"), [".hid"]),
        (("out", "--live"), []),
        (("out", "--live", "--no-ignore"), ["node_modules/out.js"]),
    ],
)
def test_find(run: Run, root: Path, words: tuple[str, ...], expected: list[str]) -> None:
    run("index")
    write(root, {"new.py": "fresh = 1\n", ".hid": "x", "node_modules/out.js": "x"})
    assert [it["path"] for it in asked(run, "find", *words)["names"]] == expected


def test_find_as_text_and_counted(run: Run) -> None:
    assert run("find", "shop") == (0, "docs/shop.md\nsrc/shop.py\n", "")
    assert run("find", "shop", "--count") == (0, "2\n", "")
    assert run("find", "docs") == (0, "docs/\n", "")
    assert run("find", "zzz")[0] == 1
    code, out, err = run("find", "shop", "-k", "1")
    assert (code, out) == (0, "docs/shop.md\n")
    assert "showing the first 1 of 2" in err


def test_what_looks_at_the_disk_makes_no_index(run: Run, tmp_path: Path) -> None:
    assert run("find", "count", "--contents", "-e", "py", "-k", "5")[0] == 0
    assert run("find", "shop", "--live")[0] == 0
    assert list((tmp_path / "data").rglob("*.db")) == []


def test_find_in_contents(run: Run) -> None:
    code, out, _ = run("find", "RETURN", "--contents", "-i", "-e", "py")
    assert (code, out.splitlines()[0]) == (0, "src/shop.py:9:            return count")
    answer = asked(run, "find", "^class .*:$", "--contents", "--regex")
    assert answer["files"][0]["matches"] == [
        {"line": 1, "text": "class Base:"},
        {"line": 6, "text": "class Shop(Base):"},
    ]
    assert (answer["total"], answer["total_lines"], answer["scanned"], answer["cut"]) == (1, 2, 3, "")
    assert run("find", "return", "--contents", "--count") == (0, "1\n", "")
    assert run("find", "zzz", "--contents")[0] == 1
