"""What a server's reply means: the JSON it holds, or why there is none and whether asking again makes sense."""

from __future__ import annotations

import json
from dataclasses import dataclass
from http import HTTPStatus

_REASON_CHARS = 200
_MAX_WAIT_S = 30.0
# These say something about the server, the key or the model, not about the texts that were sent.
_STEPS: dict[int, str] = {
    HTTPStatus.UNAUTHORIZED: "check its key",
    HTTPStatus.FORBIDDEN: "check its key",
    HTTPStatus.NOT_FOUND: "check the model and the address",
    HTTPStatus.METHOD_NOT_ALLOWED: "check the kind and the address",
    HTTPStatus.TOO_MANY_REQUESTS: "try again later",
    HTTPStatus.SERVICE_UNAVAILABLE: "try again later",
}


class Failure(Exception):
    """One request failed; the reason continues the sentence "the encoder server …".

    `again`: the same request may succeed later. `whole`: no other request would fare better now.
    `after_s`: the server asked to be left alone that long.
    """

    def __init__(self, reason: str, *, again: bool = False, whole: bool = False, after_s: float = 0) -> None:
        super().__init__(reason)
        self.again = again
        self.whole = whole
        self.after_s = after_s


@dataclass(frozen=True, slots=True)
class Reply:
    status: int
    content: bytes
    retry_after: str = ""


def parsed(reply: Reply, *, secret: str = "") -> object:
    """The JSON of a good reply, all its numbers as floats; any other raises Failure."""
    if 200 <= reply.status < 300:
        return _json(reply.content)
    raise _failure(reply, secret)


def _json(content: bytes) -> object:
    try:
        # Whole numbers of any length become floats, so that none is too large to be looked at.
        return json.loads(content, parse_int=float)
    except (ValueError, RecursionError) as error:
        kind = "an HTML page" if content.lstrip()[:1] == b"<" else "something that is not JSON"
        raise Failure(f"answered with {kind}: check the address") from error


def _failure(reply: Reply, secret: str) -> Failure:
    status = reply.status
    if 300 <= status < 400:
        return Failure(f"answered {status}, a redirect, which is not followed: give its final address", whole=True)
    parts = (_message(reply.content, secret), _STEPS.get(status, ""))
    return Failure(
        f"answered {': '.join([str(status), *filter(None, parts)])}",
        again=status == HTTPStatus.TOO_MANY_REQUESTS or status >= 500,
        whole=status in _STEPS,
        after_s=_seconds(reply.retry_after),
    )


def _message(content: bytes, secret: str) -> str:
    """What the server says about its error, on one line and without the key it was sent."""
    try:
        told = json.loads(content)
    except (ValueError, RecursionError):
        return ""
    for name in ("error", "detail", "message"):
        told = told.get(name, told) if isinstance(told, dict) else told
    if not isinstance(told, str):
        return ""
    text = told.replace(secret, "…") if secret else told
    line = "".join(char for char in " ".join(text.split()) if char.isprintable())
    return line[:_REASON_CHARS]


def _seconds(text: str) -> float:
    return min(float(text), _MAX_WAIT_S) if text.isascii() and text.isdecimal() else 0.0
