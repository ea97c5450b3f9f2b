"""Lines with what stands around them, neighbours in one piece."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dowse.lookup.grep.question import Excerpt
from dowse.store.texts import Texts


def excerpts(
    store: Texts, collection: str, path: str, lines: Iterable[int], before: int = 0, after: int = 0
) -> list[Excerpt]:
    """The lines that the file still has, each with so many before and after it; what touches is one excerpt."""
    wanted = sorted(set(lines))
    groups = list(_groups(wanted, max(before, 0), max(after, 0)))
    texts = store.lines_between(collection, path, [(first, last) for first, last, _ in groups])
    return [
        Excerpt(first, text, tuple(line - first for line in matches if line - first < len(text)))
        for (first, _, matches), text in zip(groups, texts, strict=True)
        if text
    ]


def _groups(lines: list[int], before: int, after: int) -> Iterator[tuple[int, int, list[int]]]:
    """First and last line of each excerpt, and the lines it is for."""
    group: list[int] = []
    for line in lines:
        if group and line - before > group[-1] + after + 1:
            yield max(group[0] - before, 1), group[-1] + after, group
            group = []
        group.append(line)
    if group:
        yield max(group[0] - before, 1), group[-1] + after, group
