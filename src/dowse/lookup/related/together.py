"""Files that change together: in how many commits of one file another was changed too."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from dowse.lookup.history.following import life_of
from dowse.lookup.history.question import TOUCHES
from dowse.lookup.history.traces import StoredTraces
from dowse.lookup.related.question import Edge
from dowse.lookup.why.question import Ground, Neighbour, Subject
from dowse.model import Record

CHANGES_WITH = "changes_with"

_NEWEST = 200
_LEAST = 2
_MOST_FILES = 30  # who changes more at once changes what has nothing to do with each other


def together(ground: Ground, subject: Subject) -> Iterator[Edge]:
    """The most often first; once is chance."""
    home = ground.history_of(subject.record) if subject.record else None
    if home is None:
        return
    history, path = home[0].name, home[1]
    life = life_of(StoredTraces(ground.store, history), path)
    own = _own_commits(ground, history, life.names, life.commits)
    shared: Counter[str] = Counter()
    latest: dict[str, Record] = {}
    for commit in own:
        for other in {it.target for it in ground.store.links(commit) if it.kind == TOUCHES} - set(life.names):
            shared[other] += 1
            latest.setdefault(other, commit)
    for other, times in sorted(shared.items(), key=lambda it: (-it[1], it[0])):
        if times >= _LEAST:
            how = f"in {times} of {len(own)} commits, last in {latest[other].path[:12]}"
            yield Edge("in", Neighbour(CHANGES_WITH, other, ground.file_of(history, other), how=how))


def _own_commits(ground: Ground, history: str, names: tuple[str, ...], commits: frozenset[str] | None) -> list[Record]:
    """The newest of the file, without those that changed a great deal at once."""
    touching = {record.path: record for record, _ in ground.store.linking(names, (TOUCHES,))}
    own = [it for it in touching.values() if it.collection == history and (commits is None or it.path in commits)]
    return [it for it in own if int(it.facets.get("files", "0")) <= _MOST_FILES][:_NEWEST]
