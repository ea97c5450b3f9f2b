"""Lists a root territory by territory: each repository in it is asked by itself, the rest is walked."""

from __future__ import annotations

from dataclasses import dataclass

from dowse.ingest.sources.doors import Doors
from dowse.ingest.sources.git.bare import BareGround
from dowse.ingest.sources.git.repository import has_other_git, is_bare, work_tree_above
from dowse.ingest.sources.git.work_tree.listing import list_work_tree
from dowse.ingest.sources.ledger import Ledger
from dowse.ingest.sources.pathspecs import pathspecs
from dowse.ingest.sources.selection import Selection
from dowse.ingest.sources.walk import Walk
from dowse.ingest.sources.work_tree import WorkTree


@dataclass(frozen=True, slots=True)
class Survey:
    root: str
    walk: Walk
    work_tree: WorkTree
    max_file_bytes: int
    most: int | None = None

    def run(self) -> Ledger:
        ledger = Ledger(self.root, self.max_file_bytes, self.walk.selection.held, self.most)
        territories = [""]
        while territories:
            territories += self._take(territories.pop(), ledger)
        return ledger

    def _take(self, territory: str, ledger: Ledger) -> list[str]:
        """Writes the territory down and returns those nested in it."""
        place = f"{self.root}/{territory}" if territory else self.root
        # Asked in a bare repository, git would tell of that and not of the work tree around it; asked where `.git`
        # leads to a repository that is not read, it would tell nothing.
        top = work_tree_above(place) if self.walk.use_gitignore and not is_bare(place) else None
        top = None if has_other_git(place) else top
        listed = list_work_tree(top, place, self._asked(territory, place)) if top else None
        if listed is None:
            return self.walk.take(territory, ledger)
        if listed.complained:
            self._look_for_closed(territory, ledger)
        return self.work_tree.take(territory, listed.names, ledger)

    def _asked(self, territory: str, place: str) -> list[str] | None:
        """What of the territory is wanted, for git; None: all of it."""
        inside = self.walk.selection.part.inside(territory)
        return None if inside is None else pathspecs(place, inside)

    def _look_for_closed(self, territory: str, ledger: Ledger) -> None:
        """git says in prose where it could not look; walking finds it out reliably."""
        scout = Ledger(self.root, self.max_file_bytes)
        self.walk.take(territory, scout)
        ledger.adopt_closed(scout)


def survey(
    root: str,
    selection: Selection,
    barred: frozenset[str],
    *,
    use_gitignore: bool,
    max_file_bytes: int,
    most: int | None = None,
) -> Ledger:
    """Everything below `root` (absolute, resolved) that the selection wants; TooManyItems where that is more than
    `most`."""
    doors = Doors(root, barred)
    ground = BareGround(root)
    walk = Walk(root, selection, doors, ground, use_gitignore)
    return Survey(root, walk, WorkTree(root, selection, doors, ground), max_file_bytes, most).run()
