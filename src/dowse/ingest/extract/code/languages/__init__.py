"""One module per language, or per family of them, with its `LANGUAGES`: a module that is added here is known."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from functools import lru_cache
from pathlib import PurePosixPath

from dowse.ingest.extract.code.language import Language


def language_of(path: str) -> Language | None:
    """The language of the file at `path`, by its name or its suffix."""
    name = PurePosixPath(path)
    known = _known()
    return known.get(name.name.lower()) or known.get(name.suffix.lower())


@lru_cache(maxsize=1)
def _known() -> Mapping[str, Language]:
    """Languages by suffix and by file name."""
    found: dict[str, Language] = {}
    for module in pkgutil.iter_modules(__path__, f"{__name__}."):
        for language in importlib.import_module(module.name).LANGUAGES:
            found.update(dict.fromkeys((*language.suffixes, *language.file_names), language))
    return found
