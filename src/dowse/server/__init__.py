"""Command line and servers. The first import records which process started this one."""

from __future__ import annotations

from dowse.server import parent as parent

PROFILES = ("core", "rifflux", "ragdocs", "codesearch", "all")
