"""onnxruntime sessions, from a model in memory or from a cached file that is rebuilt if damaged.

This is the only module that imports onnxruntime.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

# Importing onnxruntime starts telemetry: it writes a device id and a database, and looks up its collector seconds
# later. `disable_telemetry_events` comes too late for that. A value set by the user is kept.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

import onnxruntime
from onnxruntime.capi import onnxruntime_pybind11_state as failures

from dowse.paths import replace_file

Session: TypeAlias = Any

LOG_SEVERITY_FATAL = 4
LOAD_ERRORS = (
    failures.Fail,
    failures.InvalidArgument,
    failures.InvalidGraph,
    failures.InvalidProtobuf,
    failures.NoSuchFile,
    failures.RuntimeException,
)


def open_session(kept: Path, build: Callable[[], bytes], threads: int) -> Session:
    """Open a session of the cached file, or build and cache the file if it is missing or does not load."""
    with contextlib.suppress(*LOAD_ERRORS):
        return load_session(str(kept), threads)
    model = build()
    # An unwritable directory only costs the build each time.
    with contextlib.suppress(OSError):
        replace_file(kept, model)
    return load_session(model, threads)


def load_session(model: str | bytes, threads: int) -> Session:
    onnxruntime.disable_telemetry_events()
    options = onnxruntime.SessionOptions()
    # Failures raise exceptions; log output must not reach stderr.
    options.log_severity_level = LOG_SEVERITY_FATAL
    options.intra_op_num_threads = threads
    # Spinning saves a tenth (2 ms per query) on an idle machine and costs a fifth on a busy one.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
