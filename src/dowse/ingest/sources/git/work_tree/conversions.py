"""What a checkout makes of a file besides writing it down: told by git of names, for which it runs nothing."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from dowse.ingest.sources.git.asking import attempt_in

_FILTERING: Final = ("filter", "ident", "working-tree-encoding")
_OF_LINE_ENDS: Final = ("text", "crlf", "eol")
_NOT_SAID: Final = frozenset({"unspecified", "unset"})
_NO: Final = frozenset({"", "false", "no", "off", "0"})


class Conversion(NamedTuple):
    """Whether a checkout changes line ends, and whether it may change anything at all."""

    of_line_ends: bool = False
    of_content: bool = False


PLAIN: Final = Conversion()


def conversions(top: str, directory: str, paths: Iterable[str]) -> dict[str, Conversion]:
    """By path below the directory; none where git can not tell.

    By the attributes that are staged: those of the work tree are files that may be anything, such as a pipe.
    """
    given = b"".join(os.fsencode(path) + b"\0" for path in paths)
    asked = ("check-attr", "--cached", "-z", "--stdin", *_FILTERING, *_OF_LINE_ENDS)
    told = attempt_in(top, directory, *asked, given=given) if given else b""
    if not told or isinstance(told, str):
        return {}
    said: dict[str, dict[str, str]] = {}
    fields = iter(told.split(b"\0"))
    for path, attribute, value in zip(fields, fields, fields, strict=False):
        said.setdefault(os.fsdecode(path), {})[attribute.decode()] = value.decode(errors="replace")
    by_itself = _converts_by_itself(top)
    return {path: _conversion(attributes, by_itself) for path, attributes in said.items()}


def _converts_by_itself(top: str) -> bool:
    told = attempt_in(top, top, "config", "--get", "core.autocrlf")
    return not isinstance(told, str) and told.decode(errors="replace").strip().lower() not in _NO


def _conversion(attributes: Mapping[str, str], by_itself: bool) -> Conversion:
    text, old, ends = (attributes[name] for name in _OF_LINE_ENDS)
    kind = old if text == "unspecified" else text
    if kind == ends == "unspecified":
        kind = "set" if by_itself else "unset"
    of_content = any(attributes[name] not in _NOT_SAID for name in _FILTERING)
    return Conversion(kind != "unset", of_content)
