"""A `dowse mcp` process, asked by the official client, with a synchronous face."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TextIO

from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

ANSWER_S = 60.0


class Refused(Exception):
    """The server answered with an error."""


@dataclass(slots=True)
class Served:
    """A running server; `killed` once somebody has ended it on purpose."""

    name: str
    portal: BlockingPortal
    client: Client
    killed: bool = field(default=False)

    def ask(self, tool: str, **arguments: Any) -> dict[str, Any]:
        call = partial(self.client.call_tool, tool, arguments, read_timeout_seconds=ANSWER_S)
        result = self.portal.call(call)
        if result.is_error or result.structured_content is None:
            raise Refused(f"{self.name}: {tool}: {result.content}"[:500])
        return dict(result.structured_content)


@contextmanager
def served(
    name: str, root: Path, environment: Mapping[str, str], flags: Sequence[str], errors: TextIO
) -> Iterator[Served]:
    program = StdioServerParameters(
        command=sys.executable, args=["-m", "dowse", "mcp", *flags], env=dict(environment), cwd=root
    )
    with ExitStack() as stack:
        portal = stack.enter_context(start_blocking_portal())
        client = Client(stdio_client(program, errlog=errors))
        yield Served(name, portal, stack.enter_context(portal.wrap_async_context_manager(client)))
