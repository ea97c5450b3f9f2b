"""The real server in a process of its own, asked by the official client, with a synchronous face."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp_types import CallToolResult, TextContent, Tool

from dowse.live.job_log import JobLog

SCRIPTS = Path(sys.executable).parent
JOB_DEADLINE_S = 120.0

JOB_KEYS = {"job_id", "status", "elapsed_seconds", "result", "error", "retries"}
REINDEX_KEYS = {
    "indexed_files", "skipped_files", "deleted_files", "embedding_model", "embedding_backend",
    "git_fingerprint", "prune_missing",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Served:
    """A running server: where it works, and its tools."""

    folder: Path
    errors: Path
    portal: BlockingPortal
    client: Client

    def call(self, tool: str, /, **arguments: Any) -> CallToolResult:
        return self.portal.call(partial(self.client.call_tool, tool, arguments, read_timeout_seconds=60))

    def ask(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        """The answer, which must be none of an error, and the same for programs and for readers."""
        result = self.call(tool, **arguments)
        assert not result.is_error, text_of(result)
        assert result.structured_content is not None
        assert json.loads(text_of(result)) == result.structured_content
        return result.structured_content

    def refusal(self, tool: str, /, **arguments: Any) -> str:
        """The error, which must be one line without anything of the source in it."""
        result = self.call(tool, **arguments)
        text = text_of(result)
        assert result.is_error, text
        return checked_refusal(text)

    def search(self, query: str, **arguments: Any) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self.ask("search_rifflux", query=query, **arguments)["results"]
        return rows

    def tools(self) -> dict[str, Tool]:
        listed = self.portal.call(self.client.list_tools)
        return {tool.name: tool for tool in listed.tools}

    def job(self, job_id: str) -> dict[str, Any]:
        """The job, once it has come to its end."""
        deadline = time.monotonic() + JOB_DEADLINE_S
        while time.monotonic() < deadline:
            jobs = {it["job_id"]: it for it in self.ask("index_status")["background_jobs"]}
            found: dict[str, Any] = jobs[job_id]
            if found["status"] in ("completed", "failed"):
                return found
            time.sleep(0.02)
        raise AssertionError(f"job {job_id} did not end")


Serve = Callable[..., Served]


@contextmanager
def serving(folder: Path, script: str = "rifflux-mcp", *arguments: str, **variables: str) -> Iterator[Served]:
    """A server that works in this folder; its data and its stderr lie beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    errors = folder.with_name(folder.name + "-stderr.txt")
    program = StdioServerParameters(
        command=str(SCRIPTS / script), args=list(arguments), env=variables_for(folder, script, variables), cwd=folder
    )
    with ExitStack() as stack:
        log = stack.enter_context(open(errors, "w", encoding="utf-8"))
        portal = stack.enter_context(start_blocking_portal())
        client = Client(stdio_client(program, errlog=log))
        yield Served(folder, errors, portal, stack.enter_context(portal.wrap_async_context_manager(client)))


def variables_for(folder: Path, script: str, variables: Mapping[str, str]) -> dict[str, str]:
    """Rifflux, unlike the others, brings in nothing before an answer."""
    return {
        "DOWSE_DATA_DIR": str(folder.parent / f"{folder.name}-data"),
        "DOWSE_FRESHNESS_TIMEOUT_MS": "0" if script.startswith("rifflux") else "30000",
        "DOWSE_SHARE": "false",
        "RIFFLUX_EMBEDDING_BACKEND": "hash",
        **variables,
    }


def run_script(name: str, *arguments: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(SCRIPTS / name), *arguments],
        cwd=folder,
        env={**os.environ, **variables_for(folder, name, variables)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def is_indexing(index: Path) -> bool:
    """Whether a server of this index has begun to compare its files; it does so soon after it was started."""
    jobs = JobLog(index).recent_jobs(10)
    return any(it.kind in ("index", "reconcile") and it.state in ("running", "retry_wait") for it in jobs)


def text_of(result: CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


def checked_refusal(text: str) -> str:
    assert "\n" not in text
    assert "Traceback" not in text
    assert "failed unexpectedly" not in text
    assert str(Path(__file__).parents[2] / "src") not in text
    return text
