"""The ways in: the command line and the servers. What comes first is a note of who started this process."""

from __future__ import annotations

from dowse.shells import parent as parent

PROFILES = ("core", "rifflux", "ragdocs", "codesearch", "all")
