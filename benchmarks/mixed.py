"""Search over all kinds: every labelled set of code and documents asked inside a whole repository (sources,
tests, documents, translations, history, memories), without a kind and with the kind of its answers.

Commits and memories have no labelled set. Their questions are made of the messages of commits: half of the words of a
subject, in a sentence that asks for a change or for a decision. Each memory is made of the message of a commit, which
is in the index too, so that only the wording of the question says which of the two is meant.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean

from dowse.config import Settings
from dowse.engine import Engine
from dowse.ingest.sources.corpus import CorpusSource
from dowse.model import FILE_KINDS, Answer, Hit, Query, Scope
from dowse.text.tokenize import STOP_WORDS
from labelled.catalogue import SETS
from labelled.measures import documents
from labelled.model import Found, LabelledSet, Part, Question
from labelled.readers import issues, repository
from measuring import Told, drop_stale, recipe_for, say
from report import Section, table

MOST_COMMITS = 2_000
MEMORIES = 30
ASKED_OF_EACH = 10
AIM = 0.02
MEASURE = "ndcg@10"
OWN = "dowse"
README_QUESTION = "what happens when indexing is killed in the middle"
README_ANSWER = "docs/architecture.md > What breaks, and what then"
# What the sets were labelled on; a clone that lacks the tag is asked as it is.
STATES: Mapping[str, str] = {
    "axios": "v1.15.0", "click": "8.3.2", "fastapi": "0.136.0", "flask": "3.1.3", "httpx": "0.28.1",
    "pydantic": "v2.13.0", "redux": "v5.0.1", "requests": "v2.33.1", "starlette": "1.0.0", "trpc": "v11.16.0",
    "zod": "v4.3.6", "django": "4.0", "octocode": "f5225350b9b992882235f3cbd9e446bb9df19d04", "dowse": "HEAD",
}  # fmt: skip
IN_DOCUMENTS = ("anthropic_docs", "anthropic_codebase", "qmd_eval", "chroma_chunking")
BESIDE_DOCUMENTS = "click"
OF_COMMITS = (
    "why did we {}", "when did {} change", "which commit was about {}", "who changed {}", "what changed in {}",
)  # fmt: skip
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_.'-]{2,}")
OF_MEMORIES = (
    "what did we decide about {}",
    "what was agreed on {}",
    "our decision on {}",
    "what do we remember of {}",
)


@dataclass(frozen=True, slots=True)
class Asked:
    """Questions of one set with the kinds of their answers, asked of one index; `corpus` names the collection whose
    paths the labels mean, where other collections may have the same."""

    name: str
    kinds: tuple[str, ...]
    recipe: str
    questions: tuple[Question, ...]
    corpus: str = ""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one question scores with --kind and without, and the kinds of the hits without."""

    score_with: float
    score_without: float
    kinds: tuple[str, ...]
    chars: Counter[str]


Outcomes = Mapping[str, Mapping[str, Sequence[Outcome]]]
"""By set and repository."""


