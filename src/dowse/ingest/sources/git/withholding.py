"""What of commits is not told: the changes of files that are left out of the index, and known secrets."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from dowse.text.secrets import masked
from dowse.text.surrogates import unquoted

LEFT_OUT: Final = "its changes are left out, as the file is: by its name, the settings or .dowseignore"
# No line of a file can look like this: each has a mark before it. A literal is found ten times as fast as `^diff`.
_FILE: Final = re.compile(rb"\ndiff --")
_HUNK: Final = re.compile(rb"^@@", re.MULTILINE)
_SIDES: Final = (b"--- ", b"+++ ")
_NOTHING: Final = "/dev/null"
_MOVES: Final = (b"rename from ", b"rename to ", b"copy from ", b"copy to ")


def leave_out_nothing(path: str) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Withholding:
    """`is_left_out` is asked about paths from the top of the repository."""

    is_left_out: Callable[[str], bool] = leave_out_nothing
    show_secrets: bool = False

    def told(self, patch: bytes) -> tuple[bytes, int]:
        """The patch without the parts of files that are left out under any of their names, and how many those are."""
        if not patch or self.is_left_out is leave_out_nothing:
            return patch, 0
        starts = [it.start() for it in _FILE.finditer(b"\n" + patch)]
        if not starts:
            return patch, 0
        parts = [patch[start:end] for start, end in zip(starts, [*starts[1:], len(patch)], strict=True)]
        kept = [it for it in parts if not any(map(self.is_left_out, _paths(it)))]
        left_out = len(parts) - len(kept)
        return (patch[: starts[0]] + b"".join(kept), left_out) if left_out else (patch, 0)

    def masked(self, data: bytes) -> tuple[bytes, int]:
        """With known secrets masked, as long as before, and how many those are."""
        return (data, 0) if self.show_secrets else masked(data)


MASKING: Final = Withholding()


def _paths(part: bytes) -> Iterator[str]:
    """The names of a file before and after, as they stand above its changes; none, where no line was changed."""
    hunk = _HUNK.search(part)
    for line in part[: hunk.start()].split(b"\n") if hunk else ():
        text = line.decode("utf-8", "replace").removesuffix("\t")
        if line.startswith(_SIDES) and text[4:] != _NOTHING:
            yield unquoted(text[4:]).partition("/")[2]  # behind the `a/` or `b/`
        elif line.startswith(_MOVES):
            yield unquoted(text.split(" ", 2)[2])
