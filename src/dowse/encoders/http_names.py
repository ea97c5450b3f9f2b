"""Names of servers: kind, model and address in one setting, without credentials."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import SplitResult, urlsplit

from dowse.errors import BadInput

_MODEL = re.compile(r"[!-?A-~]{1,200}")  # printable ASCII but space and @
_ADDRESS = re.compile(r"[!-~]{1,500}")


@dataclass(frozen=True, slots=True)
class ServerName:
    """`model` is empty for a server that has only one; `url` ends without a slash."""

    kind: str
    model: str
    url: str

    def __str__(self) -> str:
        return f"{self.kind}:{self.model}@{self.url}" if self.model else f"{self.kind}:{self.url}"


@dataclass(frozen=True, slots=True)
class Servers:
    """What a setting may name: the form of each kind, and the address it has where none is given."""

    setting: str
    forms: Mapping[str, str]
    defaults: Mapping[str, str] = field(default_factory=dict)

    def has(self, name: str) -> bool:
        return name.partition(":")[0] in self.forms

    def parse(self, name: str) -> ServerName:
        """The parts of the name; a wrong one is never repeated in the error, because it may hold a password."""
        kind, _, rest = name.partition(":")
        if kind not in self.forms:
            raise BadInput(f"the {self.setting} must be {', '.join(self.forms.values())}")
        model, _, url = rest.partition("@") if "MODEL" in self.forms[kind] else ("", "", rest)
        if "MODEL" in self.forms[kind] and (not _MODEL.fullmatch(model) or "://" in model):
            raise self._wrong(kind, "MODEL is the name the server knows it by")
        return ServerName(kind, model, self._address(kind, url or self.defaults.get(kind, "")))

    def _address(self, kind: str, url: str) -> str:
        if not _ADDRESS.fullmatch(url):
            raise self._wrong(kind, "URL has no spaces and only ASCII characters")
        try:
            parts = urlsplit(url)
            self._check_parts(kind, parts)
        except ValueError as error:
            raise self._wrong(kind, "URL has a host and perhaps a port") from error
        return url.rstrip("/")

    def _check_parts(self, kind: str, parts: SplitResult) -> None:
        if parts.scheme not in ("http", "https"):
            raise self._wrong(kind, "URL begins with http:// or https://")
        if "@" in parts.netloc:
            raise self._wrong(kind, "URL must not hold a user or password; the key is a setting of its own")
        if "?" in parts.geturl() or "#" in parts.geturl():
            raise self._wrong(kind, "URL ends with its path")
        if not (parts.hostname or "").encode("idna") or parts.port == 0:
            raise ValueError

    def _wrong(self, kind: str, why: str) -> BadInput:
        default = f"; without URL it is {self.defaults[kind]}" if kind in self.defaults else ""
        return BadInput(f"the {self.setting} must look like {self.forms[kind]}, where {why}{default}")


ENCODERS = Servers(
    "encoder",
    {"ollama": "ollama:MODEL@URL", "tei": "tei:URL", "openai": "openai:MODEL@URL"},
    # Only this machine is ever asked without being named: texts are private.
    {"ollama": "http://127.0.0.1:11434", "tei": "http://127.0.0.1:8080", "openai": "http://127.0.0.1:8080"},
)
RERANKERS = Servers("reranker", {"tei": "tei:URL", "cohere": "cohere:MODEL@URL"})
