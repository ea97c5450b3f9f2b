"""A RoBERTa encoder as an ONNX graph: token ids in, one unit vector per text, or per token, out.

The texts of one run have equally many tokens: attention without a mask takes less time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dowse.encoders.onnx import FLOAT, INT64, MICROSOFT, Graph, Port
from dowse.encoders.pack import Pack

LAYERS = 6
HEADS = 12
FIRST_POSITION = 2
EPSILON = 1e-12
IDS = "ids"
TOKENIZER = "tokenizer"


def model_file(pack: Pack) -> bytes:
    """The ONNX file of the pack's model; it carries the tokenizer along as a note."""
    writer = _Writer(Graph(), pack)
    hidden = writer.embeddings()
    for layer in range(LAYERS):
        # Only the first token is read at the end, so the last layer works for it alone: a sixth less work.
        asking = hidden if layer < LAYERS - 1 else writer.first_token(hidden)
        hidden = writer.layer(f"l{layer}", asking, hidden)
    return writer.file(writer.unit(writer.alone(hidden)), "texts")


def tokens_file(pack: Pack) -> bytes:
    """The same model up to its last layer but one, with a vector of each token.

    The last one only gathers what the first token is to say: compared by its other tokens, texts are told apart worse.
    """
    writer = _Writer(Graph(), pack)
    hidden = writer.embeddings()
    for layer in range(LAYERS - 1):
        hidden = writer.layer(f"l{layer}", hidden, hidden)
    return writer.file(writer.unit(hidden), "texts", "tokens")


@dataclass(frozen=True, slots=True)
class _Writer:
    """The layers as graph nodes.

    Weights become float32: rounding activations to int8 loses quality, by token and by block too.
    """

    graph: Graph
    pack: Pack

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
        """Attention and feed-forward, each added to its input and normalised after."""
        attention = self._attention(name, asking, hidden)
        attended = self._norm_sum(f"{name}.aln", attention, asking, f"{name}.ao.b")
        inner = self._times(attended, f"{name}.f1")
        active = self._apply("BiasGelu", inner, self._floats(f"{name}.f1.b"), domain=MICROSOFT)
        return self._norm_sum(f"{name}.fln", self._times(active, f"{name}.f2"), attended, f"{name}.f2.b")

    def _attention(self, name: str, asking: str, hidden: str) -> str:
        queries, keys, values = np.split(self.pack.grouped[f"{name}.qkv.w"].floats(), 3)
        projected = [
            self._apply("MatMul", source, self._constant(f"{name}.{part}", matrix.T))
            for part, source, matrix in (("q", asking, queries), ("k", hidden, keys), ("v", hidden, values))
        ]
        inputs = (*projected, self._floats(f"{name}.qkv.b"))
        attended = self._apply("MultiHeadAttention", *inputs, domain=MICROSOFT, num_heads=HEADS)
        return self._times(attended, f"{name}.ao")

    def alone(self, hidden: str) -> str:
        return self._apply("Squeeze", hidden, self._integers("axis1", 1))

    def unit(self, hidden: str) -> str:
        return self._apply("LpNormalization", hidden, axis=-1, p=2)

    def file(self, vectors: str, *each: str) -> bytes:
        inputs = [Port(IDS, INT64, ("texts", "tokens"))]
        output = Port(vectors, FLOAT, (*each, len(self.pack.floats["emb_ln.w"])))
        return self.graph.model(inputs, [output], {TOKENIZER: self.pack.tokenizer})

    def _times(self, source: str, name: str) -> str:
        matrix = self.pack.grouped[f"{name}.w"].floats().T
        return self._apply("MatMul", source, self._constant(f"{name}.w", matrix))

    def _norm(self, name: str, source: str) -> str:
        weights = self._floats(f"{name}.w"), self._floats(f"{name}.b")
        return self._apply("LayerNormalization", source, *weights, axis=-1, epsilon=EPSILON)

    def _norm_sum(self, name: str, source: str, before: str, bias: str) -> str:
        """SkipLayerNormalization, made for this, takes longer."""
        return self._norm(name, self._apply("Sum", source, before, self._floats(bias)))

    def _floats(self, name: str) -> str:
        return self._constant(name, self.pack.floats[name])

    def _integers(self, name: str, *values: int) -> str:
        return self._constant(name, np.array(values, np.int64))

    def _constant(self, name: str, array: NDArray[Any]) -> str:
        return self.graph.constant(name, array)

    def _apply(self, kind: str, *inputs: str, domain: str = "", **attributes: int | float) -> str:
        return self.graph.apply(kind, *inputs, domain=domain, **attributes)
