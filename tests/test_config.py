"""Settings: one table, three places they come from, and clear words about wrong ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from dowse.cli.options import settings_options
from dowse.config import SETTINGS, Settings, load_settings
from dowse.encoders.choose import ENCODER_SERVERS
from dowse.errors import BadInput
from dowse.server.workspace import find_workspace
from support import Stranger


def load(folder: Path | None = None, env: dict[str, str] | None = None, **flags: object) -> Settings:
    return load_settings(flags=flags, environment=env or {}, folder=folder)


def test_a_file_names_no_git_directories(tmp_path: Path) -> None:
    """Whoever wrote it could lead to the history of any repository."""
    (tmp_path / "dowse.toml").write_text('git_directories = "/home"\n')
    with pytest.raises(BadInput, match="--git-directories"):
        load_settings(flags={}, environment={}, folder=tmp_path)
    given = load_settings(flags={}, environment={"DOWSE_GIT_DIRECTORIES": "/a,/b"}, folder=None)
    assert given.git_directories == ("/a", "/b")


def test_flags_win_over_variables_over_the_file_over_defaults(tmp_path: Path) -> None:
    (tmp_path / "dowse.toml").write_text('limit = 3\nrrf_k = 30\nmax_chunk_chars = 300\ninclude = ["*.md", "*.txt"]')
    settings = load(tmp_path, {"DOWSE_LIMIT": "4", "DOWSE_RRF_K": "40"}, limit="5")
    assert (settings.limit, settings.rrf_k, settings.max_chunk_chars) == (5, 40, 300)
    assert settings.include == ("*.md", "*.txt")
    assert settings.min_chunk_chars == Settings().min_chunk_chars


def test_empty_variables_and_absent_flags_count_as_not_given() -> None:
    assert load(None, {"DOWSE_LIMIT": ""}, limit=None) == Settings()


def test_paths_in_the_file_are_relative_to_it(tmp_path: Path) -> None:
    (tmp_path / "dowse.toml").write_text('index = "my.db"\n')
    assert load(tmp_path).index == tmp_path / "my.db"


@pytest.mark.parametrize("name", SETTINGS)
def test_every_setting_has_help_and_a_parser(name: str) -> None:
    assert SETTINGS[name].metadata["help"]
    default = getattr(Settings(), name)
    text = {"tuple": "a,b", "NoneType": "x", "bool": "no"}.get(type(default).__name__, str(default))
    assert load(None, {f"DOWSE_{name.upper()}": text})


BAD = [
    ({"DOWSE_LIMIT": "ten"}, "DOWSE_LIMIT must be a whole number, not 'ten'"),
    ({"DOWSE_LIMIT": "0"}, "limit must be between 1 and 1,000, not 0"),
    ({"DOWSE_LIMIT": "1000000000"}, "limit must be between"),
    ({"DOWSE_LOCK_TIMEOUT_S": "nan"}, "lock_timeout_s must be between"),
    ({"DOWSE_LOCK_TIMEOUT_S": "inf"}, "lock_timeout_s must be between"),
    ({"DOWSE_GITIGNORE": "maybe"}, "DOWSE_GITIGNORE must be true or false"),
    ({"DOWSE_MAX_CHUNK_CHARS": "49"}, "max_chunk_chars must be between 50"),
    ({"DOWSE_MIN_CHUNK_CHARS": "5000"}, "min_chunk_chars must be between 1 and 2,000"),
    ({"DOWSE_INDEX": "a\0b"}, "DOWSE_INDEX must be a path"),
]


@pytest.mark.parametrize(("environment", "message"), BAD)
def test_wrong_values_name_the_place(environment: dict[str, str], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        load(None, environment)


FILES = [
    ("limt = 3", "unknown settings limt; choose from index"),
    ("limit = ", "cannot read"),
    ('limit = "x"', "limit must be a whole number"),
    ("limit = true", "limit must be a whole number"),
    ("include = [1]", "include must be globs"),
    ("encoder = 5", "encoder must be text"),
]


@pytest.mark.parametrize(("text", "message"), FILES)
def test_a_wrong_file_is_named(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "dowse.toml").write_text(text)
    with pytest.raises(BadInput, match=message):
        load(tmp_path)


@pytest.mark.parametrize(
    "encoder", ["tei", "ollama", "openai", "tei:http://evil.example", "openai:m@https://evil.example", "x:y", "TEI:a"]
)
def test_a_file_that_comes_with_a_directory_can_not_send_texts_elsewhere(tmp_path: Path, encoder: str) -> None:
    (tmp_path / "dowse.toml").write_text(f'encoder = "{encoder}"\n')
    with pytest.raises(
        BadInput, match=r"dowse.toml: encoder must not be a server; set it with --encoder or the variable"
    ):
        load(tmp_path)
    assert load(None, {"DOWSE_ENCODER": encoder}).encoder == encoder
    assert load(None, encoder=encoder).encoder == encoder


@pytest.mark.parametrize("kind", ENCODER_SERVERS.formats)
def test_every_kind_of_server_is_refused_there_even_without_its_address(tmp_path: Path, kind: str) -> None:
    (tmp_path / "dowse.toml").write_text(f'encoder = "{kind}"\n')
    with pytest.raises(BadInput, match="must not be a server"):
        load(tmp_path)


def test_the_key_comes_from_its_variable_alone(tmp_path: Path) -> None:
    settings = load(None, {"DOWSE_ENCODER_KEY": "s3cret"})
    assert settings.encoder_key == "s3cret"
    assert "s3cret" not in repr(settings)
    with pytest.raises(BadInput, match="set the variable DOWSE_ENCODER_KEY") as caught:
        load(None, encoder_key="s3cret")
    assert "s3cret" not in str(caught.value)
    (tmp_path / "dowse.toml").write_text('encoder_key = "s3cret"\n')
    with pytest.raises(BadInput, match=r"dowse.toml must not contain encoder_key, which is a secret") as caught:
        load(tmp_path)
    assert "s3cret" not in str(caught.value)
    assert "encoder_key" not in {option.name for option in settings_options()(lambda: None).__click_params__}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("show_secrets = true", "show_secrets must not be set here; use the flag --show-secrets or the variable"),
        ('data_dir = "data"', "data_dir must not be set here"),
        ('extra_extensions = ["csv"]', "extra_extensions must not be set here"),
        ("allow_any_root = true", "allow_any_root must not be set here"),
        ("default_excludes = false", "default_excludes must not be turned off here"),
        ("gitignore = false", "gitignore must not be turned off here; use the flag --no-gitignore or the variable"),
        ("max_file_bytes = 20000000", "max_file_bytes may be at most 10,000,000 here; to raise it, use the flag"),
        ("max_files = 1000001", "max_files may be at most"),
        ("max_total_bytes = 20000000001", "max_total_bytes may be at most"),
        ("memory_mb = 4001", "memory_mb may be at most"),
        ("memory_mb = 0", "memory_mb may be at most"),
        ("workers = 9", "workers may be at most 8"),
        ("encoder_threads = 9", "encoder_threads may be at most 8"),
        ("parse_timeout_s = 11", "parse_timeout_s may be at most"),
        ('memory_location = "user"', "memory_location must be .project. here"),
    ],
)
def test_a_file_may_have_less_indexed_and_done_never_more(tmp_path: Path, line: str, message: str) -> None:
    (tmp_path / "dowse.toml").write_text(line)
    with pytest.raises(BadInput, match=message):
        load(tmp_path)


def test_what_a_file_may_lower_and_what_the_user_may_raise(tmp_path: Path) -> None:
    lines = ["max_file_bytes = 5", "memory_mb = 200", "workers = 1", "gitignore = true", 'memory_location = "project"']
    (tmp_path / "dowse.toml").write_text("\n".join(lines))
    found = load(tmp_path, {"DOWSE_MAX_FILES": "2000000", "DOWSE_GITIGNORE": "no"}, show_secrets="yes")
    assert (found.max_file_bytes, found.memory_mb, found.workers, found.max_files) == (5, 200, 1, 2_000_000)
    assert (found.gitignore, found.show_secrets) == (False, True)


def test_a_file_may_only_switch_the_background_process_off(tmp_path: Path) -> None:
    (tmp_path / "dowse.toml").write_text("background = false")
    assert not load(tmp_path).background and load(tmp_path, {"DOWSE_BACKGROUND": "true"}).background
    (tmp_path / "dowse.toml").write_text("background = true")
    assert load(tmp_path).background and not load(tmp_path, {"DOWSE_BACKGROUND": "false"}).background
    with pytest.raises(BadInput, match="background must not be turned on here; use the flag --background"):
        load_settings(flags={}, environment={}, folder=tmp_path, defaults=Settings(background=False))


def test_a_file_adds_to_the_excludes_of_a_profile(tmp_path: Path) -> None:
    (tmp_path / "dowse.toml").write_text('exclude = ["drafts/"]')
    found = load_settings(flags={}, environment={}, folder=tmp_path, defaults=Settings(exclude=(".git/*",)))
    assert found.exclude == (".git/*", "drafts/")
    assert load(tmp_path, {"DOWSE_EXCLUDE": "mine"}).exclude == ("mine",)


# --- whose file it is -----------------------------------------------------------------------------


def test_a_file_of_another_user_is_not_obeyed(tmp_path: Path, stranger: Stranger) -> None:
    (tmp_path / "dowse.toml").write_text("limit = 3")
    assert load(tmp_path).limit == 3
    owner = stranger(tmp_path / "dowse.toml")
    assert load(tmp_path).limit == Settings().limit
    assert load(tmp_path, {"SUDO_UID": str(owner)}).limit == 3  # whoever became root by sudo is still the same user
    assert load(tmp_path, {"SUDO_UID": str(owner + 1)}).limit == Settings().limit
    assert load(tmp_path, {"SUDO_UID": "x"}).limit == Settings().limit


def test_a_file_in_a_directory_of_another_user_is_not_obeyed(tmp_path: Path, stranger: Stranger) -> None:
    (tmp_path / "dowse.toml").write_text("limit = 3")
    stranger(tmp_path)
    assert load(tmp_path).limit == Settings().limit


def test_a_link_of_another_user_to_our_own_file_is_not_obeyed(tmp_path: Path, stranger: Stranger) -> None:
    (tmp_path / "mine.toml").write_text("limit = 3")
    (tmp_path / "dowse.toml").symlink_to("mine.toml")
    assert load(tmp_path).limit == 3
    stranger(tmp_path / "dowse.toml")
    assert load(tmp_path).limit == Settings().limit


def test_a_file_above_that_is_another_users_makes_no_root(tmp_path: Path, stranger: Stranger) -> None:
    project = tmp_path / "shared" / "project"
    project.mkdir(parents=True)
    above = project.parent / "dowse.toml"
    above.write_text("limit = 3")
    found = find_workspace(cwd=project, environment={"DOWSE_DATA_DIR": str(tmp_path / "data")}, flags={})
    assert (found.root, found.settings.limit, found.notice) == (project.parent, 3, "")
    stranger(above)
    found = find_workspace(cwd=project, environment={"DOWSE_DATA_DIR": str(tmp_path / "data")}, flags={})
    assert (found.root, found.settings.limit) == (project, Settings().limit)
    assert found.notice == f"{above} belongs to another user and was ignored; to use it, make it yours (chown)"
    named = find_workspace(
        cwd=tmp_path, environment={"DOWSE_DATA_DIR": str(tmp_path / "data")}, flags={}, root=project.parent
    )
    assert (named.settings.limit, named.notice) == (Settings().limit, found.notice)
