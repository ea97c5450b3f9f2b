"""`search_git_history` of the ragdocs contract: commits by words and meaning, filtered before they are ranked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, TypeVar

from dowse.engine import Engine
from dowse.errors import BadInput
from dowse.model import Answer, Facet, Linked, Query, Scope
from dowse.profiles.ragdocs_git_text import commit_text, head_text
from dowse.profiles.ragdocs_text import notes_text
from dowse.profiles.tool import Param, Reply, Tool

RECIPE = "commits"
_LAST_SECOND = 9_000_000_000
_HISTORY = ".git"  # behind the name of the project whose history it is

Value = TypeVar("Value")


class GitHistory:
    """`wait` lets the first indexing come to its end; `states` are what to say of work that goes on."""

    def __init__(
        self, engine: Callable[[], Engine], wait: Callable[[], None], states: Callable[[], Sequence[str]]
    ) -> None:
        self._engine = engine
        self._wait = wait
        self._states = states

    def tool(self) -> Tool:
        return Tool(self.search_git_history, "Search commits", strict=True)

    def search_git_history(
        self,
        query: Annotated[str, Param("What the commits are about")],
        top_n: Annotated[int, Param("How many commits at most", ge=1, le=100)] = 5,
        min_score: Annotated[
            float, Param("The least score of a commit: how sure it is, from 0 to 1", ge=0, le=1)
        ] = 0.0,
        file_pattern: Annotated[str | None, Param("Only commits that touched files matching this glob")] = None,
        author: Annotated[str | None, Param("Part of the author's name or address")] = None,
        after: Annotated[int | None, Param("Not older, seconds since 1970", ge=0, le=_LAST_SECOND)] = None,
        before: Annotated[int | None, Param("Not newer, seconds since 1970", ge=0, le=_LAST_SECOND)] = None,
        files_glob: Annotated[str | None, Param("The same as file_pattern")] = None,
        after_timestamp: Annotated[int | None, Param("The same as after", ge=0, le=_LAST_SECOND)] = None,
        before_timestamp: Annotated[int | None, Param("The same as before", ge=0, le=_LAST_SECOND)] = None,
        include_diff: Annotated[bool, Param("Show what each commit changed")] = True,
        project_filter: Annotated[Sequence[str], Param("Only the histories of these projects")] = (),
        project_context: Annotated[str | None, Param("Taken, and without effect: one index is one context")] = None,
    ) -> Reply:
        """Search what commits said and changed, by words and by meaning."""
        scope = self._scope(
            _either(file_pattern=file_pattern, files_glob=files_glob),
            author,
            _either(after=after, after_timestamp=after_timestamp),
            _either(before=before, before_timestamp=before_timestamp),
            project_filter,
        )
        self._wait()
        answer = self._engine().search(Query(query.strip(), scope, top_n, RECIPE, min_score=min_score))
        return Reply({}, self._text(answer, include_diff))

    def _scope(
        self, glob: str | None, author: str | None, after: int | None, before: int | None, projects: Sequence[str]
    ) -> Scope:
        if after is not None and before is not None and after > before:
            raise BadInput(f"after ({after}) is later than before ({before}); swap them")
        return Scope(
            collections=self._histories(projects),
            kinds=("commit",),
            since=after,
            until=before,
            facets=(Facet("author", author.strip(), whole=False),) if author and author.strip() else (),
            links=(Linked("touches", glob),) if glob else (),
        )

    def _histories(self, projects: Sequence[str]) -> tuple[str, ...]:
        known = {it.name.removesuffix(_HISTORY): it.name for it in self._engine().histories()} if projects else {}
        for project in projects:
            if project not in known:
                names = ", ".join(sorted(known)) or "none yet"
                raise BadInput(f"there is no history of a project {project[:100]!r}; there are: {names}")
        return tuple(known[it] for it in projects)

    def _text(self, answer: Answer, include_diff: bool) -> str:
        engine = self._engine()
        blocks = [head_text(answer.query.text, engine.commit_count(), len(answer.hits))]
        for rank, hit in enumerate(answer.hits, 1):
            record = hit.stored.record
            chunks = [it.chunk for it in engine.chunks(record)] if include_diff else []
            blocks.append(commit_text(rank, hit, engine.touched(record), chunks))
        if not answer.hits:
            blocks.append(answer.completeness.sentence(0))
        return "\n\n".join(it for it in (*blocks, notes_text(answer, *self._states())) if it)


def _either(**spellings: Value | None) -> Value | None:
    """The value of a parameter that has two names; both may be given, if they agree."""
    given = {name: value for name, value in spellings.items() if value is not None}
    if len(set(given.values())) > 1:
        raise BadInput(f"{' and '.join(given)} are two names for one thing, and differ here; give one of them")
    return next(iter(given.values()), None)
