"""Reads the labelled sets as they lie in their directory; corpora that do not are fetched into another one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dowse.evaluate import read_beir
from dowse.evaluate.gold import DocumentJudge
from labelled.fetch import unpacked
from labelled.measures import Lined, Span, Target, all_files, coverage, documents, first_ranks, line_ranges, resolved
from labelled.model import Part, Question

_FEWEST_WORDS = 5


def beir(directory: Path, fetched: Path) -> tuple[Part, ...]:
    questions = []
    for query in read_beir(directory).queries:
        if not isinstance(query.judge, DocumentJudge):
            raise TypeError(f"{directory}: expected judgements by document")
        questions.append(Question(query.id, query.text, documents(query.judge.relevant)))
    return (Part(directory.name, directory / "corpus.jsonl", tuple(questions)),)


def octocode(directory: Path, fetched: Path) -> tuple[Part, ...]:
    questions = tuple(
        Question(entry["_id"], entry["text"], line_ranges([Target(*target) for target in entry["targets"]]))
        for entry in _lines(directory / "docs.jsonl")
    )
    return (Part(directory.name, directory / "corpus", questions),)


def chroma(directory: Path, fetched: Path) -> tuple[Part, ...]:
    corpora = directory / "corpora"
    texts = {path.name: Lined.of(path.read_bytes().decode()) for path in sorted(corpora.glob("*.md"))}
    questions = tuple(
        Question(
            entry["_id"],
            entry["text"],
            coverage(f"{entry['corpus']}.md", [Span(*reference) for reference in entry["references"]], texts),
        )
        for entry in _lines(directory / "questions.jsonl")
    )
    return (Part(directory.name, corpora, questions),)


def swebench(directory: Path, fetched: Path) -> tuple[Part, ...]:
    return (issues(directory, unpacked("django", fetched)),)


def issues(directory: Path, corpus: Path) -> Part:
    """The issues of Django, asked of a corpus that has its layout."""
    questions = tuple(
        Question(entry["_id"], entry["text"], all_files(frozenset(entry["gold_files"])))
        for entry in _lines(directory / "django_dev.jsonl")
    )
    return Part("django", corpus, questions)


def semble(directory: Path, fetched: Path) -> tuple[Part, ...]:
    """One part per repository."""
    return tuple(
        repository(labels, unpacked(labels.stem, fetched)) for labels in sorted((directory / "annotations").glob("*"))
    )


def dialogue(directory: Path, fetched: Path) -> tuple[Part, ...]:
    """Meetings of QMSum (MIT licence): each thing that somebody says is a note of its own, with the speaker's name, and
    the questions have the notes that answer them. What has hardly any words is no note."""
    transcripts, corpus = fetched / "src" / "qmsum" / "data" / "ALL" / "jsonl" / "test.jsonl", fetched / "notes.jsonl"
    if not transcripts.is_file():
        raise SystemExit(f"notes: git clone https://github.com/Yale-LILY/QMSum {fetched / 'src' / 'qmsum'}")
    notes: list[str] = []
    questions = []
    for number, meeting in enumerate(_lines(transcripts)):
        said = {
            turn: f"{it['speaker']}: {it['content']}"
            for turn, it in enumerate(meeting["meeting_transcripts"])
            if len(it["content"].split()) >= _FEWEST_WORDS
        }
        notes += [json.dumps({"_id": f"{number}-{turn}", "title": "", "text": text}) for turn, text in said.items()]
        for place, asked in enumerate(meeting["specific_query_list"]):
            spans = [range(int(first), int(last) + 1) for first, last in asked["relevant_text_span"]]
            relevant = {f"{number}-{turn}": 1.0 for span in spans for turn in span if turn in said}
            if relevant:
                questions.append(Question(f"{number}-{place}", asked["query"], documents(relevant)))
    corpus.write_text("\n".join(notes) + "\n", encoding="utf-8")
    return (Part("notes", corpus, tuple(questions)),)


def repository(labels: Path, corpus: Path) -> Part:
    """The questions of one repository, asked of a corpus that has its layout, or the end of it."""
    paths = sorted(path.relative_to(corpus).as_posix() for path in corpus.rglob("*") if path.is_file())
    questions = tuple(
        Question(f"{labels.stem}:{number}", entry["query"], first_ranks(_targets(entry, paths)))
        for number, entry in enumerate(json.loads(labels.read_text(encoding="utf-8")))
    )
    return Part(labels.stem, corpus, questions)


def _targets(entry: dict[str, Any], paths: list[str]) -> list[Target]:
    labels: list[dict[str, Any]] = [
        {"path": label} if isinstance(label, str) else label for label in (*entry["relevant"], *entry["secondary"])
    ]
    return [
        Target(resolved(label["path"], paths), label.get("start_line") or 0, label.get("end_line") or 0)
        for label in labels
    ]


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    return (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip())
