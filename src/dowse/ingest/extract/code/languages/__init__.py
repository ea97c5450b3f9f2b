"""The supported languages: every module here is loaded and contributes its `LANGUAGES`."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from functools import lru_cache
from pathlib import PurePosixPath

from dowse.ingest.extract.code.language import Language


def language_of(path: str) -> Language | None:
    """Return the language of the file at `path`, by its name or suffix."""
    name = PurePosixPath(path)
    languages = _languages_by_key()
    return languages.get(name.name.lower()) or languages.get(name.suffix.lower())


@lru_cache(maxsize=1)
def _languages_by_key() -> Mapping[str, Language]:
    """Map suffixes and file names to languages."""
    found: dict[str, Language] = {}
    for module in pkgutil.iter_modules(__path__, f"{__name__}."):
        for language in importlib.import_module(module.name).LANGUAGES:
            found.update(dict.fromkeys((*language.suffixes, *language.file_names), language))
    return found
