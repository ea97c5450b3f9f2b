"""The tools of the mcp-markdown-ragdocs contract, told in engine verbs: the same parameters, bounds and text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from dowse.engine import Engine
from dowse.live.jobs import Jobs
from dowse.model import AS_USUAL, Answer, Hit, Query, Record, Scope, Tuning
from dowse.profiles.core_text import running_text
from dowse.profiles.ragdocs_exclusion import ALL_DOCUMENTS, DocumentFiles, excluded_globs
from dowse.profiles.ragdocs_git import GitHistory
from dowse.profiles.ragdocs_memories import memory_tools
from dowse.profiles.ragdocs_memory_desk import NO_OPTIONS, MemoryDesk, MemoryOptions
from dowse.profiles.ragdocs_text import (
    beginning,
    is_factual,
    notes_text,
    result_json,
    results_text,
    stats_text,
    whole_passage,
)
from dowse.profiles.tool import Param, Profile, Reply, Tool

INSTRUCTIONS = """\
Search over the Markdown and plain-text documents of this project, on this machine. `query_documents` finds passages, \
`query_unique_documents` each document once, `search_with_hypothesis` takes a sketch of the answer instead of a \
question; `search_git_history` finds commits. Results read `[rank] path § headings (score)`; give paths as \
`excluded_files` to see others.

