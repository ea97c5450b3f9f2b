"""What a target means: a path with a line, a path, a path with a name, or a name."""

from __future__ import annotations

import posixpath
import re
from dataclasses import replace

from dowse.errors import BadInput
from dowse.lookup.calls.kinds import FUNCTIONS, VALUES
from dowse.lookup.places import records_at
from dowse.lookup.symbols.question import Definition, Wanted
from dowse.lookup.why.inherited import inherited
from dowse.lookup.why.question import MAX_TARGET_CHARS, Subject
from dowse.model import COMMITS, Record, Scope, normal_path
from dowse.store.base import Store
from dowse.store.chains import chains_of
from dowse.text.chains import Chains
from dowse.text.surrogates import valid

_PLACE = re.compile(r"(?P<path>.+?):(?P<line>\d{1,12})(?:[:-]\d{0,12})?", re.DOTALL)
_BETWEEN_NAMES = re.compile(r"\.|::|#|->|/|\s>\s")
_MOST_DEFINITIONS = 200


def checked(target: str) -> str:
    """The target as something that can be looked up."""
    text = valid(target.strip())
    if not text:
        raise BadInput("the target is empty; name a place such as src/app.py:12, a file, or a symbol such as Repo.save")
    if len(text) > MAX_TARGET_CHARS:
        raise BadInput(f"a target has at most {MAX_TARGET_CHARS:,} characters, not {len(text):,}; name one place")
    return text


def subjects(store: Store, target: str, collection: str | None = None) -> list[Subject]:
    """Everything the target may mean, of the first reading that means anything; several need a choice."""
    if found := _files(store, target, collection):
        return [Subject(it.path, it) for it in found]
    place = _PLACE.fullmatch(target)
    if place and (found := _files(store, place["path"], collection)):
        return [at_line(store, it, int(place["line"])) for it in found]
    path, mark, name = target.partition("#")
    if mark and name.strip() and (found := _files(store, path, collection)):
        return [subject for it in found for subject in _within(store, it, name.strip())]
    return _chosen(_named(store, target, collection), target)


def _chosen(found: list[Definition], name: str) -> list[Subject]:
    """The one whose full name it is, if it is of one only: others have it inside of something."""
    whole = [it for it in found if qualified(it) == name.removesuffix("()")]
    if len(whole) != 1 or len(found) == 1:
        return [subject_of(it) for it in found]
    others = [f"{qualified(it)} ({it.record.path}:{it.symbol.start_line})" for it in found if it not in whole]
    return [replace(subject_of(whole[0]), also=tuple(others))]


def subject_of(definition: Definition, line: int = 0) -> Subject:
    return Subject(qualified(definition), definition.record, definition, line)


def qualified(definition: Definition) -> str:
    return ".".join((*definition.trail, definition.symbol.name))


def definitions_in(store: Store, record: Record) -> list[Definition]:
    """Everything that has a name in the record, headings too."""
    chains = chains_of(store, record)
    return [definition(record, chains, it) for it in range(len(chains.symbols))]


def definition(record: Record, chains: Chains, place: int) -> Definition:
    return Definition(record, place, chains.symbols[place], chains.all[place][:-1])


# --- paths ---


def _files(store: Store, path: str, collection: str | None) -> list[Record]:
    """The records with this path; if there are none, those whose paths end with it."""
    if found := records_at(store, path, collection):
        return found
    ending = posixpath.normpath(normal_path(path))
    histories = {it.name for it in store.collections() if it.source == COMMITS}
    alike = [it for it in store.files_named(posixpath.basename(ending)) if it.path.endswith(f"/{ending}")]
    mine = [it for it in alike if collection in (None, it.collection) and it.collection not in histories]
    return [record for it in mine for record in store.records(it.path, it.collection)]


def at_line(store: Store, record: Record, line: int) -> Subject:
    if line < 1:
        raise BadInput(f"lines are counted from 1; {record.path} has no line {line}")
    lines = store.text(record).removesuffix("\n").count("\n") + 1
    if line > lines:
        raise BadInput(f"{record.path} has {lines:,} lines; line {line:,} is beyond its end")
    around = [it for it in definitions_in(store, record) if it.symbol.start_line <= line <= it.symbol.end_line]
    # A line that sets a field is asked about as part of the function it stands in.
    inner = [it for it in around if it.symbol.kind in FUNCTIONS] or around
    if not inner:
        return Subject(f"{record.path}:{line}", record, None, line)
    return subject_of(max(inner, key=lambda it: (it.symbol.start_line, -it.symbol.end_line)), line)


# --- names ---


def _within(store: Store, record: Record, name: str) -> list[Subject]:
    """What the record defines under this name, whole or but its last parts."""
    known, wanted = definitions_in(store, record), _parts(name)
    found = [it for it in known if qualified(it) == name] or [it for it in known if _ends(it, wanted)]
    return [subject_of(it) for it in _preferred(found)]


def _named(store: Store, name: str, collection: str | None) -> list[Definition]:
    wanted = _parts(name)
    if not wanted:
        return []
    scope = Scope(collections=(collection,) if collection else ())
    asked = Wanted(names=wanted[-1:], matching="exact", scope=scope, limit=_MOST_DEFINITIONS)
    found = [it for it in store.definitions(asked).definitions if _ends(it, wanted)]
    if not found and len(wanted) > 1:
        found = inherited(store, wanted[-2], wanted[-1], scope)
    return _preferred([it for it in found if it.symbol.name == _last(name)] or found)


def _parts(name: str) -> tuple[str, ...]:
    return tuple(part.strip().lower() for part in _BETWEEN_NAMES.split(name.removesuffix("()")) if part.strip())


def _last(name: str) -> str:
    return _BETWEEN_NAMES.split(name.removesuffix("()"))[-1].strip()


def _ends(definition: Definition, wanted: tuple[str, ...]) -> bool:
    """Whether its full name, its file's before it, ends with these parts."""
    module = definition.record.path.rpartition(".")[0].split("/")
    full = [it.lower() for it in (*module, *_parts(qualified(definition)))]
    return tuple(full[-len(wanted) :]) == wanted


def _preferred(found: list[Definition]) -> list[Definition]:
    """Functions and types before values; a class for the constructors in it; what is defined twice in a file once."""
    better = [it for it in found if it.symbol.kind not in VALUES] or found
    places = {(it.record.collection, it.record.path, qualified(it)): it for it in reversed(better)}
    inside = {key for key, it in places.items() if (*key[:2], ".".join(it.trail)) in places}
    return sorted((it for key, it in places.items() if key not in inside), key=_place)


def _place(it: Definition) -> tuple[str, str, int]:
    return it.record.collection, it.record.path, it.symbol.start_line
