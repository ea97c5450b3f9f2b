"""What a server answers to its client's first requests, as data: `pytest tests/shells/sharing --update` writes it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence

TYPE_CHECKING = False
if TYPE_CHECKING:  # its import takes longer than an answer
    from typing import Any

_FOLDER = os.path.join(os.path.dirname(__file__), "handshakes")  # noqa: PTH118, PTH120 - quick start
SEVERAL_ROOTS = "core-roots"
_META = "io.modelcontextprotocol/"
Message = Mapping[str, object]


class Handshake:
    """Answers `initialize`, `ping` and `tools/list` as the server of a profile would. Whatever is not plainly right is
    left to the server, which says what is wrong with it."""

    def __init__(
        self, profile: str, roots: Sequence[str], environment: Mapping[str, str], *, is_index_named: bool = False
    ) -> None:
        self._file = profile
        self._has_own_tools = profile == "ragdocs" and _is_configured(roots[0] if roots else "", environment)
        if profile == "core" and len(roots) > 1:
            # Whether several roots have one index is for the server to say, where one may be named for them.
            self._file = SEVERAL_ROOTS
            self._has_own_tools = is_index_named or bool(environment.get("DOWSE_INDEX"))
        self._answers: dict[str, Any] = {}
        self._era = ""

    def answer(self, message: Message) -> bytes | None:
        """The line of the answer; None if the server has to answer."""
        number, method, params = message.get("id"), message.get("method"), message.get("params")
        params = {} if params is None else params
        if message.get("jsonrpc") != "2.0" or not _is_id(number) or not isinstance(params, dict):
            return None
        if (result := self._result(method, params)) is None:
            return None
        return _dumped({"jsonrpc": "2.0", "id": number, "result": result})

    def _result(self, method: object, params: Mapping[str, Any]) -> Mapping[str, object] | None:
        if method == "initialize":
            return self._initialized(params)
        if method not in ("ping", "tools/list", "server/discover") or not params.keys() <= {"_meta"}:
            return None
        meta = params.get("_meta", {})
        if not isinstance(meta, dict):
            return None
        if self._era != "handshake":
            return self._enveloped(str(method), meta)
        if not meta.keys() <= {"progressToken"} or not _is_id(meta.get("progressToken", 0)):
            return None
        if method == "tools/list" and not self._has_own_tools:
            return {"tools": self._load()["tools"]}
        return {} if method == "ping" else None

    def _initialized(self, params: Mapping[str, Any]) -> Mapping[str, object] | None:
        if self._era or not params.keys() <= {"protocolVersion", "capabilities", "clientInfo", "_meta"}:
            return None
        version = params.get("protocolVersion")
        if not isinstance(version, str) or not _is_client(params.get("clientInfo"), params.get("capabilities")):
            return None
        self._era = "handshake"
        known = self._load()["versions"]
        return {**self._load()["initialize"], "protocolVersion": version if version in known else known[-1]}

    def _enveloped(self, method: str, meta: Mapping[str, object]) -> Mapping[str, object] | None:
        """Without a handshake: every request says who asks, in which version."""
        answers = self._load()["enveloped"]
        wanted = {f"{_META}{it}" for it in ("protocolVersion", "clientInfo", "clientCapabilities")}
        version = meta.get(f"{_META}protocolVersion")
        if meta.keys() != wanted or version != answers["version"] or method not in answers:
            return None
        if not _is_client(meta[f"{_META}clientInfo"], meta[f"{_META}clientCapabilities"]):
            return None
        if method == "tools/list" and self._has_own_tools:
            return None
        self._era = "enveloped"
        answer: dict[str, object] = answers[method]
        return {**answer, "tools": self._load()["tools"]} if method == "tools/list" else answer

    def _load(self) -> dict[str, Any]:
        if not self._answers:
            with open(os.path.join(_FOLDER, f"{self._file}.json"), encoding="utf-8") as file:  # noqa: PTH118
                self._answers = json.load(file)
        return self._answers


def _dumped(message: Message) -> bytes | None:
    try:
        return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
    except UnicodeEncodeError:  # half a character in the id
        return None


def _is_id(value: object) -> bool:
    return isinstance(value, int | str) and not isinstance(value, bool)


def _is_client(information: object, capabilities: object) -> bool:
    if not isinstance(information, dict) or not isinstance(capabilities, dict):
        return False
    named = all(isinstance(information.get(it), str) for it in ("name", "version"))
    return named and all(isinstance(it, dict) for it in capabilities.values())


def _is_configured(root: str, environment: Mapping[str, str]) -> bool:
    """Whether a settings file may say which tools the ragdocs profile has."""
    from pathlib import Path

    from dowse.shells.ragdocs_places import configuration_places

    try:
        return any(it.is_file() for it in configuration_places(Path.cwd() / root, environment))
    except OSError:
        return True
