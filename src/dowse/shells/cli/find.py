"""`dowse find`"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

import click

from dowse.engine import Engine
from dowse.errors import BadInput
from dowse.ingest.sources.base import Reach
from dowse.lookup.find import Manner, NameAnswer, NameQuery, alternatives
from dowse.lookup.find_contents import ContentAnswer
from dowse.profiles.code_json import contents_json, names_json
from dowse.shells.cli.options import exact_limit, json_option, root_option, settings_options, workspace_of
from dowse.shells.cli.paths import Paths, with_root
from dowse.shells.cli.search import ready
from dowse.shells.workspace import Workspace

Only = Literal["", "files", "directories"]


@click.command("find")
@click.argument("pattern")
@click.option("--glob", "manner", flag_value="glob", help="PATTERN is a glob of the name, or with a slash of the path.")
@click.option("--regex", "manner", flag_value="regex", help="PATTERN is a regex that is searched for in the name.")
@click.option("--fuzzy", "manner", flag_value="fuzzy", help="The letters of PATTERN in this order, anywhere in a path.")
@click.option("-i", "--ignore-case", is_flag=True, help="Ignore case.")
@click.option(
    "-e", "--ext", "extensions", multiple=True, metavar="EXT", help="Only files with this extension (repeatable)."
)
@click.option("--dirs", "only", flag_value="directories", help="Only directories.")
@click.option("--files", "only", flag_value="files", help="Only files.")
@click.option("--min-size", type=click.IntRange(min=0), default=0, metavar="BYTES", help="Only files of at least this.")
@click.option("--max-size", type=click.IntRange(min=0), metavar="BYTES", help="Only files of at most this.")
@click.option("--max-depth", type=click.IntRange(min=0), default=0, metavar="N", help="1: directly below the root.")
@click.option("--live", is_flag=True, help="Look at the disk instead of the index: also binary files, and new ones.")
@click.option("--contents", is_flag=True, help="Search PATTERN in the lines of the files on disk, not in names.")
@click.option("--hidden", is_flag=True, help="With --live: include hidden files.")
@click.option("--no-ignore", is_flag=True, help="With --live: include ignored files.")
@click.option("--count", "count_only", is_flag=True, help="Print only how many there are.")
@root_option
@json_option
@settings_options(limit="How many are shown; default: 100.")
def command(
    pattern: str,
    manner: str | None,
    ignore_case: bool,
    extensions: tuple[str, ...],
    only: str | None,
    min_size: int,
    max_size: int | None,
    max_depth: int,
    live: bool,
    contents: bool,
    hidden: bool,
    no_ignore: bool,
    count_only: bool,
    root: Path | None,
    as_json: bool,
    **flags: Any,  # noqa: ANN401
) -> int:
    """Find files and directories by a part of their name; `a,b` asks for either. Exact names come first.

    Names are those of the index; --live and --contents look at the disk, and need no index.
    """
    if (hidden or no_ignore) and not (live or contents):
        raise BadInput("--hidden and --no-ignore belong to --live: the index holds what was indexed")
    if contents and manner not in (None, "regex"):
        raise BadInput("--contents searches a text or a --regex, not a glob and not fuzzily")
    workspace = workspace_of(root, flags)
    asked = NameQuery(
        _patterns(pattern, manner, contents),
        _manner(manner),
        ignore_case,
        tuple(it for text in extensions for it in text.split(",")),
        _only(only),
        min_size,
        max_size,
        max_depth,
        limit=exact_limit(workspace.settings, flags),
    )
    reach = Reach(hidden=hidden, ignored=no_ignore, max_depth=max_depth)
    if contents:
        with on_disk(workspace) as engine:
            here = Paths.of(engine, workspace)
            return _print_contents(engine.find_contents(asked, reach), here, as_json, count_only)
    with on_disk(workspace) if live else ready(workspace) as engine:
        here = Paths.of(engine, workspace)
        return _print_names(engine.find(asked, reach if live else None), here, as_json, count_only)


def on_disk(workspace: Workspace) -> Engine:
    """An engine that knows where the root is, and holds nothing."""
    from dowse.store.dicts import DictStore

    store = DictStore()
    store.add_collection(str(workspace.root if workspace.root.is_dir() else workspace.root.parent))
    return Engine(workspace.settings, workspace.index, create=False, store=store)


def _patterns(pattern: str, manner: str | None, contents: bool) -> tuple[str, ...]:
    return (pattern,) if contents else alternatives(pattern, _manner(manner))


def _manner(given: str | None) -> Manner:
    manners: dict[str | None, Manner] = {None: "part", "glob": "glob", "regex": "regex", "fuzzy": "fuzzy"}
    return manners[given]


def _only(given: str | None) -> Only:
    kinds: dict[str | None, Only] = {None: "", "files": "files", "directories": "directories"}
    return kinds[given]


def _print_names(answer: NameAnswer, here: Paths, as_json: bool, count_only: bool) -> int:
    if as_json:
        data = with_root(names_json(answer), here)
        click.echo(json.dumps({**data, "names": []} if count_only else data, ensure_ascii=False))
    elif count_only:
        click.echo(str(answer.total))
    else:
        for sentence in here.shown(answer.seen).sentences():
            click.echo(f"dowse: {sentence}", err=True)
        for it in here.shown(answer.entries):
            click.echo(f"{it.path}/" if it.is_directory else it.path)
        _say_cut(len(answer.entries), answer.total)
    return 0 if answer.total else 1


def _print_contents(answer: ContentAnswer, here: Paths, as_json: bool, count_only: bool) -> int:
    if as_json:
        data = with_root(contents_json(answer), here)
        click.echo(json.dumps({**data, "files": []} if count_only else data, ensure_ascii=False))
    elif count_only:
        click.echo(str(answer.total_files))
    else:
        for entry, matches in here.shown(answer.files):
            for it in matches:
                click.echo(f"{entry.path}:{it.line}:{it.text}")
        _say_cut(len(answer.files), answer.total_files)
    if answer.cut:
        click.echo(f"dowse: {answer.cut}", err=True)
    return 0 if answer.total_files else 1


def _say_cut(shown: int, total: int) -> None:
    if total > shown:
        click.echo(f"dowse: {total:,} in all; the first {shown:,} are shown, -k shows more", err=True)