Memories are notes of your own that outlive a session: `create_memory` writes one, `search_memories` finds them, \
`search_linked_memories` those about a file. Link to files and to other memories with `[[src/server.py]]` and \
`[[memory:name]]`, and say in words what the link means: plans, implements, supersedes, depends on, contradicts."""


Question = Annotated[str, Param("A question or keywords about the documents")]
TopN = Annotated[int, Param("How many results at most", ge=1, le=100)]
MinScore = Annotated[float, Param("The least score of a result: how sure it is, from 0 to 1", ge=0, le=1)]
Similarity = Annotated[float, Param("Passages as like as this (cosine) are shown once", ge=0.5, le=1)]
ShowStats = Annotated[bool, Param("Always say how many results were left out, and why")]
ExcludedFiles = Annotated[
    Sequence[str], Param("Files to leave out: names with or without suffix, paths (relative or absolute), globs")
]


_LOOK_AGAIN_S = 0.05


class Ragdocs:
    """The tools, bound to the engine and the job queue of one server.

    Questions that come within `patience_s` of the start wait until the documents are indexed, so that the first
    answer is not an empty one.
    """

    def __init__(
        self,
        engine: Callable[[], Engine],
        jobs: Jobs,
        patience_s: float,
        memory: MemoryOptions = NO_OPTIONS,
        tuning: Tuning = AS_USUAL,
        files: DocumentFiles = ALL_DOCUMENTS,
    ) -> None:
        self._engine = engine
        self._jobs = jobs
        self._patient_until = jobs.clock() + patience_s
        self._tuning, self._files = tuning, files
        self._memory = MemoryDesk(engine, self._wait, self._notes, memory)

    def profile(self) -> Profile:
        hypothesis = Tool(self.search_with_hypothesis, "Search by a sketch of the answer", strict=True)
        tools = (
            Tool(self.query_documents, "Search documents", strict=True),
            Tool(self.query_unique_documents, "Search documents, each once", strict=True),
            Tool(self.query_documents_compressed, "Search documents, condensed", strict=True),
            *((hypothesis,) if self._tuning.hyde_enabled else ()),
            GitHistory(self._engine, self._wait, self._states).tool(),
        )
        return Profile("ragdocs", "mcp-markdown-ragdocs", INSTRUCTIONS, (*tools, *memory_tools(self._memory)))

    # --- the tools ---

    def query_documents(
        self,
        query: Question,
        top_n: TopN = 5,
        min_score: MinScore = 0.3,
        similarity_threshold: Similarity = 0.85,
        show_stats: ShowStats = False,
        excluded_files: ExcludedFiles = (),
    ) -> Reply:
        """Search the documents by words and by meaning; passages that say the same come once, several of one
        document may come."""
        answer = self._answer(self._asked("ragdocs", query, top_n, min_score, similarity_threshold), excluded_files)
        return self._passages("Search Results", answer, show_stats, self._tuning.max_chunks_per_doc)

    def query_unique_documents(
        self,
        query: Question,
        top_n: TopN = 5,
        min_score: MinScore = 0.3,
        similarity_threshold: Similarity = 0.85,
        show_stats: ShowStats = False,
        excluded_files: ExcludedFiles = (),
    ) -> Reply:
        """Search the documents by words and by meaning, with at most one passage of each: to see which documents
        speak of something."""
        answer = self._answer(
            self._asked("ragdocs-unique", query, top_n, min_score, similarity_threshold), excluded_files
        )
        return self._passages("Search Results (Unique Documents)", answer, show_stats, 1)

    def query_documents_compressed(
        self,
        query: Question,
        top_n: TopN = 5,
        min_score: MinScore = 0.3,
        similarity_threshold: Similarity = 0.85,
    ) -> Reply:
        """The same as query_documents: low scores and repetitions are left out."""
        return self.query_documents(query, top_n, min_score, similarity_threshold)

    def search_with_hypothesis(
        self,
        hypothesis: Annotated[str, Param("What the document you look for might say, in its own words")],
        top_n: TopN = 5,
        excluded_files: ExcludedFiles = (),
    ) -> Reply:
        """Search by meaning with a sketch of the answer in place of the question: it is nearer to the documents than
        a vague question is."""
        text = hypothesis.strip()
        wanted = Query(text, limit=top_n, recipe="ragdocs-hypothesis", hypothesis=text)
        answer = self._answer(wanted, excluded_files)
        if not answer.hits:
            # There is nothing to compare with by meaning, as long as there are no vectors: words are better than none.
            answer = self._answer(replace(wanted, recipe="ragdocs"), excluded_files)
        return self._reply("HyDE Search Results", answer, results_text(answer, self._place, whole_passage))

    # --- the same for programs ---

    def rows(self, query: str, top_n: int = 5) -> list[dict[str, object]]:
        """What query_documents finds, as the contract's command line gives it: whole passages under these keys."""
        answer = self._answer(Query(query.strip(), limit=top_n, recipe="ragdocs"), ())
        return [result_json(hit, self._place(hit.stored.record)) for hit in answer.hits]

    # --- how they do it ---

    def _asked(self, recipe: str, query: str, top_n: int, min_score: float, same_above: float) -> Query:
        """The stricter of what is asked for and what the user has configured counts."""
        least, same = self._tuning.min_confidence, self._tuning.dedup_similarity_threshold
        return Query(
            query.strip(),
            limit=top_n,
            recipe=recipe,
            min_score=max(min_score, least or 0.0),
            same_above=min(same_above, 1.0 if same is None else same),
        )

    def _answer(self, query: Query, excluded_files: Sequence[str]) -> Answer:
        self._wait()
        engine = self._engine()
        roots = [it.root for it in engine.collections()]
        excluded = (*self._files.excluded, *excluded_globs(excluded_files, roots))
        scope = Scope(kinds=("doc",), paths=self._files.included, excluded=excluded)
        return engine.search(replace(query, scope=scope, tuning=self._tuning))

    def _wait(self) -> None:
        """Until the documents are indexed and have vectors: a better encoder's may follow later."""
        engine = self._engine()
        while (job := self._jobs.running()) is not None and (left_s := self._patient_until - self._jobs.clock()) > 0:
            if job.kind == "encode" and engine.answers_by_meaning():
                return
            self._jobs.wait(job, min(left_s, _LOOK_AGAIN_S))

    def _passages(self, title: str, answer: Answer, show_stats: bool, per_document: int) -> Reply:
        passage = self._beginning if is_factual(answer.query.text) else whole_passage
        results = results_text(answer, self._place, passage)
        return self._reply(title, answer, results, stats_text(answer, per_document, always=show_stats))

    def _beginning(self, hit: Hit) -> str:
        """Of what was found itself: the section around it may begin with something else."""
        found = self._engine().chunk(hit.stored.chunk_id, hit.stored.record.collection)
        return beginning((found[0] if found else hit.stored).chunk.text)

    def _reply(self, title: str, answer: Answer, *blocks: str) -> Reply:
        return Reply({}, "\n\n".join([f"# {title}", *(it for it in (*blocks, self._notes(answer)) if it)]))

    def _notes(self, answer: Answer) -> str:
        return notes_text(answer, *self._states())

    def _states(self) -> tuple[str, str]:
        """What keeps answers from being whole just now; empty texts where nothing does."""
        return running_text(self._jobs), self._failure()

    def _failure(self) -> str:
        last = self._jobs.last("index")
        return f"indexing failed: {last.error}" if last and last.error else ""

    def _place(self, record: Record) -> str:
        """Relative to the root; where several are served, in full."""
        collections = self._engine().collections()
        root = next((it.root for it in collections if it.name == record.collection), "")
        return record.path if len(collections) < 2 else (Path(root) / record.path).as_posix()
