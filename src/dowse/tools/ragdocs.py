"""The tools of ragdocs: queries and git history."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, NamedTuple, TypeVar

from dowse.engine import Engine
from dowse.errors import BadInput
from dowse.live.jobs import JobQueue
from dowse.model import DEFAULT_TUNING, Answer, FacetFilter, Hit, LinkFilter, Query, RagdocsTuning, Record, Scope
from dowse.text.globs import MAX_GLOB_CHARS, compile_globs, escape_glob
from dowse.tools.core_render import running_job_text
from dowse.tools.ragdocs_memory import DEFAULT_MEMORY_OPTIONS, MemoryOptions, MemoryToolContext, memory_tools
from dowse.tools.ragdocs_render import (
    commit_markdown,
    commits_heading_text,
    compression_stats_text,
    is_factual,
    notes_text,
    passage_beginning,
    result_json,
    results_text,
    whole_passage,
)
from dowse.tools.tool import Param, Tool, ToolReply, ToolSet

# --------------------------------------------------------------------------------------------------
# Document filters of the ragdocs contract: which files are documents, and `excluded_files` as globs. An entry may be a
# file name with or without suffix, a path or a glob.

MAX_EXCLUDED_FILES = 200  # each file is compared with every entry

TOOL_DIRECTORIES = tuple(
    f"**/{it}/**" for it in (".venv", "venv", "build", "dist", ".git", "node_modules", "__pycache__", ".pytest_cache")
)
HIDDEN_DIRECTORIES = "**/.*/**"

_SUFFIXES = ("md", "markdown", "txt")  # known to the contract
_WILDCARDS = "*?[{"


class DocumentFiles(NamedTuple):
    """Globs of the files that are documents (empty: all), and of those that never are."""

    included: tuple[str, ...] = ()
    excluded: tuple[str, ...] = (*TOOL_DIRECTORIES, HIDDEN_DIRECTORIES)


ALL_DOCUMENTS = DocumentFiles()


def excluded_globs(names: Sequence[str], roots: Sequence[str]) -> tuple[str, ...]:
    """Return globs for the named files; a path outside the roots matches nothing."""
    if len(names) > MAX_EXCLUDED_FILES:
        raise BadInput(f"excluded_files: {len(names):,} entries; at most {MAX_EXCLUDED_FILES} are allowed, use globs")
    bases = [Path(root).as_posix() for root in roots]
    return tuple(dict.fromkeys(glob for name in names for glob in _entry_globs(_check_entry(name), bases)))


def _check_entry(name: str) -> str:
    if not name.strip():
        raise BadInput("excluded_files: empty entry; name a file")
    if len(name) > MAX_GLOB_CHARS:
        raise BadInput(f"excluded_files: {name[:40]!r}… is too long for a path; shorten it")
    return name.replace("\\", "/")


def _entry_globs(name: str, roots: Sequence[str]) -> Iterator[str]:
    normalized = posixpath.normpath(name)
    base = next((it for it in roots if normalized == it or normalized.startswith(f"{it}/")), "")
    path = normalized.removeprefix(base).lstrip("/")
    if not path.strip() or path == ".":
        raise BadInput(f"excluded_files: {name!r} matches everything; name files in it")
    if path == ".." or path.startswith("../"):
        return
    # A bare name matches any file of that name; a path is relative to the root.
    prefix = "/" if "/" in name.rstrip("/") else ""
    yield prefix + escape_glob(path)
    if posixpath.splitext(path)[1].removeprefix(".") not in _SUFFIXES and not name.endswith("/"):
        yield f"{prefix}{escape_glob(path)}.{{{','.join(_SUFFIXES)}}}"
    if any(it in path for it in _WILDCARDS) and is_glob(path):
        yield prefix + path


def is_glob(pattern: str) -> bool:
    """Return whether the pattern compiles: brackets and braces may be part of a file name."""
    try:
        compile_globs([pattern])
    except BadInput:
        return False
    return True


# --------------------------------------------------------------------------------------------------
# `search_git_history` of the ragdocs contract: commits by words and meaning, filtered before ranking.

COMMITS_RECIPE = "commits"
_LAST_SECOND = 9_000_000_000
_HISTORY_SUFFIX = ".git"  # follows the project's name in the name of its history

Value = TypeVar("Value")


class CommitSearchTool:
    """The tool `search_git_history`. `wait` blocks until the first indexing is done; `states` describes jobs."""

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
        top_n: Annotated[int, Param("Maximum number of commits", ge=1, le=100)] = 5,
        min_score: Annotated[float, Param("Minimum score of a commit (confidence, 0 to 1)", ge=0, le=1)] = 0.0,
        file_pattern: Annotated[str | None, Param("Only commits that touched files matching this glob")] = None,
        author: Annotated[str | None, Param("Part of the author's name or address")] = None,
        after: Annotated[int | None, Param("Earliest commit time, in Unix seconds", ge=0, le=_LAST_SECOND)] = None,
        before: Annotated[int | None, Param("Latest commit time, in Unix seconds", ge=0, le=_LAST_SECOND)] = None,
        files_glob: Annotated[str | None, Param("Same as file_pattern")] = None,
        after_timestamp: Annotated[int | None, Param("Same as after", ge=0, le=_LAST_SECOND)] = None,
        before_timestamp: Annotated[int | None, Param("Same as before", ge=0, le=_LAST_SECOND)] = None,
        include_diff: Annotated[bool, Param("Show what each commit changed")] = True,
        project_filter: Annotated[Sequence[str], Param("Only the histories of these projects")] = (),
        project_context: Annotated[str | None, Param("Accepted without effect: one index is one context")] = None,
    ) -> ToolReply:
        """Search commit messages and changes by words and meaning."""
        scope = self._scope(
            _merge_aliases(file_pattern=file_pattern, files_glob=files_glob),
            author,
            _merge_aliases(after=after, after_timestamp=after_timestamp),
            _merge_aliases(before=before, before_timestamp=before_timestamp),
            project_filter,
        )
        self._wait()
        answer = self._engine().search(Query(query.strip(), scope, top_n, COMMITS_RECIPE, min_score=min_score))
        return ToolReply({}, self._text(answer, include_diff))

    def _scope(
        self, glob: str | None, author: str | None, after: int | None, before: int | None, projects: Sequence[str]
    ) -> Scope:
        if after is not None and before is not None and after > before:
            raise BadInput(f"after ({after}) is later than before ({before}); swap them")
        return Scope(
            collections=self._history_collections(projects),
            kinds=("commit",),
            since=after,
            until=before,
            facets=(FacetFilter("author", author.strip(), exact=False),) if author and author.strip() else (),
            links=(LinkFilter("touches", glob),) if glob else (),
        )

    def _history_collections(self, projects: Sequence[str]) -> tuple[str, ...]:
        known = (
            {it.name.removesuffix(_HISTORY_SUFFIX): it.name for it in self._engine().histories.collections()}
            if projects
            else {}
        )
        for project in projects:
            if project not in known:
                names = ", ".join(sorted(known)) or "none yet"
                raise BadInput(f"no git history for project {project[:100]!r}; choose one of: {names}")
        return tuple(known[it] for it in projects)

    def _text(self, answer: Answer, include_diff: bool) -> str:
        engine = self._engine()
        blocks = [commits_heading_text(answer.query.text, engine.history.commit_count(), len(answer.hits))]
        for rank, hit in enumerate(answer.hits, 1):
            record = hit.stored.record
            chunks = [it.chunk for it in engine.passages.chunks(record)] if include_diff else []
            blocks.append(commit_markdown(rank, hit, engine.history.changed_paths(record), chunks))
        if not answer.hits:
            blocks.append(answer.completeness.sentence(0))
        return "\n\n".join(it for it in (*blocks, notes_text(answer, *self._states())) if it)


def _merge_aliases(**spellings: Value | None) -> Value | None:
    """Return the value of a parameter with two names. Both may be passed if they agree."""
    passed = {name: value for name, value in spellings.items() if value is not None}
    if len(set(passed.values())) > 1:
        raise BadInput(f"{' and '.join(passed)} are names for the same parameter but differ; pass one of them")
    return next(iter(passed.values()), None)


RAGDOCS_INSTRUCTIONS = """\
Search the Markdown and plain-text documents of this project, on this machine. `query_documents` finds passages, \
`query_unique_documents` finds each document once, `search_with_hypothesis` takes a draft of the answer instead of a \
question, and `search_git_history` finds commits. Results read `[rank] path § headings (score)`; pass their paths as \
`excluded_files` to see others.

