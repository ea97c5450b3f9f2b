"""What the arguments of the code search contract mean: comma lists, choices, filters on paths."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated

from dowse.errors import BadInput
from dowse.profiles.tool import MAX_ITEMS, Param

Keep = Callable[[str], bool]

MAX_NUMBER = 2**31 - 1

Dir = Annotated[str, Param("A directory at or below the server's; default: all of it")]
Ext = Annotated[str, Param("Only files with these extensions, comma separated: cs,sql")]
ExcludeDir = Annotated[Sequence[str], Param("Leave out files whose full path has any of these in it; case is ignored")]
Exclude = Annotated[Sequence[str], Param("The same as excludeDir")]
CountOnly = Annotated[bool, Param("Only the summary, no rows")]
MaxResults = Annotated[int, Param("How many rows at most; 0 is all of them", ge=0, le=MAX_NUMBER)]


def listed(text: str) -> tuple[str, ...]:
    """The parts between commas, without blanks around them and without empty ones."""
    found = tuple(part for it in text.split(",") if (part := it.strip()))
    if len(found) > MAX_ITEMS:
        raise BadInput(f"at most {MAX_ITEMS:,} parts between commas, not {len(found):,}; ask in several calls")
    return found


def one_of(name: str, value: str, choices: Sequence[str]) -> str:
    """The choice, in its own casing, whatever casing it was given in."""
    found = {it.lower(): it for it in choices}.get(value.strip().lower())
    if found is None:
        raise BadInput(f"Invalid {name}: '{value[:100]}'. Valid values: {', '.join(choices)}")
    return found


def slashes(path: str) -> str:
    """Paths are compared in lower case and with `/`, whichever way they were written."""
    return path.replace("\\", "/").lower()


def has_extension(extensions: Sequence[str]) -> Keep | None:
    """Whether a path ends with one of them; None where none is asked for."""
    endings = tuple("." + it.lower().lstrip(".") for it in extensions)
    return (lambda path: path.lower().endswith(endings)) if endings else None
