"""What the commands under other products' names have in common: one line for an error, healing, indented JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

from dowse.errors import DowseError, IndexDamaged, IndexUnusable, advised
from dowse.shells.cli.streams import escaping
from dowse.shells.workspace import Workspace


def run(command: Callable[[], None]) -> None:
    """One line on stderr and exit code 2 for whatever the user can mend."""
    with escaping():
        try:
            command()
        except DowseError as error:
            click.echo(str(error), err=True)
            sys.exit(2)


def run_in(find: Callable[[], Workspace], command: Callable[[Workspace], None], mending: str) -> None:
    """Run a command in a workspace and heal what it meets; `mending` is the command that advice shall name."""

    def healing() -> None:
        with advising(mending):
            workspace = find()
            run_healing(lambda: command(workspace), [workspace])

    run(healing)


def run_healing(command: Callable[[], object], workspaces: list[Workspace]) -> None:
    """As the commands of `dowse` do: what could not be answered is asked once more. The command may add workspaces."""
    try:
        command()
    except IndexDamaged:
        if not any(it.engines for it in workspaces):
            raise
        for it in workspaces:
            it.heal()
        command()
        return
    for it in workspaces:
        it.heal_what_was_met()


@contextmanager
def advising(mending: str) -> Iterator[None]:
    """Whatever can not be healed is said with the command that mends this index, not the one of `dowse`."""
    try:
        yield
    except IndexUnusable as error:
        raise type(error)(advised(str(error), mending)) from error


def print_json(data: object) -> None:
    click.echo(json.dumps(data, indent=2, ensure_ascii=False))
