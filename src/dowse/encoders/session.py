"""onnxruntime sessions: of a model at hand, or of a file that is built once, kept, and rebuilt when damaged.

This is the one module that imports onnxruntime.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

# The import itself starts telemetry: it writes a device id and a database, and looks up its collector seconds later.
# `disable_telemetry_events` comes too late for that. A value that the user has set stays.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

import onnxruntime
from onnxruntime.capi import onnxruntime_pybind11_state as failures

from dowse.places import replace_file

Session: TypeAlias = Any

FATAL = 4
NOT_LOADED = (
    failures.Fail,
    failures.InvalidArgument,
    failures.InvalidGraph,
    failures.InvalidProtobuf,
    failures.NoSuchFile,
    failures.RuntimeException,
)


def open_session(kept: Path, build: Callable[[], bytes], threads: int) -> Session:
    """A session of the file `kept`; one that is missing or does not load is built anew."""
    with contextlib.suppress(*NOT_LOADED):
        return load_session(str(kept), threads)
    model = build()
    # A directory that cannot be written costs the build each time, and nothing else.
    with contextlib.suppress(OSError):
        replace_file(kept, model)
    return load_session(model, threads)


def load_session(model: str | bytes, threads: int) -> Session:
    onnxruntime.disable_telemetry_events()
    options = onnxruntime.SessionOptions()
    # Failures come as exceptions; what it would log besides must not reach stderr.
    options.log_severity_level = FATAL
    options.intra_op_num_threads = threads
    # Spinning wins a tenth (2 ms of a query) on an idle machine and loses a fifth on a busy one.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
