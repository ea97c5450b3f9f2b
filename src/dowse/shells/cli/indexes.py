"""`dowse indexes`"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from dowse.config import SETTINGS, Settings, load_settings
from dowse.errors import BadInput, DowseError
from dowse.model import FILES
from dowse.places import Places
from dowse.shells.cli.options import json_option, settings_options
from dowse.shells.stored_indexes import StoredIndex, delete, named, stored_indexes, user_of
from dowse.text.times import ago, iso

ACTIONS = ("list", "delete", "prune", "remove-root")
_UNREADABLE = "(not readable: damaged, or of a newer version)"


@click.command("indexes")
@click.argument("action", type=click.Choice(ACTIONS), default="list")
@click.argument("targets", nargs=-1, metavar="[NAME|PATH]...")
@click.option("--yes", is_flag=True, help="Do not ask before something is deleted.")
@json_option
@settings_options(data_dir="", index="With remove-root: the index file; default: those of the data directory.")
def command(action: str, targets: tuple[str, ...], yes: bool, as_json: bool, **flags: Any) -> int:  # noqa: ANN401
    """List the indexes of the data directory with size, age and root; delete some of them. Also `dowse roots`.

    \b
    list                    every index; the default
    delete NAME|PATH ...    by the name in the list, or by the root
    prune                   those whose roots are all gone
    remove-root PATH ...    a root out of the indexes that hold others besides

    Only indexes are deleted, never the files they are of. An index that a process serves or writes to stays.
    """
    given = {name: flags.get(name) for name in SETTINGS}
    settings = load_settings(flags=given, environment=os.environ, folder=None)
    places = Places.of(settings)
    if action in ("list", "prune") and targets:
        raise BadInput(f"`dowse indexes {action}` takes no names; `dowse indexes delete NAME` deletes one")
    if action in ("delete", "remove-root") and not targets:
        raise BadInput(f"name what to {action.partition('-')[0]}; `dowse indexes` lists all")
    indexes = stored_indexes(places)
    if action == "list":
        return _print(indexes, places, as_json)
    if action == "remove-root":
        return _remove_roots(indexes, targets, settings, yes, as_json)
    chosen = (
        [it for it in indexes if it.is_abandoned]
        if action == "prune"
        else list(dict.fromkeys(named(indexes, it, Path.cwd()) for it in targets))
    )
    return _delete(chosen, places, yes, as_json)


def _print(indexes: Sequence[StoredIndex], places: Places, as_json: bool) -> int:
    if as_json:
        data = [_as_json(it, places) for it in indexes]
        click.echo(json.dumps({"indexes": data, "bytes": sum(it.size for it in indexes)}, ensure_ascii=False))
        return 0
    width = max((len(it.name) for it in indexes), default=0)
    for it in indexes:
        click.echo(_line(it, width, user_of(it, places)))
    total = sum(it.size for it in indexes)
    click.echo(f"{len(indexes):,} index{'' if len(indexes) == 1 else 'es'}, {_size(total)} in {places.indexes}")
    if gone := sum(it.is_abandoned for it in indexes):
        click.echo(f"the roots of {gone:,} are gone; `dowse indexes prune` deletes these")
    return 0


def _as_json(it: StoredIndex, places: Places) -> dict[str, object]:
    return {
        "name": it.name,
        "index": str(it.index),
        "roots": [{"path": str(root), "exists": root not in it.missing} for root in it.roots],
        "bytes": it.size,
        "changed_at": iso(it.changed_at),
        "used_by": user_of(it, places),
    }


def _line(it: StoredIndex, width: int = 0, used: str = "") -> str:
    roots = ", ".join(f"{root}{' (gone)' if root in it.missing else ''}" for root in it.roots) or _UNREADABLE
    age = ago(it.changed_at, time.time())
    return f"{it.name:<{width}}  {_size(it.size):>9}  {age:>10}  {roots}{f'  [{used}]' if used else ''}"


def _size(count: int) -> str:
    return f"{count / 1e6:,.1f} MB"


def _delete(chosen: Sequence[StoredIndex], places: Places, yes: bool, as_json: bool) -> int:
    if chosen:
        _confirm("Delete", [_line(it) for it in chosen], yes)
    deleted, problems = [], []
    for it in chosen:
        try:
            delete(it, places)
            deleted.append(it.name)
        except DowseError as error:
            problems.append(str(error))
    return _print_done("deleted", deleted, problems, as_json)


def _remove_roots(
    indexes: Sequence[StoredIndex], targets: Sequence[str], settings: Settings, yes: bool, as_json: bool
) -> int:
    """Of a named index, or of those in the data directory that are of several roots."""
    from dowse.engine import Engine

    cwd = Path.cwd()
    roots = {Path(os.path.abspath(cwd / Path(it).expanduser())) for it in targets}  # noqa: PTH100 - it may be gone
    files = [(cwd / settings.index).resolve()] if settings.index else [it.index for it in indexes if len(it.roots) > 1]
    done: list[str] = []
    for file in files:
        with Engine(settings, file, create=False) as engine:
            known = [Path(it.root) for it in engine.collections() if it.source == FILES]
            kept = [it for it in known if it not in roots]
            if len(kept) == len(known):
                continue
            if not kept:
                raise BadInput(f"{file} holds nothing else; `dowse indexes delete` deletes an index")
            _confirm("Remove", [f"{it} from {file}" for it in known if it in roots], yes)
            done.append(engine.remove_other_roots(*kept))
    if not done:
        raise BadInput(f"no index of several roots holds {', '.join(targets)}; `dowse indexes` lists them")
    return _print_done("removed", done, [], as_json)


def _confirm(verb: str, lines: Sequence[str], yes: bool) -> None:
    if yes:
        return
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise BadInput(f"nothing was done: pass --yes to {verb.lower()} {len(lines):,} without being asked")
    click.echo("\n".join(lines), err=True)
    click.confirm(f"{verb} {len(lines):,}?", abort=True, err=True)


def _print_done(word: str, done: Sequence[str], problems: Sequence[str], as_json: bool) -> int:
    if as_json:
        click.echo(json.dumps({word: list(done), "problems": list(problems)}, ensure_ascii=False))
    else:
        told = [it if word == "removed" else f"deleted {it}" for it in done]
        click.echo("\n".join(told) or f"nothing was {word}")
    for it in problems:
        click.echo(f"dowse: {it}", err=True)
    return 2 if problems else 0
