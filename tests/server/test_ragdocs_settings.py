"""The configuration file of the ragdocs contract: found as the contract says, read without trusting it."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from dowse.errors import BadInput
from dowse.model import DecayRate, RagdocsTuning
from dowse.server.contract_settings import find_ragdocs_config, ragdocs_workspace
from dowse.tools.ragdocs import ALL_DOCUMENTS, DocumentFiles
from dowse.tools.ragdocs_memory import MemoryOptions
from support import Stranger, write

CONFIG = ".mcp-markdown-ragdocs/config.toml"


def configured(folder: Path, text: str) -> Path:
    write(folder, {CONFIG: text})
    return folder


def test_without_a_file_memories_are_the_users(tmp_path: Path) -> None:
    setup = find_ragdocs_config(tmp_path, {})
    assert setup.settings.memory_location == "user"
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
    setup = find_ragdocs_config(tmp_path, {})
    told = setup.settings
    assert (told.memory_location, told.git, told.diff_lines, told.git_debounce_s) == ("project", False, 50, 1.5)
    paces = (DecayRate("memory", "plan", 0.5, 0.0), DecayRate("memory", "fact", 1.0, 0.25))
    assert setup.memory == MemoryOptions(enabled=False, score_threshold=0.5, decay_rates=paces)


def test_what_it_says_of_files_search_and_chunks(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    configured(
        tmp_path,
        """
        [indexing]
        documents_path = "docs"
        recursive = false
        include = ["**/*.md"]
        exclude = ["**/drafts/**"]
        reconciliation_interval_seconds = 60
        [search]
        semantic_weight = 0.5
        keyword_weight = 2.0
        rrf_k_constant = 10
        mmr_enabled = true
        mmr_lambda = 0.4
        rerank_enabled = true
        rerank_top_n = 7
        max_chunks_per_doc = 3
        min_confidence = 0.4
        [chunking]
        min_chunk_chars = 200
        max_chunk_chars = 900
        parent_retrieval_enabled = false
        [parsers]
        "**/*.md" = "MarkdownParser"
        "**/*.rst" = "RstParser"
        "{" = "MarkdownParser"
        """,
    )
    setup = find_ragdocs_config(tmp_path, {})
    told = setup.settings
    assert (told.include, told.exclude) == (("**/*.md",), ("**/drafts/**", "*/"))
    assert (told.semantic_weight, told.lexical_weight, told.rrf_k, told.reconcile_s) == (0.5, 2.0, 10, 60)
    assert (told.min_chunk_chars, told.max_chunk_chars) == (200, 900)
    assert setup.tuning == RagdocsTuning(
        mmr_enabled=True, mmr_lambda=0.4, rerank_enabled=True, rerank_top_n=7, max_chunks_per_doc=3,
        min_confidence=0.4, parent_retrieval_enabled=False,
    )  # fmt: skip
    assert setup.documents == tmp_path / "docs"
    assert setup.files == DocumentFiles(("**/*.md",))
    assert setup.notes == ("these [parsers] have no effect here: **/*.rst, {",)


HIDDEN_TOO = "[indexing]\nexclude = ['**/old/**']\nexclude_hidden_dirs = false\ndocuments_path = '/usr'"


def test_only_the_users_own_file_may_have_more_indexed(tmp_path: Path) -> None:
    write(tmp_path, {"home/.config/mcp-markdown-ragdocs/config.toml": HIDDEN_TOO})
    own = find_ragdocs_config(tmp_path, {"HOME": str(tmp_path / "home")})
    assert (own.files.excluded, own.settings.exclude, own.documents) == ((), ("**/old/**",), Path("/usr"))
    configured(tmp_path / "repo", HIDDEN_TOO.replace("/usr", "."))
    narrowed = find_ragdocs_config(tmp_path / "repo", {})
    assert narrowed.files == ALL_DOCUMENTS
    assert (narrowed.settings.exclude, narrowed.documents) == (("**/old/**",), tmp_path / "repo")
    assert narrowed.notes == ("indexing.exclude_hidden_dirs may be false in the user's own file only",)


def test_a_link_does_not_lead_out_of_the_directory(tmp_path: Path) -> None:
    (tmp_path / "secret").mkdir()
    configured(tmp_path / "repo", "[indexing]\ndocuments_path = 'docs'")
    (tmp_path / "repo/docs").symlink_to(tmp_path / "secret")
    with pytest.raises(BadInput, match="documents_path must be inside"):
        find_ragdocs_config(tmp_path / "repo", {})


PROJECTS = """
[[projects]]
name = "notes"
path = "{0}/notes"
[[projects]]
name = "inner"
path = "{0}/notes/inner"
[[projects]]
name = "bad name"
path = "{0}"
[[projects]]
name = "relative"
path = "notes"
[[projects]]
name = "notes"
path = "{0}/other"
"""


def test_projects_are_found_by_name_and_by_the_directory(tmp_path: Path) -> None:
    for it in ("notes/inner/deep", "other", "repo"):
        (tmp_path / it).mkdir(parents=True)
    write(tmp_path, {"home/.config/mcp-markdown-ragdocs/config.toml": PROJECTS.format(tmp_path)})
    variables = {"HOME": str(tmp_path / "home"), "DOWSE_DATA_DIR": str(tmp_path / "data")}

    def root(cwd: str, *roots: str) -> Path:
        named = [Path(it) for it in roots]
        return ragdocs_workspace(named, flags={}, environment=variables, cwd=tmp_path / cwd)[0].root

    assert root("other", "notes") == tmp_path / "notes"
    assert root("other") == tmp_path / "other"
    assert root("notes") == tmp_path / "notes"
    assert root("notes/inner/deep") == tmp_path / "notes/inner"
    assert len(find_ragdocs_config(tmp_path, variables).notes) == 3
    configured(tmp_path / "repo", "[search]\nmmr_enabled = true")  # the user's projects are known beside it
    assert root("repo", "inner") == tmp_path / "notes/inner"


def test_a_directory_names_no_project_outside_of_it(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "repo/part").mkdir(parents=True)
    here = f'[[projects]]\nname = "part"\npath = "{tmp_path}/repo/part"\n'
    configured(tmp_path / "repo", PROJECTS.format(tmp_path) + here)
    assert [it.name for it in find_ragdocs_config(tmp_path / "repo", {}).projects] == ["part"]


def test_memories_that_its_users_have_are_found(tmp_path: Path, stranger: Stranger) -> None:
    folder = tmp_path / "home/.local/share/mcp-markdown-ragdocs/memories"
    home = {"HOME": str(tmp_path / "home")}
    assert find_ragdocs_config(tmp_path, home).settings.memory_location == "user"
    folder.mkdir(parents=True)
    assert find_ragdocs_config(tmp_path, home).settings.memory_location == str(folder)
    assert (
        find_ragdocs_config(tmp_path, {**home, "XDG_DATA_HOME": str(tmp_path / "xdg")}).settings.memory_location
        == "user"
    )
    stranger(folder)
    assert find_ragdocs_config(tmp_path, home).settings.memory_location == "user"


def test_the_nearest_file_counts_and_the_users_own_last(tmp_path: Path) -> None:
    inner = tmp_path / "project/inner"
    inner.mkdir(parents=True)
    write(tmp_path, {"home/.config/mcp-markdown-ragdocs/config.toml": "[memory]\nscore_threshold = 0.1"})
    write(tmp_path, {"xdg/mcp-markdown-ragdocs/config.toml": "[memory]\nscore_threshold = 0.15"})
    home = {"HOME": str(tmp_path / "home")}
    assert find_ragdocs_config(inner, {}).memory.score_threshold == 0.2
    assert find_ragdocs_config(inner, home).memory.score_threshold == 0.1
    assert find_ragdocs_config(inner, {**home, "XDG_CONFIG_HOME": str(tmp_path / "xdg")}).memory.score_threshold == 0.15
    configured(tmp_path / "project", "[memory]\nscore_threshold = 0.3")
    assert find_ragdocs_config(inner, home).memory.score_threshold == 0.3
    configured(inner, "[memory]\nenabled = true")  # the first that is found wins, they are not mixed
    assert find_ragdocs_config(inner, home).memory.score_threshold == 0.2


@pytest.mark.parametrize("part", [CONFIG, ".mcp-markdown-ragdocs", "."])
def test_a_file_of_another_user_is_passed_over_and_told(
    tmp_path: Path, stranger: Stranger, caplog: pytest.LogCaptureFixture, part: str
) -> None:
    inner = tmp_path / "shared" / "project"
    inner.mkdir(parents=True)
    configured(inner.parent, "[memory]\nscore_threshold = 0.3")
    assert find_ragdocs_config(inner, {}).memory.score_threshold == 0.3
    stranger(inner.parent / part)
    assert find_ragdocs_config(inner, {}).memory.score_threshold == 0.2
    assert f"{inner.parent / CONFIG} belongs to another user and was ignored" in caplog.text


def test_our_own_settings_count_more(tmp_path: Path) -> None:
    root = configured(tmp_path / "root", '[memory]\nstorage_strategy = "project"\n[git_indexing]\ndelta_max_lines = 9')
    variables = {"DOWSE_DATA_DIR": str(tmp_path / "data"), "DOWSE_MEMORY_LOCATION": "user"}
    workspace, _ = ragdocs_workspace((), flags={}, environment=variables, cwd=root)
    assert (workspace.settings.memory_location, workspace.settings.diff_lines) == ("user", 9)
    write(root, {"dowse.toml": "diff_lines = 7"})
    workspace, _ = ragdocs_workspace((root,), flags={}, environment=variables, cwd=tmp_path)
    assert workspace.settings.diff_lines == 7


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[memory", "cannot read"),
        ("[memory]\nenabled = 'yes'", "memory.enabled must be true or false, not 'yes'"),
        ("[memory]\nstorage_strategy = 'cloud'", "memory.storage_strategy must be project or user, not 'cloud'"),
        ("[memory]\nstorage_strategy = 5", "memory.storage_strategy must be project or user, not '5'"),
        ("[memory]\nstorage_strategy = '/tmp'", "memory.storage_strategy must be project or user, not '/tmp'"),
        ("[indexing]\nexclude = 5", "indexing.exclude must be globs, not 5"),
        ("[indexing]\nrecursive = 'no'", "indexing.recursive must be true or false, not 'no'"),
        ("[indexing]\ndocuments_path = 5", "indexing.documents_path must be text, not 5"),
        ("[indexing]\ndocuments_path = '..'", "indexing.documents_path must be inside"),
        ("[indexing]\ndocuments_path = '/etc'", "indexing.documents_path must be inside"),
        ("[search]\nmmr_enabled = 1", "search.mmr_enabled must be true or false, not 1"),
        ("[search]\nmmr_lambda = 2", "search.mmr_lambda must be a number from 0 to 1, not 2"),
        ("[search]\nmax_chunks_per_doc = 0", "search.max_chunks_per_doc must be a whole number from 1 to 1000"),
        ("[search]\nmax_chunks_per_doc = 1.5", "search.max_chunks_per_doc must be a whole number from 1 to 1000"),
        ("[search]\nrrf_k_constant = 0", "rrf_k must be between 1 and"),
        ("[chunking]\nmax_chunk_chars = 1", "max_chunk_chars must be between 50 and"),
        ("[memory]\nscore_threshold = 1.5", "memory.score_threshold must be a number from 0 to 1, not 1.5"),
        ("[memory]\nscore_threshold = nan", "memory.score_threshold must be a number from 0 to 1, not nan"),
        ("[memory]\nscore_threshold = true", "memory.score_threshold must be a number from 0 to 1, not True"),
        (
            "[memory]\ndecay_fact = 0.5",
            "memory.decay_fact must be a table with decay_rate and floor_multiplier, not 0.5",
        ),
        ("[memory.decay_fact]\ndecay_rate = 0.5", "memory.decay_fact must be a table with decay_rate and floor_mult"),
        ("[memory.decay_fact]\ndecay_rate = 2\nfloor_multiplier = 0", "memory.decay_fact.decay_rate must be a number"),
        ("[git_indexing]\ndelta_max_lines = -1", "diff_lines must be between 0 and"),
        ("[git_indexing]\ndelta_max_lines = 'many'", "git_indexing.delta_max_lines must be a whole number"),
        ("[git_indexing]\nenabled = 7", "git_indexing.enabled must be true or false"),
        ("x = " + "1" * 1_000_001, "must be a regular file of at most 1 MB"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(tmp_path: Path, text: str, said: str) -> None:
    configured(tmp_path, text)
    with pytest.raises(BadInput) as error:
        find_ragdocs_config(tmp_path, {})
    assert said in str(error.value)
    assert CONFIG in str(error.value)


def test_what_has_no_effect_is_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    configured(tmp_path, "memory = 5\n[search]\nrank_magic = 60\n[llm]\nembedding_model = 'local'\n[x.y]\nz = 1")
    with caplog.at_level(logging.WARNING):
        assert find_ragdocs_config(tmp_path, {}).memory.enabled
    assert "these keys have no effect here: llm.embedding_model, memory, search.rank_magic, x.y" in caplog.text


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    configured(tmp_path, "")
    (tmp_path / CONFIG).write_bytes(b"\xff\xfe[memory]")
    with pytest.raises(BadInput, match="cannot read"):
        find_ragdocs_config(tmp_path, {})
