"""Names that git would never write itself; but an index and a tree are files that anyone can craft."""

from __future__ import annotations

import re

_ASTRAY = re.compile(r"(?:\A|/)(?:|\.|\.\.|\.git)(?:/|\Z)", re.IGNORECASE)


def leads_astray(name: str) -> bool:
    """Out of the work tree, or into what git keeps; a trailing slash is that of a repository inside of it."""
    return _ASTRAY.search(name.removesuffix("/")) is not None
