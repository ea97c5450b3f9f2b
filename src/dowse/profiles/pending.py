"""What changed on disk and is not in an answer yet, as every contract tells it."""

from __future__ import annotations

from dowse.model import Seen


def pending_json(seen: Seen) -> dict[str, object]:
    """`looked`: whether every file was looked at; if only some, more may have changed since `as_of`."""
    looked = "all" if seen.complete else "some"
    return {"count": seen.pending, "paths": list(seen.examples), "notes": list(seen.notes), "looked": looked}


def if_pending(seen: Seen) -> dict[str, object]:
    """For answers whose keys are fixed by a contract: there only when it has something to say."""
    return {"pending": pending_json(seen)} if seen.sentences() else {}


def pending_text(seen: Seen) -> str:
    """Empty when the answer is true for the files as they are."""
    return "; ".join(seen.sentences())
