"""Extractors that do what a broken parser may do, told by the text of the file; workers import them by name."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path
from typing import cast

from dowse.errors import Unreadable
from dowse.ingest.extract.registry import extract
from dowse.model import Extraction, Item


def poisonous(item: Item, data: bytes) -> Extraction:
    word, flag = data.decode(errors="replace").split()[:1], data.decode(errors="replace").split()[1:2]
    if word in (["hang"], ["sleep"]) and flag and Path(flag[0]).is_absolute():
        Path(flag[0]).touch()  # from here on it does
    if word == ["abort"]:
        os.abort()
    if word == ["hang"]:
        while True:
            pass
    if word == ["sleep"]:
        time.sleep(600)
    if word == ["exit"]:
        os._exit(3)
    if word == ["print"]:
        os.write(1, b"what a library prints is no answer")
        print("nor this", file=sys.stdout, flush=True)  # noqa: T201
    if word == ["read"]:
        assert sys.stdin.read() == ""
    if word == ["memory"]:
        return Extraction("code", str(len(bytearray(1 << 40))), "", ())
    if word == ["nonsense"]:
        return cast(Extraction, "no extract")
    if word == ["unnamed"]:
        return Extraction(cast(str, None), "title", "unnamed", ())
    if word == ["raise"]:
        raise ZeroDivisionError("by the parser")
    if word == ["refuse"]:
        raise Unreadable("it is not for us", lasting=False)
    if word == ["deaf"]:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
        time.sleep(600)
    return extract(item, data)


def garbled(item: Item, data: bytes) -> Extraction:
    """Writes into the pipe of the answers, as a process whose memory is damaged might."""
    for descriptor in range(3, 16):
        try:
            os.write(descriptor, data)
        except OSError:
            continue
    return extract(item, data)