@dataclass(frozen=True, slots=True)
class Mixture:
    """Where the sets, the clones by name and the work are, and which encoder is asked."""

    sets: Path
    clones: Path
    work: Path
    encoder: str

    def measure(self, names: Sequence[str]) -> tuple[Outcomes, str]:
        """The outcomes by set and repository, and what comes first for the question of the README."""
        outcomes: dict[str, dict[str, list[Outcome]]] = {}
        first = "skipped: its clone is missing"
        for name in names:
            place = self._checked_out(name)
            commits = _messages(place)
            notes = commits[:: max(1, len(commits) // MEMORIES)][:MEMORIES]
            with self._indexed(name, place, notes) as engine:
                for asked in [*self._labelled(name, place), *_made_up(name, commits, notes)]:
                    found = [_outcome(engine, asked, question) for question in asked.questions]
                    outcomes.setdefault(asked.name, {})[name] = found
                    say(f"{name}, {asked.name}: {_line(found)}")
                if name == OWN:
                    first = _first(engine)
        return outcomes, first

    def _checked_out(self, name: str) -> Path:
        """A copy of a clone at the state that was labelled, which memories may be written into."""
        place = self.work / "mixed" / "checkouts" / name
        if not place.is_dir():
            clone = ["git", "clone", "--quiet", "--shared", "--no-checkout"]
            subprocess.run([*clone, str(self.clones / name), str(place)], check=True)
            git = ["git", "-C", str(place), "checkout", "--quiet", "--force", "--detach"]
            if subprocess.run([*git, STATES[name]], check=False, capture_output=True).returncode:
                # A tag that is not there, or a picture whose object is not.
                subprocess.run([*git, "HEAD"], check=False)
        return place

    @contextmanager
    def _indexed(self, name: str, place: Path, notes: Sequence[Message]) -> Iterator[Engine]:
        settings = Settings(
            encoder=self.encoder,
            data_dir=self.work / "data",
            max_commits=MOST_COMMITS,
            allow_any_root=True,
            git_directories=("/",),
        )
        _write_memories(place / ".memories", notes)
        index = self.work / "mixed" / "indexes" / f"{name}-{self.encoder}.db"
        drop_stale(index)
        with Engine(settings, index, create=True) as engine:
            progress = Told(f"{name}, {self.encoder}")
            engine.index([place], progress=progress, vectors=False)
            engine.histories.index_history(progress=progress)
            for corpus in self._corpora(name):
                if corpus.is_dir():
                    engine.index([corpus], progress=progress, vectors=False)
                else:
                    engine.indexing.index_source(str(corpus), CorpusSource(corpus), progress=progress)
            engine.indexing.encode(progress=progress)
            yield engine

    def _corpora(self, name: str) -> list[Path]:
        """What lies beside a repository."""
        sets = IN_DOCUMENTS if name == BESIDE_DOCUMENTS else ()
        parts = [part for it in sets for part in SETS[it].parts(self.sets, self.work / "corpora")]
        return [self._beside(part.corpus) for part in parts]

    def _beside(self, corpus: Path) -> Path:
        """A folder of documents as a copy, which no repository is around."""
        if not corpus.is_dir():
            return corpus.resolve()
        copy = self.work / "mixed" / "documents" / corpus.parent.name
        if not copy.is_dir():
            shutil.copytree(corpus, copy)
        return copy

    def _labelled(self, name: str, place: Path) -> Iterator[Asked]:
        labels = self.sets / "semble_code" / "annotations" / f"{name}.json"
        if labels.is_file():
            for it in ("semble_code", "semble_passages"):
                yield _asked(SETS[it], repository(labels, place), ("code",))
        if name == "octocode":
            yield _asked(SETS["octocode_docs"], *SETS["octocode_docs"].parts(self.sets, place), ("doc",))
        if name == "django":
            yield _asked(SETS["swebench_loc"], issues(self.sets / "swebench_loc", place), ("code",))
        if name == BESIDE_DOCUMENTS:
            for it in IN_DOCUMENTS:
                (part,) = SETS[it].parts(self.sets, self.work / "corpora")
                yield _asked(SETS[it], part, ("doc",), corpus=str(self._beside(part.corpus)))


# --- questions made of messages ---------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Message:
    commit: str
    subject: str
    body: str

    @property
    def half(self) -> str:
        """Every second of its telling words, at least two."""
        words = [it for it in _WORD.findall(self.subject) if it.lower() not in STOP_WORDS]
        return " ".join(words[::2] if len(words) > 3 else words).lower()


def _messages(place: Path) -> list[Message]:
    """Of the newest commits, those that say something in several words, each subject once."""
    form = "--format=%P%x1f%H%x1f%s%x1f%b%x1e"
    command = ["git", "-C", str(place), "log", "-n", str(MOST_COMMITS), form]
    told = subprocess.run(command, check=True, capture_output=True, text=True, errors="replace").stdout
    entries = [[it.strip() for it in entry.split("\x1f")] for entry in told.split("\x1e") if entry.strip()]
    found = [Message(*told) for parents, *told in entries if " " not in parents]
    once = {it.subject.lower(): it for it in found if len(_WORD.findall(it.subject)) >= 4}
    return list(once.values())


def _made_up(name: str, commits: Sequence[Message], notes: Sequence[Message]) -> Iterator[Asked]:
    others = [it for it in commits if it not in notes]
    asked = others[:: max(1, len(others) // ASKED_OF_EACH)][:ASKED_OF_EACH]
    yield Asked("commits", ("commit",), "auto", tuple(_worded(OF_COMMITS, asked, [it.commit for it in asked])))
    places = [f"{_slug(it)}.md" for it in notes]
    yield Asked("memories", ("memory",), "auto", tuple(_worded(OF_MEMORIES, notes, places))[:ASKED_OF_EACH])


def _worded(forms: Sequence[str], asked: Sequence[Message], paths: Sequence[str]) -> Iterator[Question]:
    for at, (message, path) in enumerate(zip(asked, paths, strict=True)):
        yield Question(path, forms[at % len(forms)].format(message.half), documents({path: 1.0}))


def _write_memories(folder: Path, notes: Sequence[Message]) -> None:
    folder.mkdir(exist_ok=True)
    for it in notes:
        text = f"---\ntype: fact\n---\n# {it.subject}\n\nWe want it so: {it.subject}. {it.body}\n"
        (folder / f"{_slug(it)}.md").write_text(text, encoding="utf-8")


def _slug(message: Message) -> str:
    return f"{re.sub('[^a-z0-9]+', '-', message.subject.lower())[:60].strip('-')}-{message.commit[:6]}"


# --- asking -----------------------------------------------------------------------------------


def _asked(labelled: LabelledSet, part: Part, kinds: tuple[str, ...], corpus: str = "") -> Asked:
    return Asked(labelled.name, kinds, recipe_for(labelled, "auto"), part.questions, corpus)


def _outcome(engine: Engine, asked: Asked, question: Question) -> Outcome:
    of_kind = Query(question.text, Scope(kinds=asked.kinds), limit=10, recipe=asked.recipe)
    # Who wants each file once asks for files, as `--files` does.
    of_all = replace(of_kind, scope=Scope(kinds=FILE_KINDS if asked.recipe.endswith("-files") else ()))
    beside, alone = engine.search(of_all), engine.search(of_kind)
    roots = {it.name: it.root for it in engine.collections()}
    chars: Counter[str] = Counter()
    for hit in beside.hits:
        chars[hit.stored.record.kind] += len(hit.stored.chunk.text)
    return Outcome(
        question.judge(_found(alone, asked, roots))[MEASURE],
        question.judge(_found(beside, asked, roots))[MEASURE],
        tuple(hit.stored.record.kind for hit in beside.hits),
        chars,
    )


def _found(answer: Answer, asked: Asked, roots: Mapping[str, str]) -> list[Found]:
    return [
        _seen(hit, not asked.corpus or roots.get(hit.stored.record.collection) == asked.corpus) for hit in answer.hits
    ]


def _seen(hit: Hit, own: bool) -> Found:
    """A hit as judges see it: what another collection has is no answer, whatever its path."""
    record, chunk = hit.stored.record, hit.stored.chunk
    path = record.path if own else f"{record.collection}:{record.path}"
    return Found(path, chunk.start_line, chunk.end_line, chunk.text)


# --- telling ----------------------------------------------------------------------------------


def _line(found: Sequence[Outcome]) -> str:
    with_kind, without = fmean(it.score_with for it in found), fmean(it.score_without for it in found)
    return f"{len(found)} questions, {with_kind:.4f} with the kind, {without:.4f} without"


def _first(engine: Engine) -> str:
    hits = engine.search(Query(README_QUESTION, limit=1, recipe="auto")).hits
    return " > ".join([hits[0].stored.record.path, *hits[0].stored.chunk.trail[-1:]]) if hits else "nothing"


def section(outcomes: Outcomes, first: str) -> tuple[Section, bool]:
    rows, good = [], first == README_ANSWER
    for name, parts in outcomes.items():
        with_kind = fmean(fmean(it.score_with for it in part) for part in parts.values())
        without = fmean(fmean(it.score_without for it in part) for part in parts.values())
        every = [it for part in parts.values() for it in part]
        holds = without >= with_kind - AIM
        good &= holds
        figures = [f"{with_kind:.4f}", f"{without:.4f}", f"{without - with_kind:+.4f}"]
        commits = fmean(it.kinds[:1] == ("commit",) for it in every)
        total: Counter[str] = sum((it.chars for it in every), Counter())
        shares = " / ".join(
            f"{total[kind] / max(1, total.total()):.0%}" for kind in ("code", "doc", "commit", "memory")
        )
        cells = [name, f"{len(every)}", *figures, f"{commits:.0%}", shares, "yes" if holds else "**NO**"]
        rows.append(cells)
    header = ["set", "questions", "with --kind", "without", "difference", "a commit first", "characters", "holds"]
    lines = [
        f"{MEASURE} of the first ten hits of the recipe `auto` in a whole repository: sources, tests, documents, "
        f"translations, {MOST_COMMITS:,} commits and {MEMORIES} memories. `characters` is the share of code, "
        f"documents, commits and memories in the text shown without --kind. "
        f"Target: at most {AIM:g} lower without --kind.",
        "",
        *table(header, rows),
        "",
        f"The first question in the README, on this repository with its history: {first} (aim: {README_ANSWER}).",
    ]
    return Section("mixed", "Search over all kinds", lines), good


def measure(sets: Path, clones: Path, work: Path, encoder: str) -> tuple[Section, bool, bool]:
    """The section, whether no repository was missing, and whether what is aimed at holds."""
    there = [name for name in STATES if (clones / name).is_dir()]
    for name in STATES.keys() - {*there}:
        say(f"no clone of {name} in {clones}; its questions are skipped")
    told, good = section(*Mixture(sets, clones, work, encoder).measure(there))
    return told, len(there) == len(STATES), good
