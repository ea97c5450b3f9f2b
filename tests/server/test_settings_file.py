"""Single settings written into a file that somebody keeps by hand."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dowse.errors import BadInput
from dowse.server.contract_settings import check_settings_file, write_settings

NEW = {"lexical_weight": 1.0, "semantic_weight": 4.0}
ADDED = "lexical_weight = 1.0\nsemantic_weight = 4.0\n"
BEFORE_AND_AFTER = [
    ("", ADDED),
    ("# mine\nlimit = 5", "# mine\nlimit = 5\n" + ADDED),
    ("# mine\n\nlimit = 5 # few\n\n", "# mine\n\nlimit = 5 # few\n\n" + ADDED),
    ("semantic_weight=2# why\nlexical_weight = 3.5\n", "semantic_weight=4.0# why\nlexical_weight = 1.0\n"),
    ('"semantic_weight" = 2\n', '"semantic_weight" = 4.0\nlexical_weight = 1.0\n'),
    ("limit = 5\r\n", "limit = 5\r\nlexical_weight = 1.0\r\nsemantic_weight = 4.0\r\n"),
    ("# semantic_weight = 2\n", "# semantic_weight = 2\n" + ADDED),
    ('include = [\n  "ü/*.md",\n]\n', 'include = [\n  "ü/*.md",\n]\n' + ADDED),
]


@pytest.mark.parametrize(("before", "after"), BEFORE_AND_AFTER)
def test_only_the_settings_change(root: Path, before: str, after: str) -> None:
    (root / "dowse.toml").write_bytes(before.encode())
    assert write_settings(root, NEW) == root / "dowse.toml"
    assert (root / "dowse.toml").read_bytes().decode() == after
    write_settings(root, NEW)
    assert (root / "dowse.toml").read_bytes().decode() == after
    assert [path.name for path in root.iterdir()] == ["dowse.toml"]


def test_it_is_made_where_there_is_none(root: Path) -> None:
    write_settings(root, NEW)
    assert (root / "dowse.toml").read_text() == ADDED
    assert (root / "dowse.toml").stat().st_mode & 0o777 == 0o644


def test_permissions_stay(root: Path) -> None:
    (root / "dowse.toml").write_text("limit = 5\n")
    (root / "dowse.toml").chmod(0o600)
    write_settings(root, NEW)
    assert (root / "dowse.toml").stat().st_mode & 0o777 == 0o600


REFUSED = [
    ('index = """\nsemantic_weight = 2\n"""\n', "too complex"),
    ("limit = 5\n[table]\nx = 1\n", "too complex"),
    ("semantic_weight = \n", "cannot write"),
    ("limit = \udcff", "cannot write"),
]


@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_what_is_not_understood_is_left_alone(root: Path, text: str, message: str) -> None:
    data = text.encode("utf-8", "surrogateescape")
    (root / "dowse.toml").write_bytes(data)
    with pytest.raises(BadInput, match=f"{message}.*by hand: lexical_weight = 1.0, semantic_weight = 4.0"):
        write_settings(root, NEW)
    assert (root / "dowse.toml").read_bytes() == data


@pytest.mark.parametrize("there", [True, False])
def test_a_link_is_not_written_through(root: Path, tmp_path: Path, there: bool) -> None:
    outside = tmp_path / "outside.toml"
    if there:
        outside.write_text("limit = 5\n")
    (root / "dowse.toml").symlink_to(outside)
    for attempt in (lambda: write_settings(root, NEW), lambda: check_settings_file(root)):
        with pytest.raises(BadInput, match="is a link"):
            attempt()
    assert outside.exists() is there and (root / "dowse.toml").is_symlink()
    assert not there or outside.read_text() == "limit = 5\n"


def test_a_directory_in_its_place(root: Path) -> None:
    (root / "dowse.toml").mkdir()
    with pytest.raises(BadInput, match="not a regular file"):
        write_settings(root, NEW)


def test_a_read_only_directory(public_path: Path) -> None:
    """As an ordinary user: root may write anywhere."""
    (public_path / "dowse.toml").write_text("limit = 5\n")
    public_path.chmod(0o555)
    code = (
        "import os, sys; from pathlib import Path; from dowse.errors import BadInput;"
        "from dowse.server.contract_settings import check_settings_file, write_settings\n"
        "if os.getuid() == 0: os.setgid(65534); os.setuid(65534)\n"
        "for attempt in (lambda: write_settings(Path('.'), {'limit': 7}), lambda: check_settings_file(Path('.'))):\n"
        "    try: attempt()\n"
        "    except BadInput as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=public_path, capture_output=True, text=True, check=True)
    refused, checked = done.stdout.splitlines()
    assert "Permission denied" in refused and "limit = 7" in refused
    assert "not writable" in checked
    assert [path.name for path in public_path.iterdir()] == ["dowse.toml"]


KEYS = st.sampled_from(["limit", "semantic_weight", "rrf_k", "lexical_weight"])


@settings(max_examples=40)
@given(
    st.dictionaries(KEYS, st.integers(0, 9)),
    st.lists(st.sampled_from(["# note", "", "  ", "#semantic_weight = 1"]), max_size=4),
)
def test_every_other_setting_and_line_stays(
    tmp_path_factory: pytest.TempPathFactory, values: dict[str, int], others: list[str]
) -> None:
    folder = tmp_path_factory.mktemp("root")
    lines = [*others, *(f"{name} = {value}" for name, value in values.items())]
    (folder / "dowse.toml").write_text("".join(f"{line}\n" for line in lines))
    write_settings(folder, NEW)
    text = (folder / "dowse.toml").read_text()
    assert tomllib.loads(text) == {**values, **NEW}
    assert text.split("\n")[: len(others)] == others
