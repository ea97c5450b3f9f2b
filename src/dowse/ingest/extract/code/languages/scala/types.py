"""Types as Scala writes them."""

from __future__ import annotations

import re
from functools import lru_cache

from dowse.text.expressions import instance

_SAY_NOTHING = frozenset({"", "Unit", "Nothing", "Any", "AnyRef"})
_FIRST = re.compile(r"\s+(?:with|&)\s+|\s*\{")


@lru_cache(maxsize=20_000)
def held(written: str) -> str:
    """`=> Foo` gives a Foo, `Foo*` several; what is a function or a tuple says nothing."""
    name = _FIRST.split(written.strip().removeprefix("=>").strip(), maxsplit=1)[0]
    if name in _SAY_NOTHING or name.startswith("(") or "=>" in name.partition("[")[0] or name.endswith(".type"):
        return ""
    if "|" in name.partition("[")[0]:
        return "|".join(filter(None, (held(part) for part in name.split("|"))))
    return instance(f"{name[:-1]}[]" if name.endswith("*") else name)
