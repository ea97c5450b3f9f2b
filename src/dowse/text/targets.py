"""Link targets: which record of a collection the text of a link means, if it means one."""

from __future__ import annotations

import posixpath
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from dowse.model import Record

DOCUMENT_LINKS = ("links_to", "implements", "tests", "related", "transcludes")
"""What documents say about each other; addresses and images lead out of the collection."""

_NOTE_SUFFIXES = (".md", ".markdown")
# A note is linked without its suffix, a folder by its name; the first that fits counts.
_ENDINGS = ("", *_NOTE_SUFFIXES, "/README.md", "/index.md")

_OF_A_KIND = re.compile(r"[a-z]+:(?!/)")  # a link may say what it leads to, as in `note:plan`

_Names = Callable[[Record], Iterable[str]]


@dataclass(frozen=True, slots=True)
class Targets:
    """What may be written for each path of a collection: as a place, and as a name (None: several have it)."""

    places: Mapping[str, str]
    names: Mapping[str, str | None]

    def resolve(self, target: str, source: str) -> str | None:
        """The path that the file `source` means, with or without the kind of what is meant before it.

        None for a ghost: nothing is called that, or several are.
        """
        text = target.partition("#")[0].strip()
        if not text:
            return None
        bare = _OF_A_KIND.sub("", text)
        return self._meant(text, source) or (self._meant(bare, source) if bare not in ("", text) else None)

    def place(self, target: str, source: str) -> str | None:
        """The path that the file `source` means, if the target is one and not just a name."""
        text = target.partition("#")[0].strip()
        return self._by_place(text, source) if text else None

    def _meant(self, text: str, source: str) -> str | None:
        explicit = text.startswith(("./", "../", "/"))
        return self._by_place(text, source) or (None if explicit else self.names.get(text.casefold()))

    def _by_place(self, text: str, source: str) -> str | None:
        """Seen from the linking file's folder first, then from the root."""
        here = "" if text.startswith("/") else posixpath.dirname(source)
        bases = (here,) if text.startswith(("./", "../")) else (here, "")
        for base in bases:
            found = self.places.get(posixpath.normpath(f"{base or '.'}/{text.strip('/')}"))
            if found is not None:
                return found
        return None


def targets(records: Iterable[Record]) -> Targets:
    """What the links of one collection can be resolved to."""
    known = list(records)
    return Targets(_places([it.path for it in known]), _names(known))


def _places(paths: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for ending in _ENDINGS:
        for path in paths:
            if f"/{path}".endswith(ending):
                # What is left of the root's own README is the root, which is written `.`.
                found.setdefault(f"/{path}".removesuffix(ending)[1:] or ".", path)
    return found


def _names(records: Sequence[Record]) -> dict[str, str | None]:
    """The first kind of name that is known decides; a name of several records is not guessed at."""
    found: dict[str, str | None] = {}
    kinds: tuple[_Names, ...] = (_file_name, _note_name, _aliases, _title, _stem)
    for kind in kinds:
        for name, paths in _named(records, kind).items():
            found.setdefault(name, paths[0] if len(paths) == 1 else None)
    return found


def _named(records: Iterable[Record], names: _Names) -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for record in records:
        for name in {name.casefold() for name in names(record)}:
            found[name].append(record.path)
    return found


def _file_name(record: Record) -> Iterable[str]:
    return (posixpath.basename(record.path),)


def _note_name(record: Record) -> Iterable[str]:
    return _stem(record) if record.path.endswith(_NOTE_SUFFIXES) else ()


def _aliases(record: Record) -> Iterable[str]:
    return record.aliases


def _title(record: Record) -> Iterable[str]:
    return (record.title,)


def _stem(record: Record) -> Iterable[str]:
    return (posixpath.splitext(posixpath.basename(record.path))[0],)
