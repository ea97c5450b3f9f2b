"""The granite model as an ONNX graph: weights and tokenizer."""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dowse.errors import EncoderMissing

# --------------------------------------------------------------------------------------------------
# A minimal ONNX writer: only the protobuf messages that our graphs need.
#
# Numbers are field numbers and enum values of the ONNX schema.

ONNX_FLOAT, ONNX_INT64 = 1, 7
MICROSOFT_DOMAIN = "com.microsoft"
_TENSOR_TYPES = {"float32": ONNX_FLOAT, "int8": 3, "int64": ONNX_INT64}
_IR_VERSION = 8
_OPSETS = {"": 17, MICROSOFT_DOMAIN: 1}

Attribute = int | float


@dataclass(frozen=True, slots=True)
class OnnxPort:
    """An input or output of the graph. A dimension is a size, or the name of a dynamic axis."""

    name: str
    type: int
    shape: tuple[int | str, ...]


@dataclass(slots=True)
class OnnxGraph:
    """A graph under construction; constants and nodes are referred to by the names returned."""

    _parts: list[bytes] = field(default_factory=list)
    _names: set[str] = field(default_factory=set)

    def constant(self, name: str, array: NDArray[Any]) -> str:
        """Add a tensor unless the name exists already, and return the name."""
        if name not in self._names:
            self._names.add(name)
            self._parts.append(_message_field(5, _tensor(name, array)))
        return name

    def apply(self, kind: str, *inputs: str, domain: str = "", **attributes: Attribute) -> str:
        """Add an operator and return the name of its only output."""
        output = f"{kind}.{len(self._parts)}"
        parts = [_text_field(1, name) for name in inputs] + [
            _text_field(2, output),
            _text_field(4, kind),
            _text_field(7, domain),
        ]
        parts += [_message_field(5, _attribute(key, value)) for key, value in attributes.items()]
        self._parts.append(_message_field(1, *parts))
        return output

    def model(self, inputs: Sequence[OnnxPort], outputs: Sequence[OnnxPort], notes: Mapping[str, str]) -> bytes:
        """Return the model file; `notes` become its metadata."""
        ports = [_message_field(11, _port(port)) for port in inputs]
        ports += [_message_field(12, _port(port)) for port in outputs]
        opsets = [
            _message_field(8, _text_field(1, domain), _number_field(2, version)) for domain, version in _OPSETS.items()
        ]
        texts = [_message_field(14, _text_field(1, key), _text_field(2, value)) for key, value in notes.items()]
        graph = _message_field(7, *self._parts, _text_field(2, "encoder"), *ports)
        return b"".join([_number_field(1, _IR_VERSION), graph, *opsets, *texts])


def _tensor(name: str, array: NDArray[Any]) -> bytes:
    dimensions = b"".join(_number_field(1, size) for size in array.shape)
    kind = _number_field(2, _TENSOR_TYPES[array.dtype.name])
    return b"".join([dimensions, kind, _text_field(8, name), _message_field(9, array.tobytes())])


def _attribute(name: str, value: Attribute) -> bytes:
    if isinstance(value, float):
        return b"".join([_text_field(1, name), _tag(2, 5), struct.pack("<f", value), _number_field(20, 1)])
    return b"".join([_text_field(1, name), _number_field(3, value), _number_field(20, 2)])


def _port(port: OnnxPort) -> bytes:
    sizes = [_message_field(1, _dimension_field(size)) for size in port.shape]
    return _text_field(1, port.name) + _message_field(
        2, _message_field(1, _number_field(1, port.type), _message_field(2, *sizes))
    )


def _dimension_field(size: int | str) -> bytes:
    return _text_field(2, size) if isinstance(size, str) else _number_field(1, size)


def _message_field(number: int, *parts: bytes) -> bytes:
    size = sum(len(part) for part in parts)
    return b"".join([_tag(number, 2), _varint(size), *parts])


def _text_field(number: int, text: str) -> bytes:
    return _message_field(number, text.encode())


def _number_field(number: int, value: int) -> bytes:
    return _tag(number, 0) + _varint(value)


def _tag(number: int, wire_type: int) -> bytes:
    return _varint(number << 3 | wire_type)


