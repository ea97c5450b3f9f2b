"""Front matter: the YAML or TOML mapping at the very start of a document, read without trusting it.

YAML scalars stay the text that was written: `version: 1.10` is not 1.1, `country: no` is not false and
`date: 0000-99-99` is no error. Lists become tuples of texts; deeper structures are left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from dowse.errors import DowseError

if TYPE_CHECKING:
    from yaml.events import Event

Value: TypeAlias = str | tuple[str, ...]

MAX_CHARS: Final = 64 * 1024
# tomllib needs quadratic time for long dotted keys: 22 s for 60 kB of them, a third of a second for 8 kB.
MAX_TOML_CHARS: Final = 8 * 1024
MAX_DEPTH: Final = 20

_YAML = re.compile(r"---[ \t]*\r?\n(.*?)^(?:---|\.\.\.)[ \t]*\r?(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_TOML = re.compile(r"\+\+\+[ \t]*\r?\n(.*?)^\+\+\+[ \t]*\r?(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_COMMENTS = re.compile(r"(?:\s|#[^\n]*)*+")
# A document may also begin with a thematic break: only what opens like a mapping is front matter.
_MAPPING = re.compile(r"[{&]|[^\s:][^:\n]*+:(?:\s|\Z)")
_PARAGRAPHS = re.compile(r"\S\s*\n\r?\n")
_NULLS = frozenset({"", "~", "null", "Null", "NULL"})


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """`end` is where the body begins; `problem` is a sentence when the values could not be read."""

    values: Mapping[str, Value]
    end: int = 0
    problem: str = ""


class _RefusedError(DowseError):
    """What the parser would accept, but we do not."""


def front_matter(text: str) -> FrontMatter:
    """What stands between the opening and closing marks at the start of `text`; never raises."""
    head = text[:MAX_CHARS]
    if (match := _YAML.match(head)) and _opens_mapping(match[1]):
        return _read(match, _yaml)
    if match := _TOML.match(head):
        return _read(match, _toml)
    return FrontMatter({})


def strings(values: Mapping[str, Value], key: str) -> tuple[str, ...]:
    """A list, a comma-separated text or a single text, as a tuple without empty entries."""
    value = values.get(key, ())
    entries = value.split(",") if isinstance(value, str) else value
    return tuple(entry.strip() for entry in entries if entry.strip())


def scalar(values: Mapping[str, Value], key: str) -> str:
    """A single text, or empty when the key is absent or holds a list."""
    value = values.get(key, "")
    return value.strip() if isinstance(value, str) else ""


def _opens_mapping(source: str) -> bool:
    comments = _COMMENTS.match(source)
    start = comments.end() if comments else 0
    return start == len(source) or _MAPPING.match(source, start) is not None


def _read(match: re.Match[str], parse: Callable[[str], object]) -> FrontMatter:
    try:
        tree = parse(match[1])
    except (_RefusedError, ValueError, RecursionError) as error:
        reason = str(error).partition("\n")[0]
        # With paragraphs in it, it is rather text between two rules, which must not get lost.
        end = 0 if _PARAGRAPHS.search(match[1]) else match.end()
        return FrontMatter({}, end, f"front matter ignored: {reason}")
    if not isinstance(tree, dict):
        return FrontMatter({}, 0, "front matter ignored: not a mapping")
    return FrontMatter(_normal(tree), match.end())


def _normal(tree: dict[str, object]) -> dict[str, Value]:
    values = ((key.strip().lower(), _value(node)) for key, node in tree.items())
    return {key: value for key, value in values if value is not None}


def _value(node: object) -> Value | None:
    if isinstance(node, list):
        return tuple(entry for entry in map(_scalar, node) if entry is not None)
    return _scalar(node)


def _scalar(node: object) -> str | None:
    if isinstance(node, (dict, list)):
        return None
    text = str(node).lower() if isinstance(node, bool) else str(node)
    return None if text in _NULLS else text


def _toml(source: str) -> object:
    if len(source) > MAX_TOML_CHARS:
        raise _RefusedError("TOML longer than 8 kB")
    import tomllib

    return tomllib.loads(source)


def _yaml(source: str) -> object:
    """Built from parser events: the library's own constructors recurse, follow aliases and guess types."""
    import yaml

    try:
        events = yaml.parse(source, Loader=yaml.CBaseLoader)
        nodes = (event for event in events if isinstance(event, (yaml.NodeEvent, yaml.CollectionEndEvent)))
        first = next(nodes, None)
        return {} if first is None else _node(first, nodes, 1)
    except yaml.YAMLError as error:
        raise _RefusedError(getattr(error, "problem", None) or str(error)) from error


def _node(event: Event, events: Iterator[Event], depth: int) -> object:
    import yaml

    if getattr(event, "anchor", None):
        raise _RefusedError("anchors and aliases are not read")
    if depth > MAX_DEPTH:
        raise _RefusedError(f"nested more than {MAX_DEPTH} deep")
    if isinstance(event, yaml.ScalarEvent):
        return event.value
    inner = _children(events, depth)
    if isinstance(event, yaml.SequenceStartEvent):
        return list(inner)
    return {key: value for key, value in zip(inner, inner, strict=True) if isinstance(key, str)}


def _children(events: Iterator[Event], depth: int) -> Iterator[object]:
    import yaml

    while not isinstance(event := next(events), yaml.CollectionEndEvent):
        yield _node(event, events, depth + 1)
