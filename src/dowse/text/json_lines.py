"""Parsing of JSON lines written by users."""

from __future__ import annotations

import json

from dowse.errors import BadInput


def parse_json_object(raw: bytes, where: object) -> dict[str, object]:
    """Parse one line as a JSON object. `where` names the line in error messages."""
    try:
        entry = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{where}: not JSON ({error}); correct the line") from error
    if not isinstance(entry, dict):
        raise BadInput(f"{where}: expected a JSON object; correct the line")
    return entry