def _varint(value: int) -> bytes:
    # Negative numbers are encoded as 64-bit two's complement.
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


# --------------------------------------------------------------------------------------------------
# Reader of the weights container: magic, header, tokenizer and tensors, verified by digest.

MAGIC_BYTES = 8
LENGTH_BYTES = 8

Floats: TypeAlias = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class GroupedMatrix:
    """An int8 matrix (rows, groups, columns per group) with one scale per row and group."""

    values: NDArray[np.int8]
    scales: Floats

    def floats(self) -> Floats:
        return (self.values * self.scales[:, :, np.newaxis]).reshape(len(self.values), -1)


@dataclass(frozen=True, slots=True)
class WeightsPack:
    tokenizer: str
    floats: Mapping[str, Floats]
    grouped: Mapping[str, GroupedMatrix]


def read_pack(path: Path, sha256: str) -> WeightsPack:
    """Read a container. Nothing in it is parsed before the digest of the whole file is verified."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise EncoderMissing(f"cannot read the encoder's weights {path}: {error.strerror}") from error
    if hashlib.sha256(data).hexdigest() != sha256:
        raise EncoderMissing(f"the encoder's weights {path} are not the published ones: reinstall them")
    return _parse_pack(data)


def _parse_pack(data: bytes) -> WeightsPack:
    start = MAGIC_BYTES + LENGTH_BYTES
    end = start + int.from_bytes(data[MAGIC_BYTES:start], "little")
    header: dict[str, Any] = json.loads(data[start:end])
    at = end + header["tokenizer_len"]
    tokenizer = data[end:at].decode()
    floats: dict[str, Floats] = {}
    grouped: dict[str, GroupedMatrix] = {}
    for tensor in header["tensors"]:
        raw = memoryview(data)[at : at + tensor["len"]]
        at += tensor["len"]
        if tensor["dtype"] == "i8":
            grouped[tensor["name"]] = _read_grouped_matrix(raw, tensor["shape"], tensor["group"])
        else:
            floats[tensor["name"]] = np.frombuffer(raw, "<f4").reshape(tensor["shape"])
    return WeightsPack(tokenizer, floats, grouped)


def _read_grouped_matrix(raw: memoryview, shape: tuple[int, int], group: int) -> GroupedMatrix:
    rows, columns = shape
    groups = columns // group
    values = np.frombuffer(raw[: rows * columns], np.int8).reshape(rows, groups, group)
    return GroupedMatrix(values, np.frombuffer(raw[rows * columns :], "<f4").reshape(rows, groups))


LAYERS = 6
HEADS = 12
FIRST_POSITION = 2
EPSILON = 1e-12
INPUT_IDS = "ids"
TOKENIZER_METADATA = "tokenizer"


def build_model_file(pack: WeightsPack) -> bytes:
    """Return the ONNX file of the model, with the tokenizer in its metadata."""
    writer = _RobertaBuilder(OnnxGraph(), pack)
    hidden = writer.embeddings()
    for layer in range(LAYERS):
        # Only the first token of the last layer is used, so compute no others there: a sixth less work.
        asking = hidden if layer < LAYERS - 1 else writer.first_token(hidden)
        hidden = writer.layer(f"l{layer}", asking, hidden)
    return writer.file(writer.normalize(writer.squeeze(hidden)), "texts")


def build_token_model_file(pack: WeightsPack) -> bytes:
    """Return the ONNX file of the model without its last layer, with one vector per token.

    The last layer only aggregates into the first token. Its other tokens distinguish texts less well.
    """
    writer = _RobertaBuilder(OnnxGraph(), pack)
    hidden = writer.embeddings()
    for layer in range(LAYERS - 1):
        hidden = writer.layer(f"l{layer}", hidden, hidden)
    return writer.file(writer.normalize(hidden), "texts", "tokens")


@dataclass(frozen=True, slots=True)
class _RobertaBuilder:
    """Builds the layers as graph nodes.

    Weights become float32: int8 activations lose quality, even when quantised per token or per block.
    """

    graph: OnnxGraph
    pack: WeightsPack

    def embeddings(self) -> str:
        """Add word, position and token type embeddings. The word table, two thirds of all weights, stays int8."""
        words = self.pack.grouped["word_emb"]
        _, groups, size = words.values.shape
        rows = self._apply("Gather", self._constant("words", words.values), INPUT_IDS)
        scales = self._apply("Gather", self._constant("word_scales", words.scales[:, :, np.newaxis]), INPUT_IDS)
        scaled = self._apply("Mul", self._apply("Cast", rows, to=ONNX_FLOAT), scales)
        flat = self._apply("Reshape", scaled, self._integers("flat", 0, 0, groups * size))
        return self._norm("emb_ln", self._apply("Add", flat, self._positions()))

    def _positions(self) -> str:
        table = self.pack.floats["pos_emb"][FIRST_POSITION:] + self.pack.floats["type_emb"][0]
        length = self._apply("Shape", INPUT_IDS, start=1, end=2)
        start, axis = self._integers("zero", 0), self._integers("axis0", 0)
        return self._apply("Slice", self._constant("positions", table), start, length, axis)

    def first_token(self, hidden: str) -> str:
        ends = self._integers("zero", 0), self._integers("one", 1)
        return self._apply("Slice", hidden, *ends, self._integers("axis1", 1))

    def layer(self, name: str, asking: str, hidden: str) -> str:
        """Add attention and feed-forward blocks, each with a residual connection and post-normalisation."""
        attention = self._attention(name, asking, hidden)
        attended = self._add_and_norm(f"{name}.aln", attention, asking, f"{name}.ao.b")
        inner = self._matmul(attended, f"{name}.f1")
        active = self._apply("BiasGelu", inner, self._floats(f"{name}.f1.b"), domain=MICROSOFT_DOMAIN)
        return self._add_and_norm(f"{name}.fln", self._matmul(active, f"{name}.f2"), attended, f"{name}.f2.b")

    def _attention(self, name: str, asking: str, hidden: str) -> str:
        queries, keys, values = np.split(self.pack.grouped[f"{name}.qkv.w"].floats(), 3)
        projected = [
            self._apply("MatMul", source, self._constant(f"{name}.{part}", matrix.T))
            for part, source, matrix in (("q", asking, queries), ("k", hidden, keys), ("v", hidden, values))
        ]
        inputs = (*projected, self._floats(f"{name}.qkv.b"))
        attended = self._apply("MultiHeadAttention", *inputs, domain=MICROSOFT_DOMAIN, num_heads=HEADS)
        return self._matmul(attended, f"{name}.ao")

    def squeeze(self, hidden: str) -> str:
        return self._apply("Squeeze", hidden, self._integers("axis1", 1))

    def normalize(self, hidden: str) -> str:
        return self._apply("LpNormalization", hidden, axis=-1, p=2)

    def file(self, vectors: str, *each: str) -> bytes:
        inputs = [OnnxPort(INPUT_IDS, ONNX_INT64, ("texts", "tokens"))]
        output = OnnxPort(vectors, ONNX_FLOAT, (*each, len(self.pack.floats["emb_ln.w"])))
        return self.graph.model(inputs, [output], {TOKENIZER_METADATA: self.pack.tokenizer})

    def _matmul(self, source: str, name: str) -> str:
        matrix = self.pack.grouped[f"{name}.w"].floats().T
        return self._apply("MatMul", source, self._constant(f"{name}.w", matrix))

    def _norm(self, name: str, source: str) -> str:
        weights = self._floats(f"{name}.w"), self._floats(f"{name}.b")
        return self._apply("LayerNormalization", source, *weights, axis=-1, epsilon=EPSILON)

    def _add_and_norm(self, name: str, source: str, before: str, bias: str) -> str:
        """Normalise the sum. The fused operator SkipLayerNormalization is slower here."""
        return self._norm(name, self._apply("Sum", source, before, self._floats(bias)))

    def _floats(self, name: str) -> str:
        return self._constant(name, self.pack.floats[name])

    def _integers(self, name: str, *values: int) -> str:
        return self._constant(name, np.array(values, np.int64))

    def _constant(self, name: str, array: NDArray[Any]) -> str:
        return self.graph.constant(name, array)

    def _apply(self, kind: str, *inputs: str, domain: str = "", **attributes: int | float) -> str:
        return self.graph.apply(kind, *inputs, domain=domain, **attributes)
