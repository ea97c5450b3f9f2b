"""Walks directories with the semantics of ignore files, for where git cannot be asked."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass

from dowse.ingest.sources.doors import Doors
from dowse.ingest.sources.git.bare import BareGround
from dowse.ingest.sources.git.repository import GIT_IGNORE_FILE, is_work_tree, rules_above
from dowse.ingest.sources.ignore_files import NO_RULES, IgnoreRules
from dowse.ingest.sources.ledger import Ledger
from dowse.ingest.sources.selection import Selection


@dataclass(frozen=True, slots=True)
class Walk:
    root: str
    selection: Selection
    doors: Doors
    ground: BareGround
    use_gitignore: bool

    def take(self, territory: str, ledger: Ledger) -> list[str]:
        """Writes the territory's files down; returns the repositories nested in it: territories too."""
        nested: list[str] = []
        pending = [(territory, rules_above(self._absolute(territory)) if self.use_gitignore else NO_RULES)]
        while pending:
            directory, above = pending.pop()
            if directory != territory and self._is_nested(directory):
                nested.append(directory)
                continue
            try:
                pending += self._visit(directory, above, ledger)
            except OSError as error:
                ledger.close(directory, error)
        return nested

    def _visit(self, directory: str, above: IgnoreRules, ledger: Ledger) -> list[tuple[str, IgnoreRules]]:
        """Writes the directory's files down; returns its directories with the rules for what is in them."""
        own = self.doors.rules(directory)
        if own is None or not self.ground.reaches(directory):
            return []
        base = self._absolute(directory) + "/"
        with os.scandir(base) as scan:
            entries = [entry for entry in scan if entry.name != ".git"]
        rules = above.entering(base, GIT_IGNORE_FILE) if self.use_gitignore else NO_RULES
        prefix = f"{directory}/" if directory else ""
        is_anybodys = self.ground.around(directory) is None
        files = [entry for entry in entries if not entry.is_dir(follow_symlinks=False)]
        for entry in files if is_anybodys else ():
            path = prefix + entry.name
            if self.selection.has_file(path):
                if not _ignored((rules, own), base, entry.name):
                    _add(ledger, path, entry)
            elif (why := self.selection.why_left_out(path)) and not _ignored((rules, own), base, entry.name):
                _leave_out(ledger, path, entry, why)
        names = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
        wanted = [name for name in names if self.selection.has_directory(prefix + name)]
        for name in set(names).difference(wanted) if is_anybodys else ():
            if self.selection.passes_over(prefix + name) and not rules.ignores(base, name + "/"):
                ledger.pass_over(prefix + name)
        return [(prefix + name, rules) for name in wanted if not rules.ignores(base, name + "/")]

    def _is_nested(self, directory: str) -> bool:
        return self.use_gitignore and is_work_tree(self._absolute(directory))

    def _absolute(self, directory: str) -> str:
        return f"{self.root}/{directory}" if directory else self.root


def _ignored(stacks: Iterable[IgnoreRules], base: str, name: str) -> bool:
    return any(rules.ignores(base, name) for rules in stacks)


def _leave_out(ledger: Ledger, path: str, entry: os.DirEntry[str], why: str) -> None:
    if entry.is_file(follow_symlinks=False):
        ledger.leave_out(path, why)


def _add(ledger: Ledger, path: str, entry: os.DirEntry[str]) -> None:
    try:
        ledger.add(path, entry.stat(follow_symlinks=False))
    except FileNotFoundError:
        return  # deleted since the directory was read
