"""Write the tables of commands, tools and settings into the documentation, from the product's own signatures.

`python docs/generate.py` rewrites each block between `<!-- generated: NAME -->` and `<!-- /generated -->`.
`python docs/generate.py --check` changes nothing and exits with 1 if a block is stale.
"""

from __future__ import annotations

import inspect
import re
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

import click

from dowse.cli import VERBS
from dowse.cli.compat import main as ragdocs
from dowse.cli.compat_codesearch import commands as search_index
from dowse.cli.group import dowse
from dowse.config import SETTINGS
from dowse.server.runtime import ServerRuntime, make_profile
from dowse.tools.rifflux import RIFFLUX_ALIASES
from dowse.tools.tool import Tool

DOCS = Path(__file__).resolve().parent
BLOCK = re.compile(r"(<!-- generated: (?P<name>[^>]+?) -->\n).*?(<!-- /generated -->)", re.DOTALL)
COMMON = ("root", "json", "as_json", "help", "help_all", "color", "no_pager")
UNLIMITED = 2**31 - 1  # the largest number that a contract's parameters take


def main(arguments: list[str]) -> int:
    check = "--check" in arguments
    stale = False
    for page in sorted(DOCS.rglob("*.md")):
        old = page.read_text()
        new = render_page(old)
        if new == old:
            continue
        stale = True
        if not check:
            page.write_text(new)
        name = page.relative_to(DOCS.parent)
        click.echo(f"{name} is stale; run `python docs/generate.py`" if check else f"wrote {name}")
    return 1 if check and stale else 0


def render_page(text: str) -> str:
    """Return the page with current blocks."""
    return BLOCK.sub(lambda block: f"{block[1]}\n{render_block(block['name'])}\n\n{block[3]}", text)


def render_block(name: str) -> str:
    kind, _, subject = name.partition(" ")
    return BLOCKS[kind](subject)


def commands_table(_: str) -> str:
    rows = (f"| [`dowse {verb}`](#dowse-{verb}) | {cell(text)} |" for verb, text in VERBS.items())
    return table("command", "what it does", rows=rows)


def options_table(path: str) -> str:
    """Render the options of `VERB`, `search-index VERB` or `mcp-markdown-ragdocs VERB`."""
    program, _, verb = path.rpartition(" ")
    groups: dict[str, click.Group] = {"": dowse, "search-index": search_index, "mcp-markdown-ragdocs": ragdocs}
    group = groups[program]
    command = group.get_command(click.Context(group), verb)
    assert command is not None, path
    options = [it for it in command.params if isinstance(it, click.Option) and not it.hidden]
    own = [it for it in options if it.name not in COMMON and not is_setting(it)]
    if not own:
        return "This command has only the common options."
    return table("option", "meaning", rows=(option_row(it) for it in own))


def is_setting(option: click.Option) -> bool:
    """Every setting is an option of every command. Some commands give one a meaning of their own, such as -k."""
    return option.name in SETTINGS and "[DOWSE_" in (option.help or "")


def common_table(_: str) -> str:
    command = dowse.get_command(click.Context(dowse), "status")
    assert command is not None
    return table("option", "meaning", rows=(
        option_row(it) for it in command.params if isinstance(it, click.Option) and it.name in COMMON
    ))  # fmt: skip


def option_row(option: click.Option) -> str:
    names = ", ".join(f"`{it}`" for it in sorted(option.opts, key=len))
    if option.secondary_opts:
        names += " / " + ", ".join(f"`{it}`" for it in sorted(option.secondary_opts, key=len))
    value = "" if option.is_flag else option.make_metavar(click.Context(dowse))
    if isinstance(option.type, click.Choice):
        value = "\\|".join(str(it) for it in option.type.choices)
    elif isinstance(option.type, click.types.IntParamType) and option.metavar is None:
        value = "N"
    shown = f"{names} `{value}`" if value else names
    help_text = option.help or ""
    default = option.default
    if option.show_default and not option.is_flag and default is not None and "default" not in help_text.lower():
        values = ", ".join(map(str, default)) if isinstance(default, list | tuple) else default
        help_text = f"{help_text.rstrip('.')} (default: {values})."
    return f"| {shown} | {cell(help_text)} |"


