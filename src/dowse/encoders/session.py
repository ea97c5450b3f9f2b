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

import numpy as np
import onnxruntime
from onnxruntime.capi import onnxruntime_pybind11_state as failures

from dowse.encoders.onnx import FLOAT, MICROSOFT, UINT8, Graph, Port
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


def multiplies_bytes_exactly() -> bool:
    """Whether sums of products of bytes are right here.

    On x86-64 processors without VNNI, onnxruntime adds each two products in 16 bits, too few for large ones. Processors
    of other kinds add all of them in 32 bits.
    """
    graph, (rows, size) = Graph(), (16, 64)
    one, weights = (
        graph.constant("one", np.array(1, np.float32)),
        graph.constant("w", np.full((size, rows), 127, np.int8)),
    )
    output = graph.apply("MatMulIntegerToFloat", "bytes", weights, one, one, domain=MICROSOFT)
    model = graph.model([Port("bytes", UINT8, (rows, size))], [Port(output, FLOAT, (rows, rows))], {})
    [sums] = load_session(model, 1).run(None, {"bytes": np.full((rows, size), 255, np.uint8)})
    return bool((sums == 255 * 127 * size).all())
