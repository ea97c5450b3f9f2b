"""The configuration file of the ragdocs contract: found as the contract says, read without trusting it."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from dowse.errors import BadInput
from dowse.model import Pace
from dowse.profiles.ragdocs_memory_desk import MemoryOptions
from dowse.shells.ragdocs_settings import find_setup, ragdocs_workspace
from support import Stranger, write

CONFIG = ".mcp-markdown-ragdocs/config.toml"


def configured(folder: Path, text: str) -> Path:
    write(folder, {CONFIG: text})
    return folder


def test_without_a_file_memories_are_the_users(tmp_path: Path) -> None:
    setup = find_setup(tmp_path, {})
    assert setup.settings.memories == "user"
    assert setup.memory == MemoryOptions(enabled=True, score_threshold=0.2)


def test_everything_it_can_say(tmp_path: Path) -> None:
    configured(
        tmp_path,
        """
        [memory]
        enabled = false
        storage_strategy = "project"
        score_threshold = 0.5
        decay_plan = { decay_rate = 0.5, floor_multiplier = 0 }
        [memory.decay_fact]
        decay_rate = 1
        floor_multiplier = 0.25
        [git_indexing]
        enabled = false
        delta_max_lines = 50
        watch_cooldown = 1.5
        """,
    )
    setup = find_setup(tmp_path, {})
    told = setup.settings
    assert (told.memories, told.git, told.delta_lines, told.git_debounce_s) == ("project", False, 50, 1.5)
    paces = (Pace("memory", "plan", 0.5, 0.0), Pace("memory", "fact", 1.0, 0.25))
    assert setup.memory == MemoryOptions(enabled=False, score_threshold=0.5, paces=paces)


def test_the_nearest_file_counts_and_the_users_own_last(tmp_path: Path) -> None:
    inner = tmp_path / "project/inner"
    inner.mkdir(parents=True)
    write(tmp_path, {"home/.config/mcp-markdown-ragdocs/config.toml": "[memory]\nscore_threshold = 0.1"})
    write(tmp_path, {"xdg/mcp-markdown-ragdocs/config.toml": "[memory]\nscore_threshold = 0.15"})
    home = {"HOME": str(tmp_path / "home")}
    assert find_setup(inner, {}).memory.score_threshold == 0.2
    assert find_setup(inner, home).memory.score_threshold == 0.1
    assert find_setup(inner, {**home, "XDG_CONFIG_HOME": str(tmp_path / "xdg")}).memory.score_threshold == 0.15
    configured(tmp_path / "project", "[memory]\nscore_threshold = 0.3")
    assert find_setup(inner, home).memory.score_threshold == 0.3
    configured(inner, "[memory]\nenabled = true")  # the first that is found wins, they are not mixed
    assert find_setup(inner, home).memory.score_threshold == 0.2


@pytest.mark.parametrize("part", [CONFIG, ".mcp-markdown-ragdocs", "."])
def test_a_file_of_another_user_is_passed_over_and_told(
    tmp_path: Path, stranger: Stranger, caplog: pytest.LogCaptureFixture, part: str
) -> None:
    inner = tmp_path / "shared" / "project"
    inner.mkdir(parents=True)
    configured(inner.parent, "[memory]\nscore_threshold = 0.3")
    assert find_setup(inner, {}).memory.score_threshold == 0.3
    stranger(inner.parent / part)
    assert find_setup(inner, {}).memory.score_threshold == 0.2
    assert f"{inner.parent / CONFIG} belongs to another user and was ignored" in caplog.text


def test_our_own_settings_count_more(tmp_path: Path) -> None:
    root = configured(tmp_path / "root", '[memory]\nstorage_strategy = "project"\n[git_indexing]\ndelta_max_lines = 9')
    variables = {"DOWSE_DATA_DIR": str(tmp_path / "data"), "DOWSE_MEMORIES": "user"}
    workspace, _ = ragdocs_workspace((), flags={}, environment=variables, cwd=root)
    assert (workspace.settings.memories, workspace.settings.delta_lines) == ("user", 9)
    write(root, {"dowse.toml": "delta_lines = 7"})
    workspace, _ = ragdocs_workspace((root,), flags={}, environment=variables, cwd=tmp_path)
    assert workspace.settings.delta_lines == 7


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[memory", "can not read"),
        ("[memory]\nenabled = 'yes'", "memory.enabled must be true or false, not 'yes'"),
        ("[memory]\nstorage_strategy = 'cloud'", "memories must be project or user, not 'cloud'"),
        ("[memory]\nstorage_strategy = 5", "memory.storage_strategy must be text, not 5"),
        ("[memory]\nscore_threshold = 1.5", "memory.score_threshold must be a number from 0 to 1, not 1.5"),
        ("[memory]\nscore_threshold = nan", "memory.score_threshold must be a number from 0 to 1, not nan"),
        ("[memory]\nscore_threshold = true", "memory.score_threshold must be a number from 0 to 1, not True"),
        (
            "[memory]\ndecay_fact = 0.5",
            "memory.decay_fact must be a table with decay_rate and floor_multiplier, not 0.5",
        ),
        ("[memory.decay_fact]\ndecay_rate = 0.5", "memory.decay_fact must be a table with decay_rate and floor_mult"),
        ("[memory.decay_fact]\ndecay_rate = 2\nfloor_multiplier = 0", "memory.decay_fact.decay_rate must be a number"),
        ("[git_indexing]\ndelta_max_lines = -1", "delta_lines must be between 0 and"),
        ("[git_indexing]\ndelta_max_lines = 'many'", "git_indexing.delta_max_lines must be a whole number"),
        ("[git_indexing]\nenabled = 7", "git_indexing.enabled must be true or false"),
        ("x = " + "1" * 1_000_001, "must be a regular file of at most 1 MB"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(tmp_path: Path, text: str, said: str) -> None:
    configured(tmp_path, text)
    with pytest.raises(BadInput) as error:
        find_setup(tmp_path, {})
    assert said in str(error.value)
    assert CONFIG in str(error.value)


def test_what_has_no_effect_is_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    configured(tmp_path, "memory = 5\n[search]\nrrf_k_constant = 60\n[llm]\nembedding_model = 'local'")
    with caplog.at_level(logging.WARNING):
        assert find_setup(tmp_path, {}).memory.enabled
    assert "these have no effect here: llm.embedding_model, memory, search.rrf_k_constant" in caplog.text


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    configured(tmp_path, "")
    (tmp_path / CONFIG).write_bytes(b"\xff\xfe[memory]")
    with pytest.raises(BadInput, match="can not read"):
        find_setup(tmp_path, {})
