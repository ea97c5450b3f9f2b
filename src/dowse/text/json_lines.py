"""Lines of JSON that somebody has written: one object each, or what is wrong with the line."""

from __future__ import annotations

import json

from dowse.errors import BadInput


def json_object(raw: bytes, where: object) -> dict[str, object]:
    """`where` is the place of the line, as messages show it."""
    try:
        entry = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{where}: not JSON ({error}); correct the line") from error
    if not isinstance(entry, dict):
        raise BadInput(f"{where}: expected a JSON object; correct the line")
    return entry
