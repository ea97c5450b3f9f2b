"""How the code bases come to be there: fetched by name, unpacked safely, only the files of one language kept."""

from __future__ import annotations

import io
import os
import stat
import tarfile
from pathlib import Path

import pytest

from code_search.corpora import PLANS, Plan, prepared
from code_search.debian import of_source_packages, private_apt, source_package
from labelled.fetch import RELEASES, Release, _command, unpack

LIST = "# ours\nTypes: deb\nURIs: http://archive.invalid/debian\nSuites: stable\n\ntypes: deb deb-src\nSuites: other\n"


def archive(path: Path, files: dict[str, str]) -> Path:
    with tarfile.open(path, "w:xz") as tar:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text)
            tar.addfile(member, io.BytesIO(text.encode()))
    return path


@pytest.fixture
def apt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An apt-get that notes what it is told and downloads by copying."""
    made = archive(tmp_path / "tool_1.0.orig.tar.xz", {"tool-1.0/src/a.cs": "class A {}", "tool-1.0/readme": "words"})
    command = tmp_path / "bin" / "apt-get"
    command.parent.mkdir()
    last = 'for last; do :; done; if [ "$last" = tool ]; then cp'
    command.write_text(f'#!/bin/sh\necho "$@" >> "{tmp_path}/told"\n{last} "{made}" .; fi\n')
    command.chmod(command.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{command.parent}{os.pathsep}{os.environ['PATH']}")
    return tmp_path / "told"


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    path = tmp_path / "debian.sources"
    path.write_text(LIST)
    return path


def test_the_lists_of_archives_are_asked_for_source_packages_and_nothing_else_changes() -> None:
    expected = LIST.replace("Types: deb\n", "Types: deb-src\n").replace("types: deb deb-src\n", "Types: deb-src\n")
    assert of_source_packages(LIST) == expected


def test_apt_keeps_everything_in_the_folder_it_is_given(tmp_path: Path, sources: Path) -> None:
    options = dict(it.removeprefix("--option=").split("=", 1) for it in private_apt(tmp_path / "apt", sources)[2:])
    kept = ("Dir::Etc::sourceparts", "Dir::State::lists", "Dir::Cache")
    assert all(Path(options[name]).is_relative_to(tmp_path / "apt") for name in kept)
    assert options["Dir::Etc::sourcelist"] == os.devnull
    assert (tmp_path / "apt" / "sources" / "debian.sources").read_text() == of_source_packages(LIST)


def test_a_source_package_is_fetched_once(apt: Path, sources: Path, tmp_path: Path) -> None:
    place = source_package("tool", tmp_path / "kept", sources)
    assert (place / "src" / "a.cs").read_text() == "class A {}"
    told = apt.read_text()
    assert [line.split()[-1] for line in told.splitlines()] == ["update", "tool"]
    assert source_package("tool", tmp_path / "kept", sources) == place
    assert apt.read_text() == told


def test_without_apt_it_is_said_where_the_sources_go(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="put its unpacked sources at"):
        source_package("tool", tmp_path, tmp_path / "no.sources")


@pytest.mark.parametrize("name", ["../outside", "in/../../outside"])
def test_an_archive_can_not_write_outside_of_its_place(name: str, tmp_path: Path) -> None:
    hostile = archive(tmp_path / "bad.tar.xz", {name: "owned"})
    with pytest.raises(tarfile.FilterError):
        unpack(hostile, tmp_path / "deep" / "place")
    assert not (tmp_path / "outside").exists()
    assert not (tmp_path / "deep" / "outside").exists()


@pytest.mark.parametrize(("name", "form"), [("django-5.2", "--no-binary"), ("flask", "--only-binary")])
def test_releases_are_fetched_in_their_form(name: str, form: str, tmp_path: Path) -> None:
    command = _command(RELEASES[name], tmp_path)
    assert command[command.index(form) + 1] == ":all:"
    assert command[-1] == RELEASES[name].spec


def test_a_corpus_has_only_files_of_its_language_and_is_made_once(tmp_path: Path) -> None:
    source = tmp_path / "corpora" / "src" / "tool"
    for name in ("in/a.cs", "in/deep/b.cs", "in/c.txt", "out/d.cs"):
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text("class A {}")
    (source / "in" / "linked.cs").symlink_to(source / "out" / "d.cs")
    plan = Plan("tiny", ".cs", (("tool", "in"),), "a test")
    corpus = prepared(plan, tmp_path)
    assert sorted(str(it.relative_to(corpus.root)) for it in corpus.root.rglob("*.*")) == [
        "tool/in/a.cs",
        "tool/in/deep/b.cs",
    ]
    assert (corpus.files, corpus.bytes) == (2, 20)
    (source / "in" / "later.cs").touch()
    assert prepared(plan, tmp_path) == corpus


def test_a_part_without_such_files_is_a_mistake(tmp_path: Path) -> None:
    (tmp_path / "corpora" / "src" / "tool").mkdir(parents=True)
    with pytest.raises(SystemExit, match=r"no \.cs file in tool"):
        prepared(Plan("tiny", ".cs", (("tool", ""),), "a test"), tmp_path)


def test_the_plans_name_projects_that_can_be_fetched() -> None:
    known = {name for name, it in RELEASES.items() if isinstance(it, Release)} | {"mono"}
    assert {project for plan in PLANS.values() for project, _ in plan.parts} <= known
