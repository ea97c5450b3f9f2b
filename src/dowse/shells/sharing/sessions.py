"""Who the shared server takes, and what it serves them with: a profile each, one engine for all that mean the same."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path

from dowse.profiles.tool import Profile
from dowse.shells.backstage import Backstage
from dowse.shells.serving import make_profile
from dowse.shells.sharing.hello import PROTOCOL, Hello, differences, told_settings, workspace_for
from dowse.shells.sharing.place import OtherBuild, Unshared
from dowse.shells.workspace import PROFILES


class Sessions:
    """What the server was started with, held against what each client was started with."""

    def __init__(
        self, index: Path, build: str, flags: Mapping[str, object], environment: Mapping[str, str], backstage: Backstage
    ) -> None:
        self.index = index
        self._build = build
        self._flags = flags
        self._environment = environment
        self._backstage = backstage
        self._turn = threading.Lock()
        self._taken: dict[str, Mapping[str, str]] = {}

    def profile_for(self, hello: Hello) -> Profile:
        """The client's tools, bound to its roots; refuses who would get other answers than from a server of its own."""
        self._check(hello)
        asked = hello.asked
        profile = make_profile(
            asked.profile,
            roots=asked.paths,
            flags=self._flags,
            environment=self._environment,
            cwd=Path(asked.cwd),
            backstage=self._backstage,
        )
        self._backstage.start()
        return profile

    def _check(self, hello: Hello) -> None:
        if hello.protocol != PROTOCOL or hello.build != self._build:
            raise OtherBuild("the shared server runs another version of Dowse; `dowse daemon restart` replaces it")
        if hello.asked.profile not in PROFILES:
            raise Unshared(f"there is no profile {hello.asked.profile[:100]!r}; there are {', '.join(PROFILES)}")
        workspace = workspace_for(hello.asked, self._flags, self._environment)
        if workspace.index != self.index:
            raise Unshared(f"the shared server serves {self.index}, not {workspace.index}")
        ours = told_settings(workspace, hello.asked, self._environment)
        with self._turn:
            # The first of a profile decides: `dowse.toml` may change, an open engine does not.
            taken = self._taken.setdefault(hello.asked.profile, ours)
        unlike = sorted({*differences(ours, hello.settings), *differences(taken, hello.settings)})
        if unlike:
            raise Unshared(
                f"the shared server has another {', '.join(unlike)[:200]}; `dowse daemon restart` with these settings"
            )
