"""The model file writer, judged by onnxruntime."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest

from dowse.encoders.onnx_model import ONNX_FLOAT, ONNX_INT64, OnnxGraph, OnnxPort


def run(graph: OnnxGraph, output: str, notes: dict[str, str], ids: list[list[int]]):
    model = graph.model(
        [OnnxPort("ids", ONNX_INT64, ("texts", 2))], [OnnxPort(output, ONNX_FLOAT, ("texts", 2, 300))], notes
    )
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    return session, session.run(None, {"ids": np.array(ids, np.int64)})[0]


@pytest.fixture
def table():
    return np.arange(900, dtype=np.float32).reshape(3, 300)


def test_a_written_graph_computes_what_it_says(table):
    graph = OnnxGraph()
    rows = graph.apply("Gather", graph.constant("table", table), "ids")
    output = graph.apply("LeakyRelu", rows, alpha=0.5)
    _, result = run(graph, output, {}, [[2, 0], [-1, 1]])
    np.testing.assert_array_equal(result, table[[[2, 0], [2, 1]]])


def test_attributes_and_negative_numbers_survive(table):
    graph = OnnxGraph()
    rows = graph.apply("Gather", graph.constant("table", -table), "ids", axis=-2)
    output = graph.apply("LeakyRelu", rows, alpha=0.25)
    _, result = run(graph, output, {}, [[1, 2]])
    np.testing.assert_allclose(result[0], -table[[1, 2]] / 4)


def test_transposed_arrays_are_written_as_they_read(table):
    graph = OnnxGraph()
    output = graph.apply("Gather", graph.constant("table", np.asfortranarray(table)), "ids")
    _, result = run(graph, output, {}, [[0, 1]])
    np.testing.assert_array_equal(result[0], table[:2])


def test_a_constant_is_written_once(table):
    graph = OnnxGraph()
    first = graph.constant("table", table)
    output = graph.apply("Gather", graph.constant("table", -table), "ids")
    _, result = run(graph, output, {}, [[0, 1]])
    assert first == "table"
    np.testing.assert_array_equal(result[0], table[:2])


def test_notes_travel_with_the_model(table):
    graph = OnnxGraph()
    output = graph.apply("Gather", graph.constant("table", table), "ids")
    session, _ = run(graph, output, {"greeting": "grüß dich\n" * 100}, [[0, 1]])
    assert session.get_modelmeta().custom_metadata_map == {"greeting": "grüß dich\n" * 100}
