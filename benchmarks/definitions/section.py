"""The section on definitions: recall by language against another lister, what is missing, what does not count."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from definitions.comparing import DEFINED, GOALS, GROUPS, HELD, Compared, Span, Tag, compare
from definitions.listers import LISTERS, listed
from definitions.sources import PACKAGES, files_of
from dowse.ingest.extract.registry import extract
from dowse.model import Item
from measuring import say
from report import Section, table

_SAMPLES: Final = 4
_SHOWN_KINDS: Final = 6


@dataclass(frozen=True, slots=True)
class Measured:
    language: str
    files: int
    compared: Compared
    left_out: Counter[str]


def measure(languages: Sequence[str], work: Path) -> tuple[Section, bool]:
    """The section, and whether every goal is reached."""
    found = [_measured(language, work) for language in languages]
    good = all(_reached(it.compared, group) for it in found for group in GROUPS)
    return Section("definitions", "Definitions", lines(found, work)), good


def _reached(compared: Compared, group: str) -> bool:
    recall = compared.recall(group)
    return recall is None or recall >= GOALS[group]


def _measured(language: str, work: Path) -> Measured:
    files = files_of(language, work)
    say(f"{language}: {len(files)} files")
    other = listed(language, files)
    spans = [span for path in files for span in _spans(path)]
    compared = compare(other.tags, spans, [(path, name) for path, name, _ in other.left_out])
    return Measured(language, len(files), compared, Counter(reason for *_, reason in other.left_out))


def _spans(path: Path) -> Iterator[Span]:
    data = path.read_bytes()
    for symbol in extract(Item(path.name, len(data), 0), data).symbols:
        # ctags leaves out the marks that are a part of names: `$x` of PHP, `#x` of JavaScript.
        yield Span(str(path), symbol.name.lstrip("$#") or symbol.name, symbol.start_line, symbol.end_line, symbol.kind)


def lines(found: Sequence[Measured], work: Path) -> list[str]:
    header = ["language", "files", DEFINED, "recall", HELD, "recall", "only in Dowse"]
    return [
        "Recall of Dowse's definitions, compared with universal-ctags on files of Debian source packages. ctags cannot"
        " read Scala and Swift; there, the tags query of the grammar is the reference. A definition counts as found if"
        " Dowse has one of the same name that starts at most one line away, or that spans its line. `only in Dowse`"
        f" counts names that the reference does not list in that file. Targets: {GOALS[DEFINED]} and {GOALS[HELD]}.",
        "",
        *table(header, [_row(it) for it in found]),
        *(line for it in found for line in _details(it, work)),
    ]


def _row(it: Measured) -> list[str]:
    counted = [cell for group in GROUPS for cell in (f"{it.compared.listed[group]:,}", _share(it.compared, group))]
    only = len(it.compared.only_here)
    return [it.language, f"{it.files:,}", *counted, f"{only:,} ({only / max(1, it.compared.here):.0%})"]


def _share(compared: Compared, group: str) -> str:
    recall = compared.recall(group)
    return "–" if recall is None else f"{recall:.3f}" + ("" if _reached(compared, group) else " (below)")


def _details(it: Measured, work: Path) -> Iterator[str]:
    yield from ("", f"**{it.language}** ({', '.join(name for name, _ in PACKAGES[it.language].packages)})", "")
    for group in GROUPS:
        for kind, count, tags in it.compared.misses(group)[:_SHOWN_KINDS]:
            yield f"- missing: {count:,} {kind}, such as {', '.join(_sample(tag, work) for tag in tags[:_SAMPLES])}"
    for kind, count in Counter(span.kind for span in it.compared.only_here).most_common(_SHOWN_KINDS):
        samples = list({s.path: s for s in it.compared.only_here if s.kind == kind}.values())[:_SAMPLES]
        yield f"- only in Dowse: {count:,} {kind}, such as {', '.join(f'`{span.name}`' for span in samples)}"
    for reason, count in it.left_out.most_common():
        yield f"- not counted: {count:,}: {reason}"
    if LISTERS[it.language].query:
        yield "- listed by the grammar's tags query with the same parser, so only the choice of nodes is independent"


def _sample(tag: Tag, work: Path) -> str:
    path = Path(tag.path)
    place = path.relative_to(work / "corpora" / "src") if path.is_relative_to(work / "corpora" / "src") else path.name
    return f"`{tag.name}` {place}:{tag.line}"
