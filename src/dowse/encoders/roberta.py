"""A RoBERTa encoder as an ONNX graph: token ids in, one unit vector per text, or per token, out.

The texts of one run have equally many tokens: attention without a mask takes a tenth less time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dowse.encoders.onnx import FLOAT, INT64, MICROSOFT, Graph, Port
from dowse.encoders.pack import Floats, Pack

LAYERS = 6
HEADS = 12
FIRST_POSITION = 2
EPSILON = 1e-12
IDS = "ids"
TOKENIZER = "tokenizer"

# The largest magnitude of a rounded number, and what an unsigned byte holds for zero.
LARGEST, ZERO = 127, 128
# The inner layer is four times as wide as the others. In parts, each rounded by itself, it loses half as much.
INNER_PARTS = 8
# Some places of a vector are always large. Divided by this power of their size, they leave more steps to the others.
EVENNESS = 0.3
# A row of zeros has no largest magnitude to divide by.
SMALLEST_PEAK = 1e-30


def model_file(pack: Pack, *, integers: bool) -> bytes:
    """The ONNX file of the pack's model; it carries the tokenizer along as a note.

    `integers`: matrices are multiplied in 8-bit integers, which needs a processor that adds such products exactly.
    """
    writer = _Writer(Graph(), pack, integers)
    hidden = writer.embeddings()
    for layer in range(LAYERS):
        # Only the first token is read at the end, so the last layer works for it alone: a sixth less work.
        asking = hidden if layer < LAYERS - 1 else writer.first_token(hidden)
        hidden = writer.layer(f"l{layer}", asking, hidden)
    return writer.file(writer.unit(writer.alone(hidden)), "texts")


def tokens_file(pack: Pack) -> bytes:
    """The same model in float32 up to its last layer but one, with a vector of each token.

    The last one only gathers what the first token is to say: compared by its other tokens, texts are told apart worse.
    """
    writer = _Writer(Graph(), pack, integers=False)
    hidden = writer.embeddings()
    for layer in range(LAYERS - 1):
        hidden = writer.layer(f"l{layer}", hidden, hidden)
    return writer.file(writer.unit(hidden), "texts", "tokens")


@dataclass(frozen=True, slots=True)
class _Writer:
    """The layers as graph nodes.

    In integers, each token's numbers are divided by their own largest magnitude before they are rounded. One scale for
    all tokens, as onnxruntime's dynamic quantisation has, loses quality and makes a vector depend on its neighbours.
    """

    graph: Graph
    pack: Pack
    integers: bool
    _sizes: dict[str, Floats] = field(default_factory=dict)
    _rounded: dict[str, tuple[str, str]] = field(default_factory=dict)

    def embeddings(self) -> str:
        """Words + positions + the one token type in use. The word table, two thirds of all, stays int8."""
        words = self.pack.grouped["word_emb"]
        _, groups, size = words.values.shape
        rows = self._apply("Gather", self._constant("words", words.values), IDS)
        scales = self._apply("Gather", self._constant("word_scales", words.scales[:, :, np.newaxis]), IDS)
        scaled = self._apply("Mul", self._apply("Cast", rows, to=FLOAT), scales)
        flat = self._apply("Reshape", scaled, self._integers("flat", 0, 0, groups * size))
        return self._norm("emb_ln", self._apply("Add", flat, self._positions()))

    def _positions(self) -> str:
        table = self.pack.floats["pos_emb"][FIRST_POSITION:] + self.pack.floats["type_emb"][0]
        length = self._apply("Shape", IDS, start=1, end=2)
        start, axis = self._integers("zero", 0), self._integers("axis0", 0)
        return self._apply("Slice", self._constant("positions", table), start, length, axis)

    def first_token(self, hidden: str) -> str:
        ends = self._integers("zero", 0), self._integers("one", 1)
        return self._apply("Slice", hidden, *ends, self._integers("axis1", 1))

    def layer(self, name: str, asking: str, hidden: str) -> str:
        """Attention and feed-forward, each added to its input and normalised after.

        Where only one token asks, floats cost nothing.
        """
        exact = not self.integers or asking != hidden
        attention = self._attention(name, asking, hidden, exact)
        attended = self._norm_sum(f"{name}.aln", asking, self._floats(f"{name}.ao.b"), attention)
        terms = self._feed_forward(name, attended, exact)
        return self._norm_sum(f"{name}.fln", attended, self._floats(f"{name}.f2.b"), *terms)

    def _attention(self, name: str, asking: str, hidden: str, exact: bool) -> str:
        queries, keys, values = np.split(self.pack.grouped[f"{name}.qkv.w"].floats(), 3)
        inputs = (
            self._times(asking, f"{name}.q", queries, exact),
            self._times(hidden, f"{name}.k", keys, not self.integers),
            self._times(hidden, f"{name}.v", values, not self.integers),
            self._floats(f"{name}.qkv.b"),
        )
        attended = self._apply("MultiHeadAttention", *inputs, domain=MICROSOFT, num_heads=HEADS)
        return self._times(attended, f"{name}.ao.w", self.pack.grouped[f"{name}.ao.w"].floats(), exact)

    def _feed_forward(self, name: str, attended: str, exact: bool) -> Iterator[str]:
        """Terms whose sum is the result."""
        count = 1 if exact else INNER_PARTS
        inward = np.split(self.pack.grouped[f"{name}.f1.w"].floats(), count)
        biases = np.split(self.pack.floats[f"{name}.f1.b"], count)
        outward = np.split(self.pack.grouped[f"{name}.f2.w"].floats(), count, axis=1)
        for part, (narrow, bias, wide) in enumerate(zip(inward, biases, outward, strict=True)):
            inner = self._times(attended, f"{name}.f1.w{part}", narrow, exact)
            active = self._apply("BiasGelu", inner, self._constant(f"{name}.f1.b{part}", bias), domain=MICROSOFT)
            yield self._times(active, f"{name}.f2.w{part}", wide, exact)

    def alone(self, hidden: str) -> str:
        return self._apply("Squeeze", hidden, self._integers("axis1", 1))

    def unit(self, hidden: str) -> str:
        return self._apply("LpNormalization", hidden, axis=-1, p=2)

    def file(self, vectors: str, *each: str) -> bytes:
        output = Port(vectors, FLOAT, (*each, len(self.pack.floats["emb_ln.w"])))
        return self.graph.model([Port(IDS, INT64, ("texts", "tokens"))], [output], {TOKENIZER: self.pack.tokenizer})

    def _times(self, source: str, name: str, matrix: Floats, exact: bool) -> str:
        """The source times a matrix whose rows are outputs; not exact: in integers."""
        if exact:
            return self._apply("MatMul", source, self._constant(name, matrix.T))
        rounded, peaks = self._rounded_rows(source)
        if source in self._sizes:
            matrix = matrix * self._sizes[source]
        scales = np.maximum(np.abs(matrix).max(axis=1), SMALLEST_PEAK) / LARGEST
        weights = np.rint(matrix / scales[:, np.newaxis]).astype(np.int8)
        inputs = (rounded, self._constant(name, weights.T), self._step(), self._constant(f"{name}.scales", scales))
        product = self._apply("MatMulIntegerToFloat", *inputs, self._zero(), domain=MICROSOFT)
        return self._apply("Mul", product, peaks)

    def _rounded_rows(self, source: str) -> tuple[str, str]:
        """Each row as bytes, and its largest magnitude, by which it was divided after its places were evened out."""
        if source not in self._rounded:
            even = source
            if source in self._sizes:
                even = self._apply("Mul", source, self._constant(f"{source}.even", 1 / self._sizes[source]))
            last, least = self._integers("last_axis", -1), self._number("smallest_peak", SMALLEST_PEAK)
            peaks = self._apply("Max", self._apply("ReduceMax", self._apply("Abs", even), last), least)
            divided = self._apply("Div", even, peaks)
            self._rounded[source] = self._apply("QuantizeLinear", divided, self._step(), self._zero()), peaks
        return self._rounded[source]

    def _step(self) -> str:
        return self._number("step", 1 / LARGEST)

    def _zero(self) -> str:
        return self._constant("middle", np.array(ZERO, np.uint8))

    def _norm(self, name: str, source: str) -> str:
        weights = self._floats(f"{name}.w"), self._floats(f"{name}.b")
        normalised = self._apply("LayerNormalization", source, *weights, axis=-1, epsilon=EPSILON)
        # Normalised numbers are about 1, so what they are stretched and moved by says how large each place is.
        sizes = np.hypot(self.pack.floats[f"{name}.w"], self.pack.floats[f"{name}.b"]) ** EVENNESS
        self._sizes[normalised] = sizes.astype(np.float32)
        return normalised

    def _norm_sum(self, name: str, *terms: str) -> str:
        """The normalised sum. SkipLayerNormalization, made for this, takes longer."""
        return self._norm(name, self._apply("Sum", *terms))

    def _floats(self, name: str) -> str:
        return self._constant(name, self.pack.floats[name])

    def _number(self, name: str, value: float) -> str:
        return self._constant(name, np.array(value, np.float32))

    def _integers(self, name: str, *values: int) -> str:
        return self._constant(name, np.array(values, np.int64))

    def _constant(self, name: str, array: NDArray[Any]) -> str:
        return self.graph.constant(name, array)

    def _apply(self, kind: str, *inputs: str, domain: str = "", **attributes: int | float) -> str:
        return self.graph.apply(kind, *inputs, domain=domain, **attributes)
