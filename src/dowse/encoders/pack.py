"""Reading a weights container: magic, header, tokenizer and tensors, known by its size and digest."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dowse.errors import EncoderMissing

MAGIC_BYTES = 8
LENGTH_BYTES = 8

Floats: TypeAlias = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Grouped:
    """An int8 matrix (rows, groups, columns of a group) with one scale per row and group."""

    values: NDArray[np.int8]
    scales: Floats

    def floats(self) -> Floats:
        return (self.values * self.scales[:, :, np.newaxis]).reshape(len(self.values), -1)


@dataclass(frozen=True, slots=True)
class Pack:
    tokenizer: str
    floats: Mapping[str, Floats]
    grouped: Mapping[str, Grouped]


def read_pack(path: Path, sha256: str) -> Pack:
    """The container's content; nothing in it is trusted before the whole file has the digest we know."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise EncoderMissing(f"cannot read the encoder's weights {path}: {error.strerror}") from error
    if hashlib.sha256(data).hexdigest() != sha256:
        raise EncoderMissing(f"the encoder's weights {path} are not the published ones: reinstall them")
    return _parse(data)


def _parse(data: bytes) -> Pack:
    start = MAGIC_BYTES + LENGTH_BYTES
    end = start + int.from_bytes(data[MAGIC_BYTES:start], "little")
    header: dict[str, Any] = json.loads(data[start:end])
    at = end + header["tokenizer_len"]
    tokenizer = data[end:at].decode()
    floats: dict[str, Floats] = {}
    grouped: dict[str, Grouped] = {}
    for tensor in header["tensors"]:
        raw = memoryview(data)[at : at + tensor["len"]]
        at += tensor["len"]
        if tensor["dtype"] == "i8":
            grouped[tensor["name"]] = _grouped(raw, tensor["shape"], tensor["group"])
        else:
            floats[tensor["name"]] = np.frombuffer(raw, "<f4").reshape(tensor["shape"])
    return Pack(tokenizer, floats, grouped)


def _grouped(raw: memoryview, shape: tuple[int, int], group: int) -> Grouped:
    rows, columns = shape
    groups = columns // group
    values = np.frombuffer(raw[: rows * columns], np.int8).reshape(rows, groups, group)
    return Grouped(values, np.frombuffer(raw[rows * columns :], "<f4").reshape(rows, groups))
