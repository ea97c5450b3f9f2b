"""`dowse search`"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from dowse.engine import Engine
from dowse.errors import BadInput, IndexBusy, NotIndexed
from dowse.model import Answer, Query
from dowse.profiles.core_asking import file_kinds, make_scope, of_files
from dowse.profiles.core_json import answer_json
from dowse.search.plan import check_recipe
from dowse.shells.breadth import Breadth
from dowse.shells.cli.hits import DEFAULT_LINES, Layout, format_answer
from dowse.shells.cli.options import json_option, roots_option, settings_options, workspace_of
from dowse.shells.cli.paths import Paths, with_root
from dowse.shells.cli.streams import screen_size
from dowse.shells.workspace import Workspace

_DEFAULT_HITS = 5  # of text, with which an answer fits on a screen of 24 lines; JSON has those of the setting
FIRST_HISTORY_S = 3.0  # before the first answer; `dowse index` and servers read the rest


@click.command("search")
@click.argument("query", nargs=-1, required=True)
@click.option(
    "--mode",
    type=click.Choice(["hybrid", "lexical", "semantic"]),
    help="Words, meaning, or both fused; default: what suits the query.",
)
@click.option("--recipe", help="A recipe by name; --mode names the common ones.")
@click.option(
    "--kind",
    "kinds",
    multiple=True,
    type=click.Choice(["doc", "code", "commit", "memory"]),
    help="Only this kind; may be repeated.",
)
@click.option(
    "--path",
    "paths",
    multiple=True,
    metavar="GLOB",
    help="Only files matching, or commits that touch them; may be repeated.",
)
@click.option("--not-path", "not_paths", multiple=True, metavar="GLOB", help="No files matching; may be repeated.")
@click.option("--tag", "tags", multiple=True, help="Only documents and memories with this tag; may be repeated.")
@click.option(
    "--author", "authors", multiple=True, metavar="PART", help="Only commits of theirs: a part of the name or address."
)
@click.option("--since", metavar="TIME", help="Only what was changed or made since: 2026-11-02, 7d, 12h.")
@click.option("--until", metavar="TIME", help="Only what was last changed or made before this.")
@click.option(
    "--hypothesis", default="", metavar="TEXT", help="What an answer might say; compared by meaning in place of QUERY."
)
@click.option("--files", is_flag=True, help="Each file once, by its best passage.")
@click.option(
    "--budget",
    type=click.IntRange(1, 10_000_000),
    metavar="TOKENS",
    help="About how long the texts may be in all.",
)
@click.option(
    "--lines",
    type=click.IntRange(0, 10_000),
    default=DEFAULT_LINES,
    show_default=True,
    metavar="N",
    help="Lines of each passage, around what was found (0 = whole passages).",
)
@click.option("--explain", is_flag=True, help="Say why each hit is there, and what each step did.")
@roots_option
@json_option
@settings_options(limit=f"How many hits; default: {_DEFAULT_HITS}, with --json 10.")
def command(
    query: tuple[str, ...],
    mode: str | None,
    recipe: str | None,
    kinds: tuple[str, ...],
    paths: tuple[str, ...],
    not_paths: tuple[str, ...],
    tags: tuple[str, ...],
    authors: tuple[str, ...],
    since: str | None,
    until: str | None,
    hypothesis: str,
    files: bool,
    budget: int | None,
    lines: int,
    explain: bool,
    roots: tuple[Path, ...],
    as_json: bool,
    **flags: Any,  # noqa: ANN401
) -> int:
    """Ask for something and get ranked passages. Put a "phrase" in quotes to require it.

    Exit code 0: found; 1: nothing found (the last line says what was searched); 2: an error.
    """
    if mode and recipe:
        raise BadInput("give --mode or --recipe, not both")
    limit = {} if as_json else {"limit": _DEFAULT_HITS}
    workspaces = [workspace_of(it, flags, **limit) for it in roots or (None,)]
    name = recipe or mode or "auto"
    asked = Query(
        " ".join(query),
        make_scope(file_kinds(kinds, files), paths, tags, since, until, not_paths, authors),
        workspaces[0].settings.limit,
        of_files(name) if files and not name.endswith("-files") else name,
        budget,
        hypothesis,
    )
    check_recipe(asked.recipe)
    with opened_roots(workspaces) as opened:
        answer = opened.search(asked)
        # Before the engine is closed, which may finish indexing a file that changed.
        if as_json:
            click.echo(json.dumps(opened.as_json(answer), ensure_ascii=False))
        else:
            size = screen_size()
            layout = Layout(lines, size.columns if size else None, explain)
            hint = " (-k shows more)" if len(answer.hits) == asked.limit else ""
            click.echo(format_answer(opened.shown(answer), layout, hint))
    return 0 if answer.hits else 1


@dataclass(frozen=True, slots=True)
class OpenedRoots:
    """The roots that are searched, by name. A single one takes globs from here; several take them from each root."""

    engines: Mapping[str, Engine]
    paths: Mapping[str, Paths]

    def search(self, query: Query) -> Answer:
        if len(self.engines) > 1:
            from dowse.profiles.core_roots import search_roots

            return search_roots(query, self.engines)
        [(engine, here)] = zip(self.engines.values(), self.paths.values(), strict=True)
        return engine.search(here.asked(query))

    def shown(self, answer: Answer) -> Answer:
        """With paths as they are from here."""
        if len(self.paths) > 1:
            return replace(answer, hits=tuple(self.paths[hit.root].shown(hit) for hit in answer.hits))
        [here] = self.paths.values()
        return here.shown(answer)

    def as_json(self, answer: Answer) -> dict[str, object]:
        """Of several roots, each hit names its own."""
        data = answer_json(answer)
        return data if len(self.paths) > 1 else with_root(data, *self.paths.values())


@contextmanager
def opened_roots(workspaces: Sequence[Workspace]) -> Iterator[OpenedRoots]:
    """The index of each; a named index is one for all of them."""
    indexes = {it.index: it for it in reversed(workspaces)}
    own = list(reversed(indexes.values()))
    with ExitStack() as opened:
        engines = [opened.enter_context(ready(it)) for it in own]
        names = [""]
        if len(own) > 1:
            from dowse.profiles.core_roots import root_names

            names = root_names([it.root for it in own])
        paths = [Paths.of(engine, it) for engine, it in zip(engines, own, strict=True)]
        yield OpenedRoots(dict(zip(names, engines, strict=True)), dict(zip(names, paths, strict=True)))


def ready(workspace: Workspace) -> Engine:
    """The index of this workspace, built first where there is none or where building was cut off."""
    from dowse.shells.cli.index import build

    try:
        engine = workspace.open(create=False)
        if _is_built(workspace, engine):
            return _to_be_finished(workspace, engine)
        engine.close()
    except NotIndexed:
        confirm_breadth(workspace)
        if sys.stderr.isatty():
            click.echo(f"No index of {workspace.root} yet: building it.", err=True)
    try:
        settings = replace(workspace.settings, lock_timeout_s=0.0)
        build(
            replace(workspace, settings=settings), first_answer_s=settings.first_answer_s, history_for_s=FIRST_HISTORY_S
        )
    except IndexBusy:
        click.echo("Another process is indexing: answering from what is there.", err=True)
    return _to_be_finished(workspace, workspace.open(create=False))


def _to_be_finished(workspace: Workspace, engine: Engine) -> Engine:
    """The engine; what is left to do of its index goes on in the background when the command has ended."""
    if workspace.settings.background and engine.is_unfinished():
        from dowse.shells.cli.background import leave_to_background

        leave_to_background(workspace, engine)
    return engine


def confirm_breadth(workspace: Workspace) -> None:
    """Before a first search indexes everything: asked on a terminal, refused elsewhere, with the next step."""
    breadth = Breadth(workspace)
    if problem := breadth.problem():
        is_terminal = sys.stdin.isatty() and sys.stderr.isatty()
        if not is_terminal or not click.confirm(f"{breadth.found}. Index all of it?", err=True):
            raise BadInput(problem)


def _is_built(workspace: Workspace, engine: Engine) -> bool:
    """Whether the workspace's own root was once read to its end; a named index without it is taken as it is."""
    collections = engine.collections()
    own = [it for it in collections if Path(it.root) == workspace.root or Path(it.root) in workspace.root.parents]
    return bool(collections) if not own and workspace.settings.index else any(it.synced_at for it in own)
