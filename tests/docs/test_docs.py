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

from dowse.cli import VERBS
from dowse.cli.group import dowse
from dowse.config import SETTINGS
from dowse.server.runtime import ServerRuntime, make_profile
from dowse.server.workspace import PROFILES
from dowse.tools.all import ALL_TOOLS_NAME
from dowse.tools.rifflux import RIFFLUX_ALIASES
from dowse.tools.tool import Tool

PROJECT = Path(__file__).resolve().parents[2]
PAGES = [PROJECT / "README.md", PROJECT / "CHANGELOG.md", *sorted((PROJECT / "docs").rglob("*.md"))]
TOOL_PAGES = {
    "core": "tools.md",
    "rifflux": "compat/rifflux.md",
    "ragdocs": "compat/ragdocs.md",
    "codesearch": "compat/search-index.md",
}


def page(name: str) -> str:
    return (PROJECT / "docs" / name).read_text()


CLI = page("cli.md")
README = (PROJECT / "README.md").read_text()
ARCHITECTURE = page("architecture.md")


def command(verb: str) -> click.Command:
    found = dowse.get_command(click.Context(dowse), verb)
    assert found is not None
    return found


def section(text: str, heading: str) -> str:
    """Return the text below a heading, up to the next heading of the same or a higher level."""
    _, found, rest = text.partition(f"\n{heading}\n")
    assert found, heading
    level = heading.partition(" ")[0]
    return re.split(rf"\n#{{1,{len(level)}}} ", rest)[0]


@pytest.mark.parametrize("verb", VERBS)
def test_every_command_and_option_is_documented(verb: str) -> None:
    below = section(CLI, f"## `dowse {verb}`") + section(CLI, "## Rules for all commands")
    for option in command(verb).params:
        if isinstance(option, click.Option) and option.name not in SETTINGS and not option.hidden:
            assert f"`{max(option.opts, key=len)}`" in below, option.opts


@pytest.mark.parametrize("name", SETTINGS)
def test_every_setting_is_documented_with_its_default(name: str) -> None:
    row = next(line for line in page("settings.md").splitlines() if line.startswith(f"| `{name}` |"))
    default = SETTINGS[name].default
    shown = "" if default in (None, ()) else str(default).lower() if isinstance(default, bool) else str(default)
    assert row.split("|")[2].strip() == shown
    assert SETTINGS[name].metadata["help"] in row


def tools_of(profile: str, folder: Path) -> tuple[Tool, ...]:
    return make_profile(profile, roots=(), flags={}, environment={}, cwd=folder, server_runtime=ServerRuntime()).tools


def test_the_profile_all_has_the_tools_of_the_others(tmp_path: Path) -> None:
    others = [tool.name for name in PROFILES if name != ALL_TOOLS_NAME for tool in tools_of(name, tmp_path)]
    assert sorted(tool.name for tool in tools_of(ALL_TOOLS_NAME, tmp_path)) == sorted(others)


@pytest.mark.parametrize("profile", [it for it in PROFILES if it != ALL_TOOLS_NAME])
def test_every_tool_and_parameter_is_documented(profile: str, tmp_path: Path) -> None:
    text = page(TOOL_PAGES[profile])
    for tool in tools_of(profile, tmp_path):
        if profile == "core":
            below = next(line for line in text.splitlines() if line.startswith(f"| `{tool.name}` |"))
        else:
            below = section(text, f"### `{tool.name}`")
        for name in inspect.signature(tool.call).parameters:
            parameter = name.rstrip("_")  # behind a word of Python's own; clients do not see it
            assert f"`{parameter}`" in below, (tool.name, parameter)


def test_every_alias_variable_is_documented() -> None:
    for name in RIFFLUX_ALIASES:
        assert f"`{name}`" in page("compat/rifflux.md")


def test_every_script_is_documented() -> None:
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())
    everything = "".join(it.read_text() for it in PAGES)
    for script in project["project"]["scripts"]:
        assert f"`{script}" in everything, script


def test_generated_tables_are_current() -> None:
    script = PROJECT / "docs/generate.py"
    done = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_architecture_names_every_package_and_top_module() -> None:
    source = PROJECT / "src/dowse"
    for path in source.iterdir():
        if path.is_dir() and (path / "__init__.py").exists():
            assert f"  {path.name}/" in ARCHITECTURE, path.name
        elif path.suffix == ".py" and not path.name.startswith("__"):
            assert path.name in ARCHITECTURE, path.name


