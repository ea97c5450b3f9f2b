"""What the commands under other products' names have in common: one line for an error, indented JSON for an answer."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable

import click

from dowse.errors import DowseError
from dowse.shells.cli.streams import escaping


def run(command: Callable[[], None]) -> None:
    """One line on stderr and exit code 2 for whatever the user can mend."""
    with escaping():
        try:
            command()
        except DowseError as error:
            click.echo(str(error), err=True)
            sys.exit(2)


def print_json(data: object) -> None:
    click.echo(json.dumps(data, indent=2, ensure_ascii=False))