def settings_table(_: str) -> str:
    def row(name: str) -> str:
        default = SETTINGS[name].default
        shown = "" if default in (None, ()) else str(default).lower() if isinstance(default, bool) else str(default)
        return f"| `{name}` | {shown} | {cell(SETTINGS[name].metadata['help'])} |"

    return table("setting", "default", "meaning", rows=(row(name) for name in SETTINGS))


def aliases_table(_: str) -> str:
    rows = (f"| `{variable}` | `{setting}` |" for variable, setting in RIFFLUX_ALIASES.items())
    return table("variable", "setting", rows=rows)


def tools_table(profile: str) -> str:
    """Render one row per tool: name, description and parameters."""

    def row(tool: Tool) -> str:
        return f"| `{tool.name}` | {cell(describe(tool))} | {'; '.join(brief(it) for it in parameters(tool)) or '–'} |"

    return table("tool", "what it does", "parameters", rows=(row(it) for it in tools(profile)))


def tool_sections(profile: str) -> str:
    """Render one section per tool, with a table of its parameters."""
    parts = []
    for tool in tools(profile):
        rows = [f"| `{name}` | {default} | {cell(text)} |" for name, default, _, text in parameters(tool)]
        body = table("parameter", "default", "meaning", rows=rows) if rows else "It takes no parameters."
        parts.append(f"### `{tool.name}`\n\n{describe(tool)}\n\n{body}")
    return "\n\n".join(parts)


def tools(profile: str) -> tuple[Tool, ...]:
    with tempfile.TemporaryDirectory() as folder:
        made = make_profile(
            profile, roots=(), flags={}, environment={}, cwd=Path(folder), server_runtime=ServerRuntime()
        )
        return made.tools


def describe(tool: Tool) -> str:
    return " ".join(inspect.cleandoc(tool.call.__doc__ or tool.title).split())


def parameters(tool: Tool) -> Iterator[tuple[str, str, str, str]]:
    """Yield name, default, bounds or choices, and help of each parameter, as clients see it."""
    hints = get_type_hints(tool.call, include_extras=True)
    for parameter in inspect.signature(tool.call).parameters.values():
        hint = hints[parameter.name]
        notes = [it for it in getattr(hint, "__metadata__", ()) if hasattr(it, "help")]
        limits = bounds(hint, notes)
        help_text = next((it.help for it in reversed(notes) if it.help), "")
        if limits and not all(it in help_text for it in limits.split(", ")):
            help_text = f"{help_text} ({limits})" if help_text else limits
        yield parameter.name.rstrip("_"), default_text(parameter.default), limits, help_text


def default_text(default: object) -> str:
    if default is inspect.Parameter.empty:
        return "required"
    if default is None or default in ("", (), []):
        return ""
    return str(default).lower() if isinstance(default, bool) else str(default)


def bounds(hint: Any, notes: Iterable[Any]) -> str:  # noqa: ANN401
    """Return choices such as `a, b`, or a range such as `1–100`."""
    notes = list(notes)
    choices = next((it.choices for it in reversed(notes) if it.choices), ()) or literals(hint)
    if choices:
        return ", ".join(choices)
    lowest = next((it.ge for it in reversed(notes) if it.ge is not None), None)
    highest = next((it.le for it in reversed(notes) if it.le is not None), None)
    return "" if lowest is None or highest is None or highest == UNLIMITED else f"{lowest:,}–{highest:,}"


def literals(hint: Any) -> tuple[str, ...]:  # noqa: ANN401
    if get_origin(hint) is Literal:
        return get_args(hint)
    return next((found for it in get_args(hint) if it is not NoneType and (found := literals(it))), ())


def brief(parameter: tuple[str, str, str, str]) -> str:
    name, default, limits, _ = parameter
    parts = [f"`{name}`", "(required)" if default == "required" else default, f"({limits})" if limits else ""]
    return " ".join(it for it in parts if it)


def cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def table(*head: str, rows: Iterable[str]) -> str:
    return "\n".join([f"| {' | '.join(head)} |", "|---" * len(head) + "|", *rows])


BLOCKS: dict[str, Callable[[str], str]] = {
    "commands": commands_table,
    "options": options_table,
    "common": common_table,
    "settings": settings_table,
    "aliases": aliases_table,
    "tools": tools_table,
    "tool-sections": tool_sections,
}

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
