"""The documentation is true: every command, option, tool, parameter and setting is in it; links lead somewhere."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import click
import pytest

from dowse.config import SETTINGS
from dowse.profiles.all import NAME as ALL
from dowse.profiles.rifflux_settings import ALIASES
from dowse.profiles.tool import Tool
from dowse.shells.backstage import Backstage
from dowse.shells.cli import VERBS
from dowse.shells.cli.group import dowse
from dowse.shells.serving import make_profile
from dowse.shells.workspace import PROFILES

PROJECT = Path(__file__).resolve().parents[2]
REFERENCE = (PROJECT / "docs/reference.md").read_text()
README = (PROJECT / "README.md").read_text()
ARCHITECTURE = (PROJECT / "docs/architecture.md").read_text()


def command(verb: str) -> click.Command:
    found = dowse.get_command(click.Context(dowse), verb)
    assert found is not None
    return found


@pytest.mark.parametrize("verb", VERBS)
def test_every_command_and_option_is_documented(verb: str) -> None:
    assert f"`dowse {verb}" in REFERENCE
    for option in command(verb).params:
        if isinstance(option, click.Option) and option.name not in SETTINGS:
            assert option.opts[0] in REFERENCE, option.opts


@pytest.mark.parametrize("name", SETTINGS)
def test_every_setting_is_documented_with_its_default(name: str) -> None:
    row = next(line for line in REFERENCE.splitlines() if line.startswith(f"| `{name}` |"))
    default = SETTINGS[name].default
    shown = "" if default in (None, ()) else str(default).lower() if isinstance(default, bool) else str(default)
    assert row.split("|")[2].strip() == shown
    assert SETTINGS[name].metadata["help"] in row


def tools_of(profile: str, folder: Path) -> tuple[Tool, ...]:
    return make_profile(profile, roots=(), flags={}, environment={}, cwd=folder, backstage=Backstage()).tools


def test_the_profile_all_has_the_tools_of_the_others(tmp_path: Path) -> None:
    others = [tool.name for name in PROFILES if name != ALL for tool in tools_of(name, tmp_path)]
    assert sorted(tool.name for tool in tools_of(ALL, tmp_path)) == sorted(others)


@pytest.mark.parametrize("profile", [it for it in PROFILES if it != ALL])
def test_every_tool_and_parameter_is_documented(profile: str, tmp_path: Path) -> None:
    section = REFERENCE.partition(f"## Tools, profile {profile}\n")[2].partition("\n## ")[0]
    for tool in tools_of(profile, tmp_path):
        row = next(line for line in section.splitlines() if line.startswith(f"| `{tool.name}` |"))
        for name in inspect.signature(tool.call).parameters:
            parameter = name.rstrip("_")  # behind a word of Python's own; clients do not see it
            assert f"`{parameter}`" in row, (tool.name, parameter)


def test_every_alias_variable_is_documented() -> None:
    for name in ALIASES:
        assert f"`{name}`" in REFERENCE


def test_every_script_is_documented() -> None:
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())
    for script in project["project"]["scripts"]:
        assert script in REFERENCE


def test_the_architecture_names_every_package_and_top_module() -> None:
    source = PROJECT / "src/dowse"
    for path in source.iterdir():
        if path.is_dir() and (path / "__init__.py").exists():
            assert f"  {path.name}/" in ARCHITECTURE, path.name
        elif path.suffix == ".py" and not path.name.startswith("__"):
            assert path.name in ARCHITECTURE, path.name


@pytest.mark.parametrize("page", ["README.md", "docs/architecture.md", "docs/reference.md", "docs/decisions.md"])
def test_links_lead_somewhere(page: str) -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", (PROJECT / page).read_text()):
        assert (PROJECT / page).parent.joinpath(target).exists(), target


def test_the_readme_has_its_two_commands_and_ci_runs_the_second() -> None:
    blocks = re.findall(r"<!-- (\w+) -->\n```sh\n(.+?)\n```", README, re.DOTALL)
    assert [name for name, _ in blocks] == ["try", "test"]
    assert "dowse search" in blocks[0][1] and "pytest" in blocks[1][1]
    assert "<!-- test -->" in (PROJECT / ".ci/run").read_text()


def test_layers_are_enforced_and_the_contracts_are_not_empty() -> None:
    table = tomllib.loads((PROJECT / "pyproject.toml").read_text())["tool"]["importlinter"]
    layers = next(it for it in table["contracts"] if it["type"] == "layers")["layers"]
    named = {part.strip().removeprefix("dowse.") for layer in layers for part in layer.split("|")}
    source = PROJECT / "src/dowse"
    present = {path.stem for path in source.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert named == present - {"__init__", "__main__"}
    forbidden = next(it for it in table["contracts"] if it["type"] == "forbidden")
    assert {f"dowse.{name}" for name in named} - set(forbidden["source_modules"]) == {"dowse.shells"}


def test_import_linter_finds_and_keeps_the_contracts() -> None:
    linter = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([linter, "--no-cache"], cwd=PROJECT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "Contracts: 2 kept, 0 broken" in done.stdout
