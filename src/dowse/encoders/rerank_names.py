"""Names of rerankers that are servers: kind, model and address in one setting, without credentials."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from dowse.errors import BadInput

FORMS = {"tei": "tei:URL", "cohere": "cohere:MODEL@URL"}
_MODEL = re.compile(r"[!-?A-~]{1,200}")  # printable ASCII but space and @
_ADDRESS = re.compile(r"[!-~]{1,500}")


@dataclass(frozen=True, slots=True)
class RerankServer:
    """`model` is empty for a server that has only one; `url` ends without a slash."""

    kind: str
    model: str
    url: str

    def __str__(self) -> str:
        return f"{self.kind}:{self.model}@{self.url}" if self.model else f"{self.kind}:{self.url}"


def is_server(name: str) -> bool:
    return name.partition(":")[0] in FORMS


def parse_server(name: str) -> RerankServer:
    """The parts of the name; a wrong one is never repeated in the error, because it may hold a password."""
    kind, _, rest = name.partition(":")
    model, _, url = rest.partition("@") if kind == "cohere" else ("", "", rest)
    if kind == "cohere" and (not _MODEL.fullmatch(model) or "://" in model):
        raise _wrong(kind, "MODEL is the name the server knows it by")
    return RerankServer(kind, model, _address(kind, url))


def _address(kind: str, url: str) -> str:
    try:
        parts = urlsplit(url if _ADDRESS.fullmatch(url) else "")
        host_and_port = bool(parts.hostname) and parts.port != 0
    except ValueError as error:
        raise _wrong(kind, "URL has a host and perhaps a port") from error
    if parts.scheme not in ("http", "https") or not host_and_port:
        raise _wrong(kind, "URL begins with http:// or https:// and a host")
    if "@" in parts.netloc:
        raise _wrong(kind, "URL must not hold a user or password; the key is a setting of its own")
    if "?" in url or "#" in url:
        raise _wrong(kind, "URL ends with its path")
    return url.rstrip("/")


def _wrong(kind: str, why: str) -> BadInput:
    return BadInput(f"the reranker must look like {FORMS[kind]}, where {why}")
