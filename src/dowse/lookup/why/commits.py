"""The commits that shaped something: who wrote its lines, changed it, brought or moved its file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from dowse.lookup.history.following import Life, life_of
from dowse.lookup.history.question import COMMIT, RENAMES, TOUCHES
from dowse.lookup.history.traces import StoredTraces
from dowse.lookup.why.found import Found
from dowse.lookup.why.question import Ground, Neighbour, Span, Subject
from dowse.lookup.why.shortened import shortened
from dowse.lookup.why.spellings import names_of, spellings
from dowse.model import COMMITS, Link, Record
from dowse.store.base import Store

CHANGES = "changes"
OF_COMMITS = (TOUCHES, RENAMES, CHANGES)

_TOUCHED = {
    "A": "added the file",
    "D": "removed the file",
    "R": "moved the file",
    "C": "made it from a copy",
    "T": "changed what sort of file it is",
}
_NO_HISTORY = "no git history is indexed; `dowse index` does, where there is any"
_MOST_HUNKS = 2
_MOST_SPANS = 4


@dataclass(slots=True)
class _Shaped:
    """What one commit has done to the subject, while it is put together."""

    record: Record
    wrote: Sequence[Span] = ()
    changed: list[Link] = field(default_factory=list)
    touched: Link | None = None
    moved_from: str = ""


def commits(ground: Ground, subject: Subject) -> Found:
    """What matters most first: who wrote the line that was asked about, the newest, the oldest, then back in time."""
    if not any(it.source == COMMITS for it in ground.store.collections()):
        return Found(notes=(_NO_HISTORY,))
    if subject.record is None:
        return Found(_in_order(_naming(ground.store, subject), subject))
    home = ground.history_of(subject.record)
    if home is None and subject.record.kind == COMMIT:
        return Found()  # it is one itself
    if home is None:
        return Found(notes=(f"{subject.record.path} is in no git history that is indexed",))
    history, path = home
    life = life_of(StoredTraces(ground.store, history.name), path)
    own = _Own(ground.store, history.name, life)
    shaped = own.touched()
    own.add_changes(shaped, names_of(ground.store, subject))
    notes = _add_writers(ground, shaped, subject, history.name)
    return Found(_in_order(_telling(shaped.values(), subject), subject), notes)


def _naming(store: Store, subject: Subject) -> Iterable[_Shaped]:
    """Those that touched a file of this path, or changed what was called so."""
    found: dict[str, _Shaped] = {}
    for record, link in store.linking(spellings(store, subject), OF_COMMITS):
        it = found.setdefault(record.path, _Shaped(record))
        if link.kind == CHANGES:
            it.changed.append(link)
        else:
            it.touched = link
    return found.values()


@dataclass(frozen=True, slots=True)
class _Own:
    """The commits of one file's life, under all its names."""

    store: Store
    history: str
    life: Life

    def touched(self) -> dict[str, _Shaped]:
        found: dict[str, _Shaped] = {}
        for record, link in self._links(self.life.names, TOUCHES):
            it = found.setdefault(record.path, _Shaped(record))
            it.touched = link
            if link.context.startswith("R"):
                it.moved_from = self._name_before(record, link.target)
        return found

    def add_changes(self, shaped: dict[str, _Shaped], names: Sequence[str]) -> None:
        targets = [f"{path}#{name}" for path in self.life.names for name in names]
        for record, link in self._links(targets, CHANGES):
            shaped.setdefault(record.path, _Shaped(record)).changed.append(link)

    def _links(self, targets: Sequence[str], kind: str) -> Iterator[tuple[Record, Link]]:
        for record, link in self.store.linking(targets, (kind,)):
            is_own = self.life.commits is None or record.path in self.life.commits
            if record.collection == self.history and is_own:
                yield record, link

    def _name_before(self, record: Record, name: str) -> str:
        links = self.store.links(record)
        return next((it.target for it in links if it.kind == RENAMES and it.context == name), "")


def _add_writers(ground: Ground, shaped: dict[str, _Shaped], subject: Subject, history: str) -> tuple[str, ...]:
    if subject.record is None or not subject.first_line:
        return ()
    written = ground.written(subject.record, Span(subject.first_line, subject.last_line))
    unknown = 0
    for commit, spans in written.by.items():
        records = [shaped[commit].record] if commit in shaped else ground.store.records(commit, history)
        unknown += not records
        for record in records:
            shaped.setdefault(commit, _Shaped(record)).wrote = spans
    missing = f"not indexed yet: {unknown:,} of the commits that wrote its lines" if unknown else ""
    return tuple(filter(None, (written.problem, missing)))


def _telling(shaped: Iterable[_Shaped], subject: Subject) -> list[_Shaped]:
    """Of a part of a file, what else happened to the file counts only where it came or moved; or nothing is known."""
    every = list(shaped)
    if not subject.first_line:
        return every
    own = [it for it in every if it.wrote or it.changed]
    moved = [it for it in every if it not in own and it.touched and it.touched.context[:1] in ("A", "R")]
    return [*own, *moved] or every


def _in_order(shaped: Iterable[_Shaped], subject: Subject) -> tuple[Neighbour, ...]:
    by_time = sorted(shaped, key=lambda it: (-it.record.moment_ns, it.record.path))
    writers = [it for it in by_time if any(first <= subject.line <= last for first, last in it.wrote)]
    order = [*(writers if subject.line else ()), *by_time[:1], *by_time[-1:], *by_time]
    return tuple(_neighbour(it) for it in {it.record.path: it for it in order}.values())


def _neighbour(it: _Shaped) -> Neighbour:
    kind = "wrote" if it.wrote else CHANGES if it.changed else RENAMES if it.moved_from else TOUCHES
    line = it.wrote[0].first if it.wrote else (it.changed[0].line if it.changed else 0)
    hunks = dict.fromkeys(shortened(link.context) or link.target.partition("#")[2] for link in it.changed)
    how = [
        f"last touched {_spans(it.wrote)}" if it.wrote else "",
        f"changed {'; '.join(list(hunks)[:_MOST_HUNKS])}" if hunks and not it.wrote else "",
        f"moved the file from {it.moved_from}" if it.moved_from else _deed(it),
    ]
    return Neighbour(kind, shortened(it.record.title), it.record, line, ", ".join(filter(None, how)))


def _deed(it: _Shaped) -> str:
    letter = it.touched.context[:1] if it.touched else ""
    return _TOUCHED.get(letter, "") if it.wrote or it.changed else _TOUCHED.get(letter, "changed the file")


def _spans(spans: Sequence[Span]) -> str:
    if len(spans) == 1 and spans[0].first == spans[0].last:
        return f"line {spans[0].first}"
    shown = ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in spans[:_MOST_SPANS])
    return f"lines {shown}{' …' if len(spans) > _MOST_SPANS else ''}"


def deed(link: Link) -> str:
    """What a link of a commit says it did, and to what."""
    if link.kind == RENAMES:
        return f"{link.target} to {link.context}"
    place = f"{link.target}:{link.line}" if link.line and link.kind == TOUCHES else link.target
    return f"{link.context} {place}" if link.kind == TOUCHES else place
