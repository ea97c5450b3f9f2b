"""`dowse grep`"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from dowse.errors import BadInput
from dowse.lookup.grep.question import Excerpt, Lines, Manner
from dowse.model import IN_FILES
from dowse.profiles.core_asking import make_scope
from dowse.profiles.core_grep import Around, ShownFile, grep_json, grep_sentence, shown_files, stale_sentence
from dowse.shells.cli.options import json_option, root_option, settings_options, workspace_of
from dowse.shells.cli.paths import Paths, with_root
from dowse.shells.cli.search import ready
from dowse.shells.cli.streams import Span, highlight, is_coloured, screen_size, style
from dowse.text.folding import WORD
from dowse.text.matching import compile_regex
from dowse.text.regexes import escaped

_DEFAULT_FILES = 50
_NUMBER = click.IntRange(0, 1_000)


@click.command("grep")
@click.argument("patterns", nargs=-1, required=True, metavar="PATTERN…")
@click.option("-w", "--word", "manner", flag_value="word", help="Each PATTERN is a whole word.")
@click.option("-F", "--fixed", "manner", flag_value="substring", help="Each PATTERN is text as it is.")
@click.option("--phrase", "manner", flag_value="phrase", help="Words in a row, however spaced, also across lines.")
@click.option("-e", "--regex", "manner", flag_value="regex", help="Each PATTERN is a regex of a line; the default.")
@click.option("-i/-s", "--ignore-case/--case-sensitive", "ignore_case", default=True, help="Default: -i.")
@click.option("--all", "every", is_flag=True, help="Only files that have every PATTERN.")
@click.option("--path", "paths", multiple=True, metavar="GLOB", help="Only files matching; may be repeated.")
@click.option("--not-path", "not_paths", multiple=True, metavar="GLOB", help="No files matching; may be repeated.")
@click.option("-C", "--context", "context", type=_NUMBER, default=0, metavar="N", help="Lines around each line found.")
@click.option("-B", "--before", "before", type=_NUMBER, metavar="N", help="Lines before it.")
@click.option("-A", "--after", "after", type=_NUMBER, metavar="N", help="Lines after it.")
@click.option("-c", "--count", "only_count", is_flag=True, help="Only how many lines each file has.")
@click.option("-l", "--files", "only_files", is_flag=True, help="Only the paths of the files.")
@root_option
@json_option
@settings_options(limit="How many files; default: 50.")
def command(
    patterns: tuple[str, ...],
    manner: Manner | None,
    ignore_case: bool,
    every: bool,
    paths: tuple[str, ...],
    not_paths: tuple[str, ...],
    context: int,
    before: int | None,
    after: int | None,
    only_count: bool,
    only_files: bool,
    root: Path | None,
    as_json: bool,
    **flags: Any,  # noqa: ANN401
) -> int:
    """Find the lines that hold a PATTERN, in the index: the files with the best matches first, -k of them.

    Exit code 0: found; 1: nothing found (the last line, on stderr, says what was searched); 2: an error.
    """
    if only_count and only_files:
        raise BadInput("give --count or --files, not both")
    workspace = workspace_of(root, flags)
    around = Around(context if before is None else before, context if after is None else after)
    asked = Lines(
        terms=patterns,
        manner=manner or "regex",
        every=every,
        case_sensitive=not ignore_case,
        scope=make_scope(IN_FILES, paths=paths, excluded=not_paths),
        limit=_DEFAULT_FILES if flags.get("limit") is None else workspace.settings.limit,
    )
    with ready(workspace) as engine:
        here = Paths.of(engine, workspace)
        answer = engine.grep(here.asked(asked))
        shown = list(shown_files(engine, answer, around))
        completeness = engine.completeness(answer.seen)
    if as_json:
        click.echo(json.dumps(with_root(grep_json(answer, shown, completeness), here), ensure_ascii=False))
        return 0 if answer.files else 1
    shown, completeness = here.shown(shown), here.shown(completeness)
    printed = _Printed(around, _find_matches(asked), is_grouped=screen_size() is not None)
    for line in printed.counts(shown, only_files) if only_count or only_files else printed.lines(shown):
        click.echo(line)
    for sentence in (stale_sentence(shown), grep_sentence(answer, completeness)):
        if sentence:
            click.echo(f"dowse: {sentence}", err=True)
    return 0 if answer.files else 1


@dataclass(frozen=True, slots=True)
class _Printed:
    """Files and lines as ripgrep prints them. `is_grouped`: the path once above its lines, as on a terminal; without
    it each line begins with its path, as programs and editors read it."""

    around: Around
    find_matches: Callable[[str], list[Span]]
    is_grouped: bool

    def counts(self, shown: Sequence[ShownFile], only_files: bool) -> Iterator[str]:
        for name, it in _named(shown):
            yield name if only_files else f"{name}:{len(it.found.lines)}"

    def lines(self, shown: Sequence[ShownFile]) -> Iterator[str]:
        for place, (name, it) in enumerate(_named(shown)):
            if place and (self.is_grouped or self.around):
                yield "" if self.is_grouped else "--"
            if self.is_grouped:
                yield name
            yield from self._excerpts("" if self.is_grouped else name, it.excerpts)

    def _excerpts(self, name: str, excerpts: Sequence[Excerpt]) -> Iterator[str]:
        """A colon behind what was found, a dash behind what stands around it."""
        for place, excerpt in enumerate(excerpts):
            if place and self.around:
                yield "--"
            matches = set(excerpt.matches)
            for row, text in enumerate(excerpt.lines):
                mark = ":" if row in matches else "-"
                number = style(str(excerpt.start_line + row), fg="green")
                shown = highlight(text, self.find_matches(text)) if row in matches else text
                yield f"{f'{name}{mark}' if name else ''}{number}{mark}{shown}"


def _named(shown: Sequence[ShownFile]) -> Iterator[tuple[str, ShownFile]]:
    several = len({it.found.collection for it in shown}) > 1
    for it in shown:
        name = f"[{it.found.collection}] {it.found.path}" if several else it.found.path
        yield style(name, fg="magenta"), it


def _find_matches(asked: Lines) -> Callable[[str], list[Span]]:
    """Where a line holds one of the terms; of a phrase that goes on in the next line nothing is marked."""
    if not is_coloured():
        return lambda line: []
    make, ignore_case = _PATTERNS[asked.manner], not asked.case_sensitive
    patterns = []
    for term in asked.terms:
        with suppress(BadInput):  # a word may be longer than a regex
            patterns.append(compile_regex(make(term), ignore_case=ignore_case))
    return lambda line: [match.span() for pattern in patterns for match in pattern.finditer(line)]


def _words_pattern(term: str) -> str:
    before, after = (r"\b" if WORD.match(letter) and letter.isascii() else "" for letter in (term[0], term[-1]))
    return before + r"\s+".join(map(escaped, term.split())) + after


_PATTERNS: dict[Manner, Callable[[str], str]] = {
    "regex": str,
    "substring": escaped,
    "word": _words_pattern,
    "phrase": _words_pattern,
}
