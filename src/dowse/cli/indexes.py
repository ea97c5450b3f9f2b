"""The command `indexes`."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from dowse.cli.options import json_option, settings_options
from dowse.config import SETTINGS, Settings, load_settings
from dowse.errors import BadInput, DowseError
from dowse.model import FILES
from dowse.paths import DataPaths
from dowse.server.stored_indexes import (
    StoredIndex,
    delete_stored_index,
    describe_index_user,
    find_stored_index,
    stored_indexes,
)
from dowse.text.times import format_ago, format_iso

INDEXES_ACTIONS = ("list", "delete", "prune", "remove-root")
_UNREADABLE_INDEX = "(unreadable: damaged, or from a newer version)"


@click.command("indexes")
@click.argument("action", type=click.Choice(INDEXES_ACTIONS), default="list")
@click.argument("targets", nargs=-1, metavar="[NAME|PATH]...")
@click.option("--yes", is_flag=True, help="Delete without asking.")
@json_option
@settings_options(data_dir="", index="With remove-root: the index file (default: all in the data directory).")
def indexes_command(action: str, targets: tuple[str, ...], yes: bool, as_json: bool, **flags: Any) -> int:  # noqa: ANN401
    """List the indexes in the data directory with size, age and root, or delete some of them. Also `dowse roots`.

    \b
    list                    list every index (default)
    delete NAME|PATH ...    delete an index, by its name in the list or by its root
    prune                   delete indexes whose roots are all gone
    remove-root PATH ...    remove a root from indexes that cover several roots

    Only indexes are deleted, never the indexed files. An index in use by another process is kept.
    """
    setting_flags = {name: flags.get(name) for name in SETTINGS}
    settings = load_settings(flags=setting_flags, environment=os.environ, folder=None)
    places = DataPaths.of(settings)
    if action in ("list", "prune") and targets:
        raise BadInput(f"`dowse indexes {action}` takes no names; `dowse indexes delete NAME` deletes one")
    if action in ("delete", "remove-root") and not targets:
        raise BadInput(f"nothing to {action.partition('-')[0]}: pass a name or path; `dowse indexes` lists all")
    indexes = stored_indexes(places)
    if action == "list":
        return _print_indexes(indexes, places, as_json)
    if action == "remove-root":
        return _remove_roots(indexes, targets, settings, yes, as_json)
    chosen = (
        [it for it in indexes if it.is_abandoned]
        if action == "prune"
        else list(dict.fromkeys(find_stored_index(indexes, it, Path.cwd()) for it in targets))
    )
    return _delete_indexes(chosen, places, yes, as_json)


def _print_indexes(indexes: Sequence[StoredIndex], places: DataPaths, as_json: bool) -> int:
    if as_json:
        data = [_index_json(stored, places) for stored in indexes]
        click.echo(json.dumps({"indexes": data, "bytes": sum(stored.size for stored in indexes)}, ensure_ascii=False))
        return 0
    width = max((len(stored.name) for stored in indexes), default=0)
    for stored in indexes:
        click.echo(_index_line_text(stored, width, describe_index_user(stored, places)))
    total = sum(stored.size for stored in indexes)
    click.echo(f"{len(indexes):,} index{'' if len(indexes) == 1 else 'es'}, {_megabytes(total)} in {places.indexes}")
    if gone := sum(stored.is_abandoned for stored in indexes):
        click.echo(f"{gone:,} without any existing root; `dowse indexes prune` deletes them")
    return 0


def _index_json(stored: StoredIndex, places: DataPaths) -> dict[str, object]:
    return {
        "name": stored.name,
        "index": str(stored.index),
        "roots": [{"path": str(root), "exists": root not in stored.missing_roots} for root in stored.roots],
        "bytes": stored.size,
        "changed_at": format_iso(stored.changed_at),
        "used_by": describe_index_user(stored, places),
    }


def _index_line_text(stored: StoredIndex, width: int = 0, used: str = "") -> str:
    roots = (
        ", ".join(f"{root}{' (gone)' if root in stored.missing_roots else ''}" for root in stored.roots)
        or _UNREADABLE_INDEX
    )
    age = format_ago(stored.changed_at, time.time())
    return f"{stored.name:<{width}}  {_megabytes(stored.size):>9}  {age:>10}  {roots}{f'  [{used}]' if used else ''}"


def _megabytes(count: int) -> str:
    return f"{count / 1e6:,.1f} MB"


def _delete_indexes(chosen: Sequence[StoredIndex], places: DataPaths, yes: bool, as_json: bool) -> int:
    if chosen:
        _confirm_indexes("Delete", [_index_line_text(stored) for stored in chosen], yes)
    deleted, problems = [], []
    for stored in chosen:
        try:
            delete_stored_index(stored, places)
            deleted.append(stored.name)
        except DowseError as error:
            problems.append(str(error))
    return _print_outcome("deleted", deleted, problems, as_json)


def _remove_roots(
    indexes: Sequence[StoredIndex], targets: Sequence[str], settings: Settings, yes: bool, as_json: bool
) -> int:
    """Remove roots from the index given by --index, or from all in the data directory that cover several roots."""
    from dowse.engine import Engine

    cwd = Path.cwd()
    roots = {Path(os.path.abspath(cwd / Path(it).expanduser())) for it in targets}  # noqa: PTH100 - it may be gone
    files = [(cwd / settings.index).resolve()] if settings.index else [it.index for it in indexes if len(it.roots) > 1]
    done: list[str] = []
    for file in files:
        with Engine(settings, file, create=False) as engine:
            known = [Path(it.root) for it in engine.collections() if it.source == FILES]
            kept_roots = [it for it in known if it not in roots]
            if len(kept_roots) == len(known):
                continue
            if not kept_roots:
                raise BadInput(f"{file} covers no other root; delete it with `dowse indexes delete`")
            _confirm_indexes("Remove", [f"{it} from {file}" for it in known if it in roots], yes)
            done.append(engine.histories.remove_other_roots(*kept_roots))
    if not done:
        raise BadInput(f"no index with several roots covers {', '.join(targets)}; `dowse indexes` lists all")
    return _print_outcome("removed", done, [], as_json)


def _confirm_indexes(verb: str, lines: Sequence[str], yes: bool) -> None:
    if yes:
        return
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise BadInput(f"nothing was done: pass --yes to {verb.lower()} {len(lines):,} without being asked")
    click.echo("\n".join(lines), err=True)
    click.confirm(f"{verb} {len(lines):,}?", abort=True, err=True)


def _print_outcome(word: str, done: Sequence[str], problems: Sequence[str], as_json: bool) -> int:
    if as_json:
        click.echo(json.dumps({word: list(done), "problems": list(problems)}, ensure_ascii=False))
    else:
        messages = [line if word == "removed" else f"deleted {line}" for line in done]
        click.echo("\n".join(messages) or f"nothing was {word}")
    for line in problems:
        click.echo(f"dowse: {line}", err=True)
    return 2 if problems else 0