def test_files_and_functions_that_the_architecture_names_exist() -> None:
    """Paths start at src/dowse or at the project. In the table `Where is …`, names in the file may follow a path."""
    source = PROJECT / "src/dowse"
    for path in re.findall(r"`([a-z_/]+/[a-z_]+\.(?:py|sql))`", ARCHITECTURE):
        assert (source / path).exists() or (PROJECT / path).exists(), path
    for row in section(ARCHITECTURE, "## Where is …").splitlines():
        for path, names in re.findall(r"`([a-z_/]+\.py)`: ((?:`[^`]+`(?:, )?)+)", row):
            text = (source / path).read_text()
            for name in re.findall(r"`([^`]+)`", names):
                assert re.search(rf"\b{re.escape(name.rpartition('.')[2])}\b", text), (path, name)


def test_tests_that_the_security_page_names_exist() -> None:
    for path in re.findall(r"`(tests/[\w/.]+)`", page("security.md")):
        assert (PROJECT / path).exists(), path


def anchors(text: str) -> set[str]:
    """Return the anchors of all headings, as GitHub makes them."""
    plain = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    return {
        re.sub(r"[^\w\- ]", "", it.lower()).strip().replace(" ", "-") for it in re.findall(r"^#+ (.+)$", plain, re.M)
    }


@pytest.mark.parametrize("source", PAGES, ids=lambda it: it.name)
def test_links_lead_somewhere(source: Path) -> None:
    for target, anchor in re.findall(r"\]\(([^)#:\s]*)(?:#([^)\s]+))?\)", source.read_text()):
        found = source.parent / target if target else source
        assert found.exists(), target
        assert not anchor or anchor in anchors(found.read_text()), (target, anchor)


def test_every_page_is_linked_from_the_readme() -> None:
    for path in (PROJECT / "docs").rglob("*.md"):
        assert f"({path.relative_to(PROJECT)})" in README, path


def prose(text: str) -> list[str]:
    """Return the paragraphs and list items of a page, without code, tables, headings and generated blocks."""
    for pattern in (r"<!-- generated: .*?<!-- /generated -->", r"```.*?```", r"<!--.*?-->"):
        text = re.sub(pattern, "", text, flags=re.DOTALL)
    lines = "\n".join(it for it in text.splitlines() if not it.startswith(("|", "#")))
    return [" ".join(it.split()) for it in re.split(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )", lines) if it.strip()]


@pytest.mark.parametrize("source", PAGES, ids=lambda it: it.name)
def test_prose_is_plain(source: Path) -> None:
    paragraphs = prose(source.read_text())
    assert [it for it in paragraphs if len(it.split()) > 90] == []
    sentences = [it for part in paragraphs for it in re.split(r"(?<=[.!?:])\s+(?=[A-Z*`\"])", part)]
    lengths = sorted(len(it.split()) for it in sentences)
    assert lengths[int(len(lengths) * 0.9)] <= 26
    clumsy = re.compile(r"(?:^|[.!?] )What is\b|\bis told\b|\bso many\b|\bsuch\b|\banew\b|\bcan not\b")
    assert [it for it in sentences if clumsy.search(it)] == []


def test_the_readme_has_its_two_commands_and_ci_runs_the_second() -> None:
    blocks = re.findall(r"<!-- (\w+) -->\n```sh\n(.+?)\n```", README, re.DOTALL)
    assert [name for name, _ in blocks] == ["try", "test"]
    assert "dowse search" in blocks[0][1] and "pytest" in blocks[1][1]
    assert "<!-- test -->" in (PROJECT / ".ci/run").read_text()


def test_layers_are_enforced_and_the_contracts_are_not_empty() -> None:
    table = tomllib.loads((PROJECT / "pyproject.toml").read_text())["tool"]["importlinter"]
    layers = next(it for it in table["contracts"] if it["type"] == "layers")["layers"]
    named = {part.strip().removeprefix("dowse.") for layer in layers for part in re.split("[|:]", layer)}
    source = PROJECT / "src/dowse"
    present = {path.stem for path in source.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert named == present - {"__init__", "__main__"}
    forbidden = next(it for it in table["contracts"] if it["type"] == "forbidden")
    assert {f"dowse.{name}" for name in named} - set(forbidden["source_modules"]) == {"dowse.cli", "dowse.server"}


def test_import_linter_finds_and_keeps_the_contracts() -> None:
    linter = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([linter, "--no-cache"], cwd=PROJECT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "Contracts: 4 kept, 0 broken" in done.stdout
