"""Names of encoders that are servers: kind, model and address in one setting, without credentials."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from dowse.errors import BadInput

FORMS = {"ollama": "ollama:MODEL@URL", "tei": "tei:URL", "openai": "openai:MODEL@URL"}
# Only this machine is ever asked without being named: texts are private.
DEFAULT_URLS = {
    "ollama": "http://127.0.0.1:11434",
    "tei": "http://127.0.0.1:8080",
    "openai": "http://127.0.0.1:8080",
}
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


def is_server(name: str) -> bool:
    return name.partition(":")[0] in FORMS


def parse_server(name: str) -> ServerName:
    """The parts of the name; a wrong one is never repeated in the error, because it may hold a password."""
    kind, _, rest = name.partition(":")
    if kind not in FORMS:
        raise BadInput(f"the encoder must be {', '.join(FORMS.values())}")
    model, _, url = ("", "", rest) if kind == "tei" else rest.partition("@")
    if kind != "tei":
        _check_model(kind, model)
    return ServerName(kind, model, _address(kind, url or DEFAULT_URLS[kind]))


def _check_model(kind: str, model: str) -> None:
    if not _MODEL.fullmatch(model) or "://" in model:
        raise _wrong(kind, "MODEL is the name the server knows it by")


def _address(kind: str, url: str) -> str:
    if not _ADDRESS.fullmatch(url):
        raise _wrong(kind, "URL has no spaces and only ASCII characters")
    try:
        parts = urlsplit(url)
        _check_parts(kind, parts)
    except ValueError as error:
        raise _wrong(kind, "URL has a host and perhaps a port") from error
    return url.rstrip("/")


def _check_parts(kind: str, parts: SplitResult) -> None:
    if parts.scheme not in ("http", "https"):
        raise _wrong(kind, "URL begins with http:// or https://")
    if "@" in parts.netloc:
        raise _wrong(kind, "URL must not hold a user or password; the key is a setting of its own")
    if "?" in parts.geturl() or "#" in parts.geturl():
        raise _wrong(kind, "URL ends with its path")
    if not (parts.hostname or "").encode("idna") or parts.port == 0:
        raise ValueError


def _wrong(kind: str, why: str) -> BadInput:
    default = f"without URL it is {DEFAULT_URLS[kind]}"
    return BadInput(f"the encoder must look like {FORMS[kind]}, where {why}; {default}")
