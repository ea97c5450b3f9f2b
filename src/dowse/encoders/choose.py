"""Choose an encoder by its name, or by the address of a server."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from dowse.encoders.base import Encoder
from dowse.encoders.granite import GRANITE_FINGERPRINT, GraniteEncoder, installed_granite_weights
from dowse.encoders.static import STATIC_ENCODER_FINGERPRINT as STATIC_FINGERPRINT
from dowse.encoders.static import HashingEncoder, StaticEncoder
from dowse.errors import BadInput, EncoderMissing

# --------------------------------------------------------------------------------------------------
# Server names: kind, model and address in one setting, without credentials.

_MODEL_NAME = re.compile(r"[!-?A-~]{1,200}")  # printable ASCII except space and @
_SERVER_ADDRESS = re.compile(r"[!-~]{1,500}")


@dataclass(frozen=True, slots=True)
class ServerName:
    """A parsed server name. `model` is empty for a single-model server; `url` has no trailing slash."""

    kind: str
    model: str
    url: str

    def __str__(self) -> str:
        return f"{self.kind}:{self.model}@{self.url}" if self.model else f"{self.kind}:{self.url}"


@dataclass(frozen=True, slots=True)
class ServerSetting:
    """The kinds of servers that a setting accepts: the format of each, and its default address."""

    setting: str
    formats: Mapping[str, str]
    defaults: Mapping[str, str] = field(default_factory=dict)

    def has(self, name: str) -> bool:
        return name.partition(":")[0] in self.formats

    def parse(self, name: str) -> ServerName:
        """Parse a server name. Errors never repeat the value, because it may contain a password."""
        kind, _, rest = name.partition(":")
        if kind not in self.formats:
            raise BadInput(f"the {self.setting} must be {', '.join(self.formats.values())}")
        model, _, url = rest.partition("@") if "MODEL" in self.formats[kind] else ("", "", rest)
        if "MODEL" in self.formats[kind] and (not _MODEL_NAME.fullmatch(model) or "://" in model):
            raise self._format_error(kind, "MODEL is the model name on the server")
        return ServerName(kind, model, self._address(kind, url or self.defaults.get(kind, "")))

    def _address(self, kind: str, url: str) -> str:
        if not _SERVER_ADDRESS.fullmatch(url):
            raise self._format_error(kind, "URL has no spaces and only ASCII characters")
        try:
            parts = urlsplit(url)
            self._check_parts(kind, parts)
        except ValueError as error:
            raise self._format_error(kind, "URL has a host and an optional port") from error
        return url.rstrip("/")

    def _check_parts(self, kind: str, parts: SplitResult) -> None:
        if parts.scheme not in ("http", "https"):
            raise self._format_error(kind, "URL starts with http:// or https://")
        if "@" in parts.netloc:
            raise self._format_error(kind, "URL must not contain a user or password (the key is a separate setting)")
        if "?" in parts.geturl() or "#" in parts.geturl():
            raise self._format_error(kind, "URL has no query or fragment")
        if not (parts.hostname or "").encode("idna") or parts.port == 0:
            raise ValueError

    def _format_error(self, kind: str, why: str) -> BadInput:
        default = f"; the default URL is {self.defaults[kind]}" if kind in self.defaults else ""
        return BadInput(f"the {self.setting} must look like {self.formats[kind]}, where {why}{default}")


ENCODER_SERVERS = ServerSetting(
    "encoder",
    {"ollama": "ollama:MODEL@URL", "tei": "tei:URL", "openai": "openai:MODEL@URL"},
    # Only this machine is a default, because texts are private.
    {"ollama": "http://127.0.0.1:11434", "tei": "http://127.0.0.1:8080", "openai": "http://127.0.0.1:8080"},
)
RERANKER_SERVERS = ServerSetting("reranker", {"tei": "tei:URL", "cohere": "cohere:MODEL@URL"})


AUTO_ENCODER = "auto"
LOCAL_ENCODERS = (AUTO_ENCODER, "granite", "hashing", "static")
ENCODER_ALIASES = {"onnx": "granite", "hash": "hashing"}
# Beyond this wait, a query falls back to lexical search.
QUERY_SERVER_TIMEOUT_S = 10.0


@dataclass(frozen=True, slots=True)
class EncoderChoice:
    """A selected encoder and the reason. If it is `slow`, a large index should start with a faster one."""

    encoder: Encoder
    why: str
    slow: bool = False


def check_encoder_name(name: str) -> None:
    if ENCODER_SERVERS.has(name):
        ENCODER_SERVERS.parse(name)
    elif ENCODER_ALIASES.get(name, name) not in LOCAL_ENCODERS:
        known = ", ".join((*LOCAL_ENCODERS, *ENCODER_SERVERS.formats.values()))
        raise BadInput(f"unknown encoder {name!r}: choose one of {known}, or none")


def choose_encoder(
    name: str, *, cache_dir: Path, api_key: str = "", patient: bool = True, threads: int = 0
) -> EncoderChoice:
    """Return the encoder of that name. `auto` takes the best installed one and says why it is not a better one.

    With `patient=False`, a slow or busy server is not waited for. `threads` applies to transformers (0 = one per core).
    """
    wanted = ENCODER_ALIASES.get(name, name)
    if wanted == "auto":
        return _best_installed_encoder(cache_dir, threads)
    if wanted == "granite":
        return EncoderChoice(_granite_encoder(cache_dir, threads), "chosen in the settings.", slow=True)
    if wanted == "static":
        return EncoderChoice(StaticEncoder(), "chosen in the settings.")
    check_encoder_name(name)
    if wanted != "hashing":
        return _server_encoder(name, api_key, patient)
    return EncoderChoice(HashingEncoder(), "chosen in the settings.")


def is_local_encoder(name: str) -> bool:
    """Return whether the name is that of an encoder on this machine, which needs no explicit consent."""
    return name in LOCAL_ENCODERS


def setting_for_fingerprint(fingerprint: str) -> str:
    """Return the setting that produces these vectors; empty for servers, which only the user may name."""
    if fingerprint in (GRANITE_FINGERPRINT, STATIC_FINGERPRINT):
        return "auto"
    return "hashing" if _hashing_encoder(fingerprint) else ""


def fast_encoder() -> Encoder:
    """Return an encoder fast enough to fill an index before a better one does."""
    return StaticEncoder()


def encoder_short_name(fingerprint: str) -> str:
    """Return a readable name of a fingerprint: the encoder, plus the model if it is a server."""
    kind, _, rest = fingerprint.partition(":")
    return f"{kind}:{rest.rpartition(':')[0]}" if kind in ENCODER_SERVERS.formats else kind


def encoder_by_fingerprint(fingerprint: str, *, cache_dir: Path, threads: int = 0) -> Encoder | None:
    """Return the encoder with this fingerprint, or None if it is not available."""
    hashing = _hashing_encoder(fingerprint)
    if hashing is not None:
        return hashing
    if fingerprint == STATIC_FINGERPRINT:
        return StaticEncoder()
    if fingerprint != GRANITE_FINGERPRINT:
        return None
    try:
        return _granite_encoder(cache_dir, threads)
    except EncoderMissing:
        return None


def _best_installed_encoder(cache_dir: Path, threads: int) -> EncoderChoice:
    try:
        return EncoderChoice(_granite_encoder(cache_dir, threads), "semantic search: on (granite).", slow=True)
    except EncoderMissing as missing:
        return EncoderChoice(StaticEncoder(), f"static compares single words, not sentences; {missing}.")


def _granite_encoder(cache_dir: Path, threads: int) -> GraniteEncoder:
    return GraniteEncoder(installed_granite_weights(), cache_dir=cache_dir, threads=threads or None)


def _server_encoder(name: str, api_key: str, patient: bool) -> EncoderChoice:
    from dowse.encoders.http import HttpEncoder, HttpTransport

    server = ENCODER_SERVERS.parse(name)
    if patient:
        transport = HttpTransport(server.url, api_key=api_key)
    else:
        transport = HttpTransport(server.url, api_key=api_key, answer_s=QUERY_SERVER_TIMEOUT_S, waits_s=())
    encoder = HttpEncoder(server, transport)
    return EncoderChoice(encoder, f"chosen in the settings; text is sent to {server.url}.", slow=True)


def _hashing_encoder(fingerprint: str) -> HashingEncoder | None:
    size = fingerprint.removeprefix("hash-").partition(":")[0]
    if not size.isdecimal() or int(size) < 1:
        return None
    encoder = HashingEncoder(int(size))
    return encoder if encoder.fingerprint == fingerprint else None
