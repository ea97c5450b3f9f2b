"""Writing an ONNX model file: the few protobuf messages a graph of ours needs, and nothing else.

The numbers are field numbers and enumeration values of the ONNX schema.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

FLOAT, INT64 = 1, 7
MICROSOFT = "com.microsoft"
_TENSOR_TYPES = {"float32": FLOAT, "int8": 3, "int64": INT64}
_IR_VERSION = 8
_OPSETS = {"": 17, MICROSOFT: 1}

Attribute = int | float


@dataclass(frozen=True, slots=True)
class Port:
    """An input or output of the whole graph; a dimension is a size or the name of a free one."""

    name: str
    type: int
    shape: tuple[int | str, ...]


@dataclass(slots=True)
class Graph:
    """A graph being written: constants and nodes in order, each known by the name it returns."""

    _parts: list[bytes] = field(default_factory=list)
    _names: set[str] = field(default_factory=set)

    def constant(self, name: str, array: NDArray[Any]) -> str:
        """A tensor of the file; a name given before means the tensor given then."""
        if name not in self._names:
            self._names.add(name)
            self._parts.append(_message(5, _tensor(name, array)))
        return name

    def apply(self, kind: str, *inputs: str, domain: str = "", **attributes: Attribute) -> str:
        """One operator; the name of its one output is returned."""
        output = f"{kind}.{len(self._parts)}"
        parts = [_text(1, name) for name in inputs] + [_text(2, output), _text(4, kind), _text(7, domain)]
        parts += [_message(5, _attribute(key, value)) for key, value in attributes.items()]
        self._parts.append(_message(1, *parts))
        return output

    def model(self, inputs: Sequence[Port], outputs: Sequence[Port], notes: Mapping[str, str]) -> bytes:
        """The whole file; `notes` are texts it carries along."""
        ports = [_message(11, _port(port)) for port in inputs]
        ports += [_message(12, _port(port)) for port in outputs]
        opsets = [_message(8, _text(1, domain), _number(2, version)) for domain, version in _OPSETS.items()]
        texts = [_message(14, _text(1, key), _text(2, value)) for key, value in notes.items()]
        graph = _message(7, *self._parts, _text(2, "encoder"), *ports)
        return b"".join([_number(1, _IR_VERSION), graph, *opsets, *texts])


def _tensor(name: str, array: NDArray[Any]) -> bytes:
    dimensions = b"".join(_number(1, size) for size in array.shape)
    kind = _number(2, _TENSOR_TYPES[array.dtype.name])
    return b"".join([dimensions, kind, _text(8, name), _message(9, array.tobytes())])


def _attribute(name: str, value: Attribute) -> bytes:
    if isinstance(value, float):
        return b"".join([_text(1, name), _tag(2, 5), struct.pack("<f", value), _number(20, 1)])
    return b"".join([_text(1, name), _number(3, value), _number(20, 2)])


def _port(port: Port) -> bytes:
    sizes = [_message(1, _size(size)) for size in port.shape]
    return _text(1, port.name) + _message(2, _message(1, _number(1, port.type), _message(2, *sizes)))


def _size(size: int | str) -> bytes:
    return _text(2, size) if isinstance(size, str) else _number(1, size)


def _message(number: int, *parts: bytes) -> bytes:
    size = sum(len(part) for part in parts)
    return b"".join([_tag(number, 2), _varint(size), *parts])


def _text(number: int, text: str) -> bytes:
    return _message(number, text.encode())


def _number(number: int, value: int) -> bytes:
    return _tag(number, 0) + _varint(value)


def _tag(number: int, wire_type: int) -> bytes:
    return _varint(number << 3 | wire_type)


def _varint(value: int) -> bytes:
    # Negative numbers are written as the 64-bit value with the same bits.
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
