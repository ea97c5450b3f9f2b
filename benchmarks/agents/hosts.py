"""The agent programs: how each is installed, told of the server and the model, and asked one question."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from agents.scripted_model import MODEL

Command = Sequence[str]


@dataclass(frozen=True, slots=True)
class Host:
    """`configure` writes the host's own settings files below its home directory."""

    name: str
    package: str
    binary: str
    configure: Callable[[Path, Command, Mapping[str, str], str], None]
    arguments: Callable[[str, str], Command]
    variables: Callable[[str], Mapping[str, str]]
    asks: bool = True  # False: the host only lists its servers, and says which are connected


def install(hosts: Sequence[Host], folder: Path) -> None:
    """Install what is missing from npm, once."""
    missing = [host.package for host in hosts if not (folder / "node_modules" / ".bin" / host.binary).exists()]
    if missing:
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run(["npm", "install", "--no-audit", "--no-fund", *missing], cwd=folder, check=True)


def environment(host: Host, home: Path, base: str) -> dict[str, str]:
    """A home directory of its own; nothing of the user's settings is seen."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "TERM") if name in os.environ}
    folders = {f"XDG_{name}_HOME": str(home / f".{name.lower()}") for name in ("CONFIG", "DATA", "CACHE", "STATE")}
    return kept | {"HOME": str(home)} | folders | dict(host.variables(base))


def _server(command: Command, variables: Mapping[str, str]) -> dict[str, object]:
    return {"command": command[0], "args": list(command[1:]), "env": dict(variables)}


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _configure_claude(home: Path, command: Command, variables: Mapping[str, str], base: str) -> None:
    table = {"mcpServers": {"dowse": {"type": "stdio", **_server(command, variables)}}, "hasCompletedOnboarding": True}
    _write(home / ".claude.json", json.dumps(table))


def _configure_codex(home: Path, command: Command, variables: Mapping[str, str], base: str) -> None:
    table = ", ".join(f"{name} = {json.dumps(value)}" for name, value in variables.items())
    lines = [
        f'model = "{MODEL}"',
        'model_provider = "loopback"',
        "[model_providers.loopback]",
        f'name = "loopback"\nbase_url = "{base}/v1"\nenv_key = "LOOPBACK_KEY"\nwire_api = "responses"',
        "[mcp_servers.dowse]",
        f"command = {json.dumps(command[0])}\nargs = {json.dumps(list(command[1:]))}\nenv = {{ {table} }}",
    ]
    _write(home / ".codex" / "config.toml", "\n".join(lines))


def _configure_opencode(home: Path, command: Command, variables: Mapping[str, str], base: str) -> None:
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": f"{base}/v1", "apiKey": "none"},
        "models": {MODEL: {}},
    }
    server = {"type": "local", "command": list(command), "environment": dict(variables), "enabled": True}
    table = {"provider": {"loopback": provider}, "mcp": {"dowse": server}, "autoupdate": False, "share": "disabled"}
    _write(home / ".config" / "opencode" / "opencode.json", json.dumps(table))


def _configure_gemini(home: Path, command: Command, variables: Mapping[str, str], base: str) -> None:
    server = {**_server(command, variables), "trust": True}
    table = {"mcpServers": {"dowse": server}, "security": {"folderTrust": {"enabled": False}}}
    _write(home / ".gemini" / "settings.json", json.dumps(table))


HOSTS = (
    Host(
        "Claude Code",
        "@anthropic-ai/claude-code",
        "claude",
        _configure_claude,
        lambda binary, question: [
            binary,
            "-p",
            question,
            "--model",
            MODEL,
            "--allowedTools",
            "mcp__dowse__search",
        ],
        lambda base: {
            "ANTHROPIC_BASE_URL": base,
            "ANTHROPIC_API_KEY": "none",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        },
    ),
    Host(
        "Codex",
        "@openai/codex",
        "codex",
        _configure_codex,
        lambda binary, question: [binary, "exec", "--skip-git-repo-check", "--sandbox", "read-only", question],
        lambda base: {"LOOPBACK_KEY": "none"},
    ),
    Host(
        "OpenCode",
        "opencode-ai",
        "opencode",
        _configure_opencode,
        lambda binary, question: [binary, "run", "-m", f"loopback/{MODEL}", question],
        lambda base: {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1"},
    ),
    Host(
        "Gemini CLI, `mcp list`",
        "@google/gemini-cli",
        "gemini",
        _configure_gemini,
        lambda binary, question: [binary, "mcp", "list"],
        lambda base: {"GEMINI_API_KEY": "none", "GEMINI_CLI_TRUST_WORKSPACE": "true"},
        asks=False,
    ),
)
