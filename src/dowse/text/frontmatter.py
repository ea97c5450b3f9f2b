"""Front matter: the YAML or TOML mapping at the start of a document, parsed defensively.

YAML scalars stay text: `version: 1.10` is not 1.1, `country: no` is not false, and `date: 0000-99-99` is no error.
Lists become tuples of strings; deeper structures are ignored.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from dowse.errors import DowseError

if TYPE_CHECKING:
    from yaml.events import Event

FrontMatterValue: TypeAlias = str | tuple[str, ...]

MAX_FRONT_MATTER_CHARS: Final = 64 * 1024
# tomllib needs quadratic time for long dotted keys: 22 s for 60 kB, a third of a second for 8 kB.
MAX_TOML_CHARS: Final = 8 * 1024
MAX_YAML_DEPTH: Final = 20

_YAML = re.compile(r"---[ \t]*\r?\n(.*?)^(?:---|\.\.\.)[ \t]*\r?(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_TOML = re.compile(r"\+\+\+[ \t]*\r?\n(.*?)^\+\+\+[ \t]*\r?(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_COMMENTS = re.compile(r"(?:\s|#[^\n]*)*+")
# A document may also begin with a thematic break, so only text that opens like a mapping is front matter.
_MAPPING = re.compile(r"[{&]|[^\s:][^:\n]*+:(?:\s|\Z)")
_PARAGRAPHS = re.compile(r"\S\s*\n\r?\n")
_NULL_SCALARS = frozenset({"", "~", "null", "Null", "NULL"})


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """Parsed front matter. `end` is the offset of the body; `problem` explains why values could not be read."""

    values: Mapping[str, FrontMatterValue]
    end: int = 0
    problem: str = ""


class _FrontMatterRejectedError(DowseError):
    """Input that the parser accepts but this module rejects."""


def parse_front_matter(text: str) -> FrontMatter:
    """Parse the front matter at the start of `text`; never raises."""
    head = text[:MAX_FRONT_MATTER_CHARS]
    if (match := _YAML.match(head)) and _opens_mapping(match[1]):
        return _parse_block(match, _parse_yaml)
    if match := _TOML.match(head):
        return _parse_block(match, _parse_toml)
    return FrontMatter({})


def list_value(values: Mapping[str, FrontMatterValue], key: str) -> tuple[str, ...]:
    """Return a list, a comma-separated string or a single string as a tuple without empty entries."""
    value = values.get(key, ())
    entries = value.split(",") if isinstance(value, str) else value
    return tuple(entry.strip() for entry in entries if entry.strip())


def text_value(values: Mapping[str, FrontMatterValue], key: str) -> str:
    """Return a string value; empty if the key is absent or holds a list."""
    value = values.get(key, "")
    return value.strip() if isinstance(value, str) else ""


def _opens_mapping(source: str) -> bool:
    comments = _COMMENTS.match(source)
    start = comments.end() if comments else 0
    return start == len(source) or _MAPPING.match(source, start) is not None


def _parse_block(match: re.Match[str], parse: Callable[[str], object]) -> FrontMatter:
    try:
        tree = parse(match[1])
    except (_FrontMatterRejectedError, ValueError, RecursionError) as error:
        reason = str(error).partition("\n")[0]
        # A block with paragraphs is rather text between two rules, which must not be lost.
        end = 0 if _PARAGRAPHS.search(match[1]) else match.end()
        return FrontMatter({}, end, f"front matter ignored: {reason}")
    if not isinstance(tree, dict):
        return FrontMatter({}, 0, "front matter ignored: not a mapping")
    return FrontMatter(_normalize_values(tree), match.end())


def _normalize_values(tree: dict[str, object]) -> dict[str, FrontMatterValue]:
    values = ((key.strip().lower(), _front_matter_value(node)) for key, node in tree.items())
    return {key: value for key, value in values if value is not None}


def _front_matter_value(node: object) -> FrontMatterValue | None:
    if isinstance(node, list):
        return tuple(entry for entry in map(_front_matter_scalar, node) if entry is not None)
    return _front_matter_scalar(node)


def _front_matter_scalar(node: object) -> str | None:
    if isinstance(node, (dict, list)):
        return None
    text = str(node).lower() if isinstance(node, bool) else str(node)
    return None if text in _NULL_SCALARS else text


def _parse_toml(source: str) -> object:
    if len(source) > MAX_TOML_CHARS:
        raise _FrontMatterRejectedError("TOML longer than 8 kB")
    import tomllib

    return tomllib.loads(source)


def _parse_yaml(source: str) -> object:
    """Build values from parser events: the library's constructors recurse, follow aliases and guess types."""
    import yaml

    try:
        events = yaml.parse(source, Loader=yaml.CBaseLoader)
        nodes = (event for event in events if isinstance(event, (yaml.NodeEvent, yaml.CollectionEndEvent)))
        first = next(nodes, None)
        return {} if first is None else _yaml_node(first, nodes, 1)
    except yaml.YAMLError as error:
        raise _FrontMatterRejectedError(getattr(error, "problem", None) or str(error)) from error


def _yaml_node(event: Event, events: Iterator[Event], depth: int) -> object:
    import yaml

    if getattr(event, "anchor", None):
        raise _FrontMatterRejectedError("anchors and aliases are not supported")
    if depth > MAX_YAML_DEPTH:
        raise _FrontMatterRejectedError(f"nested more than {MAX_YAML_DEPTH} levels deep")
    if isinstance(event, yaml.ScalarEvent):
        return event.value
    inner = _yaml_children(events, depth)
    if isinstance(event, yaml.SequenceStartEvent):
        return list(inner)
    return {key: value for key, value in zip(inner, inner, strict=True) if isinstance(key, str)}


def _yaml_children(events: Iterator[Event], depth: int) -> Iterator[object]:
    import yaml

    while not isinstance(event := next(events), yaml.CollectionEndEvent):
        yield _yaml_node(event, events, depth + 1)
