"""`search_find` and `search_fast` of the code search contract: files by name, on disk or in the index."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from dowse.errors import BadInput
from dowse.ingest.sources.base import Reach
from dowse.lookup.find import NameQuery, alternatives
from dowse.lookup.find_contents import ContentAnswer, FileMatches
from dowse.model import NOT_LOOKED, Seen
from dowse.profiles.codesearch_desk import BUILDING, Desk
from dowse.profiles.codesearch_territory import Territory
from dowse.profiles.codesearch_words import MAX_NUMBER, CountOnly, Dir, Ext, listed
from dowse.profiles.tool import Param, Reply

Regex = Annotated[bool, Param("The pattern is a regex, found anywhere")]
IgnoreCase = Annotated[bool, Param("Case does not count")]
Only = Literal["", "files", "directories"]
Rows = list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Names:
    """What is asked of names, by a tool or on the command line."""

    pattern: str
    directory: str = ""
    ext: str = ""
    regex: bool = False
    ignore_case: bool = False
    only: Only = ""
    least_bytes: int = 0
    most_bytes: int | None = None
    reach: Reach = Reach()  # noqa: RUF009 - frozen
    count_only: bool = False


class FileTools:
    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    # --- the tools ---

    def search_find(
        self,
        pattern: Annotated[str, Param("Part of the file's name; with contents, of a line in it")],
        dir: Dir = "",
        ext: Ext = "",
        contents: Annotated[bool, Param("Look into the files instead of at their names")] = False,
        regex: Regex = False,
        ignoreCase: IgnoreCase = False,
        maxDepth: Annotated[int, Param("How many levels below dir; 0 is all", ge=0, le=MAX_NUMBER)] = 0,
        countOnly: CountOnly = False,
    ) -> Reply:
        """Find files on disk as they are now, by name or by what a line holds, without the index. Slow: prefer
        search_fast for names and search_grep for contents."""
        reach = Reach(max_depth=maxDepth)
        names = Names(pattern, dir, ext, regex, ignoreCase, "files", reach=reach, count_only=countOnly)
        return self.contents(names) if contents else self.live(names)

    def search_fast(
        self,
        pattern: Annotated[str, Param("Part of the name; several with commas between them: any of them")],
        dir: Dir = "",
        ext: Ext = "",
        regex: Regex = False,
        ignoreCase: IgnoreCase = False,
        dirsOnly: Annotated[bool, Param("Only directories")] = False,
        filesOnly: Annotated[bool, Param("Only files")] = False,
        countOnly: CountOnly = False,
    ) -> Reply:
        """Find files and directories by name in the index, the best match first: exact names, then beginnings, then
        parts."""
        if dirsOnly and filesOnly:
            raise BadInput("dirsOnly and filesOnly together leave nothing; give one of them")
        only: Only = "directories" if dirsOnly else "files" if filesOnly else ""
        return self.indexed(Names(pattern, dir, ext, regex, ignoreCase, only, count_only=countOnly))

    # --- how they do it ---

    def live(self, names: Names) -> Reply:
        started, territory = self._desk.now(), self._territory(names)
        query = _query((names.pattern,), names, territory)
        answer = self._desk.engine().find(query, _reach(names, territory))
        rows = [{"path": territory.full(it.collection, it.path)} for it in answer.entries]
        return self._reply(started, rows, names, totalMatches=answer.total, totalFilesScanned=answer.scanned)

    def contents(self, names: Names) -> Reply:
        started, territory = self._desk.now(), self._territory(names)
        query = _query((names.pattern,), names, territory)
        answer = self._desk.engine().find_contents(query, _reach(names, territory))
        figures = {"totalMatches": answer.total_files, "totalFilesScanned": answer.scanned, **_warnings(answer)}
        return self._reply(started, [_matches_json(it, territory) for it in answer.files], names, **figures)

    def indexed(self, names: Names) -> Reply:
        started, territory = self._desk.now(), self._territory(names)
        query = _query(alternatives(names.pattern, "regex" if names.regex else "part"), names, territory)
        # Names can be told before the first index is built: they are read from the disk then.
        reach = None if self._desk.is_built() else _reach(names, territory)
        answer = self._desk.engine().find(query, reach)
        rows = [
            {"path": territory.full(it.collection, it.path), "size": it.size, "isDir": it.is_directory}
            for it in answer.entries
        ]
        return self._reply(started, rows, names, answer.seen, totalMatches=answer.total, totalIndexed=answer.scanned)

    def _territory(self, names: Names) -> Territory:
        territory = self._desk.territory(names.directory)
        if not territory.roots:
            raise BadInput(BUILDING)
        return territory

    def _reply(self, started: float, rows: Rows, names: Names, seen: Seen = NOT_LOOKED, **figures: object) -> Reply:
        summary = self._desk.summary(started, seen, **figures)
        return self._desk.reply({"summary": summary} if names.count_only else {"files": rows, "summary": summary})


def _query(patterns: tuple[str, ...], names: Names, territory: Territory) -> NameQuery:
    if not any(it.strip() for it in patterns):
        raise BadInput("pattern must not be empty; give a part of a name")
    return NameQuery(
        patterns,
        "regex" if names.regex else "part",
        ignore_case=names.ignore_case,
        extensions=listed(names.ext),
        only=names.only,
        least_bytes=names.least_bytes,
        most_bytes=names.most_bytes,
        collections=territory.scope.collections,
        wanted=territory.below,
        limit=0,
    )


def _reach(names: Names, territory: Territory) -> Reach:
    reach = names.reach
    return Reach(territory.part, hidden=reach.hidden, ignored=reach.ignored, max_depth=reach.max_depth)


def _matches_json(found: FileMatches, territory: Territory) -> dict[str, Any]:
    return {
        "path": territory.full(found.entry.collection, found.entry.path),
        "matches": [{"line": it.line, "text": it.text} for it in found.matches],
    }


def _warnings(answer: ContentAnswer) -> dict[str, Any]:
    unreadable = f"{answer.unreadable:,} files are no text or could not be read" if answer.unreadable else ""
    warnings = [it for it in (answer.cut, unreadable) if it]
    return {"warnings": warnings} if warnings else {}
