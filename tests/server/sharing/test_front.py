"""The words of `dowse mcp` mean the same whether the front reads them or the command line does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest

from dowse.cli.serve import mcp_command
from dowse.config import SECRET_SETTINGS, SETTINGS
from dowse.server.sharing.front import parse_mcp_words

VALUES = {"str": "a b", "int": "7", "float": "1.5", "Path | None": "x/y", "tuple[str, ...]": "*.md,b"}
FLAGS = [name for name in SETTINGS if name not in SECRET_SETTINGS]


def by_click(*words: str) -> dict[str, Any]:
    found = mcp_command.make_context("mcp", list(words), resilient_parsing=False).params
    return {name: value for name, value in found.items() if value is not None}


def by_front(*words: str) -> dict[str, Any]:
    given = parse_mcp_words(words)
    assert given is not None
    return {"profile": given.profile, "roots": given.paths, **given.flags}


def spellings(name: str) -> list[tuple[str, ...]]:
    flag = name.replace("_", "-")
    kind = str(SETTINGS[name].type)
    if kind == "bool":
        return [(f"--{flag}",), (f"--no-{flag}",), (f"--{flag}", f"--no-{flag}")]
    return [(f"--{flag}", VALUES[kind]), (f"--{flag}={VALUES[kind]}",), (f"--{flag}=a=b", f"--{flag}", "c=d")]


@pytest.mark.parametrize("words", [words for name in FLAGS for words in spellings(name)], ids=" ".join)
def test_every_flag_means_the_same_either_way(words: tuple[str, ...]) -> None:
    around = ("--root", "r", *words, "--profile", "ragdocs", "--root=s")
    assert by_front(*around) == by_click(*around)
    assert by_front(*words) == by_click(*words)
    assert by_front(*around)["roots"] == (Path("r"), Path("s"))


LEFT_TO_CLICK = [
    ("--help",), ("-h",), ("--help-all",), ("-k", "3"), ("--limit",), ("--limit", "--share"), ("--limit", "-1"),
    ("--share=true",), ("--no-limit",), ("--no-limit", "3"), ("--encoder-key", "hush"), ("--unknown", "x"),
    ("--profile", "none"), ("--profile",), ("--root",), ("stray",), ("--share", "stray"), ("--", "x"),
    ("--max_files", "3"), ("--root", "\udcff"), ("--root=\udcff",), ("",), ("--no-no-git",),
]  # fmt: skip


@pytest.mark.parametrize("words", LEFT_TO_CLICK, ids=repr)
def test_whatever_is_unusual_is_left_to_the_command_line(words: tuple[str, ...]) -> None:
    assert parse_mcp_words(words) is None


def test_a_flag_or_the_variable_chooses_one_process() -> None:
    plain, shared, alone = (parse_mcp_words(words) for words in ((), ("--share",), ("--no-share",)))
    assert plain is not None and shared is not None and alone is not None
    assert plain.wants_sharing({}) and not plain.wants_sharing({"DOWSE_SHARE": "off"})
    assert shared.wants_sharing({"DOWSE_SHARE": "off"}) and not alone.wants_sharing({"DOWSE_SHARE": "on"})


@pytest.mark.parametrize("root", ["missing", "/", ""], ids=["missing", "too broad", "at home"])
def test_a_root_that_is_refused_ends_the_front_as_it_ends_a_server(tmp_path: Path, root: str) -> None:
    """Even where the client leaves before it has asked for anything."""
    environment = {**os.environ, "HOME": str(tmp_path), "DOWSE_DATA_DIR": str(tmp_path / "data")}
    words = [sys.executable, "-m", "dowse", "mcp", *(["--root", root] if root else [])]
    ends = [
        subprocess.run(
            [*words, how],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env=environment,
            check=False,
        )
        for how in ("--share", "--no-share")
    ]
    assert [it.returncode for it in ends] == [2, 2]
    assert ends[0].stderr == ends[1].stderr != ""


def test_click_still_reads_what_it_is_left() -> None:
    with pytest.raises(click.UsageError):
        by_click("--unknown", "x")
