"""What a process was started with, and where that leads: the index, and the place where its shared server is met."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from dowse.places import Places
from dowse.shells.sharing.hello import Asked, Hello, Verb, this_build, told_settings, workspace_for
from dowse.shells.sharing.place import MeetingPlace, meeting_place
from dowse.shells.sharing.reach import Reach, daemon_command
from dowse.shells.workspace import Workspace

_NOT_FOR_A_SERVER = ("share",)


@dataclass(frozen=True, slots=True)
class Start:
    asked: Asked
    flags: Mapping[str, object]
    environment: Mapping[str, str]
    workspace: Workspace

    @classmethod
    def of(
        cls,
        profile: str,
        *,
        roots: tuple[Path, ...],
        flags: Mapping[str, object],
        environment: Mapping[str, str],
        cwd: Path,
    ) -> Start:
        asked = Asked(profile, tuple(map(str, roots)), str(cwd))
        return cls(asked, flags, environment, workspace_for(asked, flags, environment))

    @property
    def place(self) -> MeetingPlace:
        temporary = Path(self.environment.get("TMPDIR") or "/tmp").absolute()
        return meeting_place(self.workspace.index, Places.of(self.workspace.settings).data_dir, temporary)

    def hello(self, verb: Verb) -> Hello:
        return Hello(verb, this_build(), self.asked, told_settings(self.workspace, self.asked, self.environment))

    def reach(self) -> Reach:
        flags = {name: value for name, value in self.flags.items() if name not in _NOT_FOR_A_SERVER}
        return Reach(self.place, self.hello("serve"), daemon_command(self.asked, flags))
