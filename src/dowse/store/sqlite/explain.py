"""What the database and the system complain about, in sentences that say what it is about and what to do next."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

from dowse.errors import BadInput, IndexBusy, IndexDamaged
from dowse.store.sqlite.holder import holder_of


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """SQLite's complaints about the index at this path as ours."""
    try:
        yield
    except (apsw.BusyError, apsw.LockedError):
        raise IndexBusy(busy_sentence(path)) from None
    except (apsw.NotADBError, apsw.CorruptError, apsw.SQLError, apsw.ConstraintError, UnicodeDecodeError) as error:
        # The statements are sound, so what they are about is not: a table is gone, or an index knows what is not there.
        raise IndexDamaged(f"{path} is damaged or not an index ({error}); `dowse rebuild` makes it anew") from error
    except apsw.ReadOnlyError as error:
        if (
            getattr(error, "extendedresult", 0) == apsw.SQLITE_READONLY_ROLLBACK
        ):  # an index has a log, and never a journal
            raise IndexDamaged(f"{path} has a journal that is not its own; `dowse rebuild` makes it anew") from error
        raise BadInput(_refusal(path, error)) from error
    except (apsw.CantOpenError, apsw.FullError, apsw.IOError, OSError) as error:
        raise BadInput(_refusal(path, error)) from error


def busy_sentence(path: Path, waited_s: float | None = None, *, ours: bool = False) -> str:
    """Who is writing, as far as that is known; only where that is `ours` to wait for, it may be this process itself."""
    holder = holder_of(path)
    known = holder is not None and (ours or not holder.is_this_process)
    who = holder.told() if holder and known else "another process or job"
    waited = "" if waited_s is None else f" (waited {waited_s:g} s)"
    return (
        f"{who} is writing to {path}{waited}; searching works meanwhile, "
        "try again when it is done or raise --lock-timeout-s"
    )


def _refusal(path: Path, error: apsw.Error | OSError) -> str:
    if isinstance(error, apsw.FullError) or getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT):
        return f"there is no room left on the disk of {path}; make some and try again: what is indexed so far is kept"
    if isinstance(error, apsw.ReadOnlyError):
        return f"can not write to {path}: {error}; searching works, to index make it writable or name another --index"
    return f"can not use {path} as an index: {error}; check the path and the disk, or name another --index"
