"""Settings: one table, three places they come from, and clear words about wrong ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from dowse.config import SETTINGS, Settings, load_settings
from dowse.encoders.http_names import ENCODERS
from dowse.errors import BadInput
from dowse.shells.cli.options import settings_options


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
    ("limt = 3", "unknown settings limt; known are index"),
    ("limit = ", "can not read"),
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
        BadInput, match=r"dowse.toml: encoder may not be a server; name it by --encoder or the variable"
    ):
        load(tmp_path)
    assert load(None, {"DOWSE_ENCODER": encoder}).encoder == encoder
    assert load(None, encoder=encoder).encoder == encoder


@pytest.mark.parametrize("kind", ENCODERS.forms)
def test_every_kind_of_server_is_refused_there_even_without_its_address(tmp_path: Path, kind: str) -> None:
    (tmp_path / "dowse.toml").write_text(f'encoder = "{kind}"\n')
    with pytest.raises(BadInput, match="may not be a server"):
        load(tmp_path)


def test_the_key_comes_from_its_variable_alone(tmp_path: Path) -> None:
    settings = load(None, {"DOWSE_ENCODER_KEY": "s3cret"})
    assert settings.encoder_key == "s3cret"
    assert "s3cret" not in repr(settings)
    with pytest.raises(BadInput, match="set the variable DOWSE_ENCODER_KEY") as caught:
        load(None, encoder_key="s3cret")
    assert "s3cret" not in str(caught.value)
    (tmp_path / "dowse.toml").write_text('encoder_key = "s3cret"\n')
    with pytest.raises(BadInput, match=r"dowse.toml may not hold encoder_key, which is a secret") as caught:
        load(tmp_path)
    assert "s3cret" not in str(caught.value)
    assert "encoder_key" not in {option.name for option in settings_options()(lambda: None).__click_params__}