Memories are your own notes, kept across sessions: `create_memory` writes one, `search_memories` finds them, \
`search_linked_memories` finds those about a file. Link to files and other memories with `[[src/server.py]]` and \
`[[memory:name]]`, and say next to the link what it means: plans, implements, supersedes, depends on, contradicts."""


QueryText = Annotated[str, Param("A question or keywords about the documents")]
TopN = Annotated[int, Param("Maximum number of results", ge=1, le=100)]
MinScore = Annotated[float, Param("Minimum score of a result (confidence, 0 to 1)", ge=0, le=1)]
Similarity = Annotated[float, Param("Show passages at least this similar (cosine) only once", ge=0.5, le=1)]
ShowStats = Annotated[bool, Param("Always show how many results each filter left")]
ExcludedFiles = Annotated[
    Sequence[str], Param("Files to exclude: names with or without suffix, paths (relative or absolute), globs")
]


_POLL_S = 0.05


class RagdocsTools:
    """The tools, bound to the engine and job queue of one server.

    Queries within `patience_s` of the start wait until the documents are indexed, so that the first answer is not
    empty.
    """

    def __init__(
        self,
        engine: Callable[[], Engine],
        jobs: JobQueue,
        patience_s: float,
        memory: MemoryOptions = DEFAULT_MEMORY_OPTIONS,
        tuning: RagdocsTuning = DEFAULT_TUNING,
        files: DocumentFiles = ALL_DOCUMENTS,
    ) -> None:
        self._engine = engine
        self._jobs = jobs
        self._wait_until = jobs.clock() + patience_s
        self._tuning, self._files = tuning, files
        self._memory = MemoryToolContext(engine, self._wait, self._notes, memory)

    def profile(self) -> ToolSet:
        hypothesis = Tool(self.search_with_hypothesis, "Search by a draft of the answer", strict=True)
        tools = (
            Tool(self.query_documents, "Search documents", strict=True),
            Tool(self.query_unique_documents, "Search unique documents", strict=True),
            Tool(self.query_documents_compressed, "Search documents, condensed", strict=True),
            *((hypothesis,) if self._tuning.hyde_enabled else ()),
            CommitSearchTool(self._engine, self._wait, self._job_notes).tool(),
        )
        return ToolSet("ragdocs", "mcp-markdown-ragdocs", RAGDOCS_INSTRUCTIONS, (*tools, *memory_tools(self._memory)))

    # --- the tools ---

    def query_documents(
        self,
        query: QueryText,
        top_n: TopN = 5,
        min_score: MinScore = 0.3,
        similarity_threshold: Similarity = 0.85,
        show_stats: ShowStats = False,
        excluded_files: ExcludedFiles = (),
    ) -> ToolReply:
        """Search documents by words and meaning. Near-duplicate passages are shown once; a document may appear several
        times."""
        answer = self._answer(
            self._build_query("ragdocs", query, top_n, min_score, similarity_threshold), excluded_files
        )
        return self._passages_reply("Search Results", answer, show_stats, self._tuning.max_chunks_per_doc)

    def query_unique_documents(
        self,
        query: QueryText,
        top_n: TopN = 5,
        min_score: MinScore = 0.3,
        similarity_threshold: Similarity = 0.85,
        show_stats: ShowStats = False,
        excluded_files: ExcludedFiles = (),
    ) -> ToolReply:
        """Search documents by words and meaning, with at most one passage per document. Use it to see which documents
        cover a topic."""
        answer = self._answer(
            self._build_query("ragdocs-unique", query, top_n, min_score, similarity_threshold), excluded_files
        )
        return self._passages_reply("Search Results (Unique Documents)", answer, show_stats, 1)

    def query_documents_compressed(
        self,
        query: QueryText,
        top_n: TopN = 5,
        min_score: MinScore = 0.3,
        similarity_threshold: Similarity = 0.85,
    ) -> ToolReply:
        """Same as query_documents: low scores and near-duplicates are left out."""
        return self.query_documents(query, top_n, min_score, similarity_threshold)

    def search_with_hypothesis(
        self,
        hypothesis: Annotated[str, Param("A draft of the text to find, in the words of the document")],
        top_n: TopN = 5,
        excluded_files: ExcludedFiles = (),
    ) -> ToolReply:
        """Search by meaning with a draft of the answer instead of a question. A draft is closer to the documents than a
        vague question."""
        text = hypothesis.strip()
        query = Query(text, limit=top_n, recipe="ragdocs-hypothesis", hypothesis=text)
        answer = self._answer(query, excluded_files)
        if not answer.hits:
            # Without vectors nothing can be compared by meaning; word matches are better than none.
            answer = self._answer(replace(query, recipe="ragdocs"), excluded_files)
        return self._reply("HyDE Search Results", answer, results_text(answer, self._location, whole_passage))

    # --- for programs ---

    def rows(self, query: str, top_n: int = 5) -> list[dict[str, object]]:
        """Return the hits of query_documents as the contract's command line prints them, with whole passages."""
        answer = self._answer(Query(query.strip(), limit=top_n, recipe="ragdocs"), ())
        return [result_json(hit, self._location(hit.stored.record)) for hit in answer.hits]

    # --- helpers ---

    def _build_query(self, recipe: str, query: str, top_n: int, min_score: float, same_above: float) -> Query:
        """Build the query. The stricter of the requested and the configured thresholds applies."""
        min_confidence, max_similarity = self._tuning.min_confidence, self._tuning.dedup_similarity_threshold
        return Query(
            query.strip(),
            limit=top_n,
            recipe=recipe,
            min_score=max(min_score, min_confidence or 0.0),
            dedup_threshold=min(same_above, 1.0 if max_similarity is None else max_similarity),
        )

    def _answer(self, query: Query, excluded_files: Sequence[str]) -> Answer:
        self._wait()
        engine = self._engine()
        roots = [it.root for it in engine.collections()]
        excluded = (*self._files.excluded, *excluded_globs(excluded_files, roots))
        scope = Scope(kinds=("doc",), paths=self._files.included, excluded=excluded)
        return engine.search(replace(query, scope=scope, tuning=self._tuning))

    def _wait(self) -> None:
        """Wait until the documents are indexed and have vectors; those of a better encoder may follow later."""
        engine = self._engine()
        while (job := self._jobs.running()) is not None and (left_s := self._wait_until - self._jobs.clock()) > 0:
            if job.kind == "encode" and engine.state.is_semantic_ready():
                return
            self._jobs.wait(job, min(left_s, _POLL_S))

    def _passages_reply(self, title: str, answer: Answer, show_stats: bool, per_document: int) -> ToolReply:
        passage = self._chunk_beginning if is_factual(answer.query.text) else whole_passage
        results = results_text(answer, self._location, passage)
        return self._reply(title, answer, results, compression_stats_text(answer, per_document, always=show_stats))

    def _chunk_beginning(self, hit: Hit) -> str:
        """Return the start of the matched chunk itself; the section around it may start with something else."""
        chunks = self._engine().passages.chunk(hit.stored.chunk_id, hit.stored.record.collection)
        return passage_beginning((chunks[0] if chunks else hit.stored).chunk.text)

    def _reply(self, title: str, answer: Answer, *blocks: str) -> ToolReply:
        return ToolReply({}, "\n\n".join([f"# {title}", *(it for it in (*blocks, self._notes(answer)) if it)]))

    def _notes(self, answer: Answer) -> str:
        return notes_text(answer, *self._job_notes())

    def _job_notes(self) -> tuple[str, str]:
        """Return the texts about a running and a failed job; empty if answers are complete."""
        return running_job_text(self._jobs), self._failure_note()

    def _failure_note(self) -> str:
        last = self._jobs.last("index")
        return f"indexing failed: {last.error}" if last and last.error else ""

    def _location(self, record: Record) -> str:
        """Return the path relative to the root, or in full if several roots are served."""
        collections = self._engine().collections()
        root = next((it.root for it in collections if it.name == record.collection), "")
        return record.path if len(collections) < 2 else (Path(root) / record.path).as_posix()
