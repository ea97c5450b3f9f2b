"""Damaged files are not deleted but set aside, one of each kind, so that somebody can look at what happened."""

from __future__ import annotations

import logging
from pathlib import Path

_log = logging.getLogger(__name__)


def set_aside(path: Path) -> bool:
    """A derived file that is damaged, or nobody can read; whether it is out of the way."""
    aside = path.with_name(f"{path.name}.damaged")
    try:
        path.replace(aside)
    except FileNotFoundError:
        return True
    except OSError as error:
        _log.warning("%s is damaged and can not be set aside: %s", path, error)
        return False
    _log.warning("%s was damaged: it is %s now, and made anew", path, aside)
    return True
