"""The first line: what it tells, what it hides, and who is taken."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dowse.server.runtime import ServerRuntime
from dowse.server.sharing.client import LaunchConfig, daemon_command
from dowse.server.sharing.daemon import SessionFactory
from dowse.server.sharing.hello import (
    HELLO_PROTOCOL,
    ClientArguments,
    ClientHello,
    DaemonUnavailable,
    build_fingerprint,
    parse_hello,
)
from support import write


class Site:
    def __init__(self, root: Path, data: Path) -> None:
        self.root = root
        # Without the last one, a profile may keep memories elsewhere than the others, with an engine of its own.
        self.environment = {"DOWSE_DATA_DIR": str(data), "DOWSE_ENCODER": "hashing", "DOWSE_MEMORY_LOCATION": "project"}
        self.server_runtime = ServerRuntime()

    def start(
        self, profile: str = "core", *roots: Path, flags: dict[str, Any] | None = None, **more: str
    ) -> LaunchConfig:
        environment = self.environment | more
        return LaunchConfig.of(profile, roots=roots, flags=flags or {}, environment=environment, cwd=self.root)

    def sessions(self, **more: str) -> SessionFactory:
        return SessionFactory(
            self.start().workspace.index, build_fingerprint(), {}, self.environment | more, self.server_runtime
        )

    def hello(self, *arguments: Any, **more: Any) -> ClientHello:
        return self.start(*arguments, **more).hello("serve")


@pytest.fixture
def site(root: Path, tmp_path: Path) -> Iterator[Site]:
    write(root, {"a.md": "# A\n\nalpha\n"})
    made = Site(root, tmp_path / "data")
    yield made
    made.server_runtime.close()


def test_a_hello_is_read_as_it_was_said(site: Site) -> None:
    asked = ClientArguments("ragdocs", ("dir\udcff", "x y"), "/a\nb")
    hello = dataclasses.replace(site.hello(), client=asked)
    assert parse_hello(hello.line()) == hello


@given(
    st.binary(max_size=200) | st.recursive(st.none() | st.text() | st.integers(), st.lists).map(repr).map(str.encode)
)
def test_anything_else_is_refused_in_one_sentence(line: bytes) -> None:
    with pytest.raises(DaemonUnavailable, match="must be a Dowse handshake"):
        parse_hello(line)


@pytest.mark.parametrize("part", ["verb", "client", "settings", "protocol", "build"])
@pytest.mark.parametrize("value", [None, [], "x", {}, 10**400])
def test_a_hello_with_a_wrong_part_is_refused_or_harmless(site: Site, part: str, value: object) -> None:
    table = {**json.loads(site.hello().line()), part: value}
    try:
        hello = parse_hello(json.dumps(table).encode())
        site.sessions().make_profile_for(hello)
    except DaemonUnavailable:
        return
    pytest.fail("it was taken")


def test_the_same_settings_are_taken_and_share_an_engine(site: Site) -> None:
    sessions = site.sessions()
    for profile in ("core", "ragdocs", "codesearch"):
        assert sessions.make_profile_for(site.hello(profile)).name == profile
    assert len(site.server_runtime.runtimes()) == 1
    site.environment.pop("DOWSE_ENCODER")
    site.server_runtime = ServerRuntime()
    sessions = site.sessions()
    for profile in ("ragdocs", "codesearch"):  # which has no encoder unless one is named
        sessions.make_profile_for(site.hello(profile))
    assert len(site.server_runtime.runtimes()) == 2


DIFFERENT = [
    ({"DOWSE_LIMIT": "3"}, r"other settings \(limit\);"),
    ({"DOWSE_ENCODER_KEY": "hush"}, r"other settings \(encoder_key\);"),
    ({"DOWSE_RRF_K": "5", "DOWSE_EXCLUDE": "a,b"}, r"other settings \(exclude, rrf_k\);"),
    ({"DOWSE_INDEX": "other.db"}, r"other settings \(index\);"),
]


@pytest.mark.parametrize(("variables", "reason"), DIFFERENT)
def test_other_settings_are_refused_by_name(site: Site, variables: dict[str, str], reason: str) -> None:
    with pytest.raises(DaemonUnavailable, match=reason) as refused:
        site.sessions().make_profile_for(site.hello(**variables))
    assert "hush" not in str(refused.value)
    assert b"hush" not in site.hello(**variables).line()


def test_what_does_not_change_answers_is_not_compared(site: Site) -> None:
    site.sessions().make_profile_for(site.hello(DOWSE_SHARE="1", DOWSE_DAEMON_IDLE_S="5"))


def test_a_changed_settings_file_needs_another_server(site: Site) -> None:
    sessions = site.sessions()
    sessions.make_profile_for(site.hello())
    write(site.root, {"dowse.toml": "limit = 7\n"})
    with pytest.raises(DaemonUnavailable, match=r"other settings \(limit\);"):
        sessions.make_profile_for(site.hello())


def test_the_options_of_rifflux_are_compared_too(site: Site) -> None:
    start = site.start("rifflux")
    sessions = SessionFactory(start.workspace.index, build_fingerprint(), {}, site.environment, site.server_runtime)
    sessions.make_profile_for(start.hello("serve"))
    with pytest.raises(DaemonUnavailable, match="RIFFLUX_AUTO_REINDEX_ON_SEARCH"):
        sessions.make_profile_for(site.hello("rifflux", RIFFLUX_AUTO_REINDEX_ON_SEARCH="1"))


def test_another_version_index_or_profile_is_refused(site: Site, tmp_path: Path) -> None:
    sessions, hello = site.sessions(), site.hello()
    for changed in (dataclasses.replace(hello, build="old"), dataclasses.replace(hello, protocol=HELLO_PROTOCOL + 1)):
        with pytest.raises(DaemonUnavailable, match="another version"):
            sessions.make_profile_for(changed)
    with pytest.raises(DaemonUnavailable, match="unknown profile"):
        sessions.make_profile_for(dataclasses.replace(hello, client=ClientArguments("magic", (), str(site.root))))
    write(tmp_path / "other", {"b.md": "b"})
    with pytest.raises(DaemonUnavailable, match="serves"):
        sessions.make_profile_for(site.hello("core", tmp_path / "other"))


def test_the_server_is_started_with_the_same_words(site: Site) -> None:
    asked = ClientArguments("core", ("-r", "b c"), str(site.root))
    flags = {"limit": "3", "watch": False, "gitignore": True, "exclude": "-x", "index": None, "action": "run"}
    words = daemon_command(asked, flags)[6:]
    assert words == [
        "--detached", "--profile", "core", "--root=-r", "--root=b c", "--limit=3", "--no-watch", "--gitignore",
        "--exclude=-x",
    ]  # fmt: skip


def test_a_build_is_known_by_its_files(site: Site, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert build_fingerprint() == build_fingerprint()
    write(tmp_path / "package", {"__init__.py": "", "part/a.py": "a = 1\n"})
    monkeypatch.setattr("dowse.__file__", str(tmp_path / "package/__init__.py"))
    before = build_fingerprint()
    os.utime(tmp_path / "package/part/a.py", (1, 1))
    assert build_fingerprint() != before
