"""One loaded transformer and one built graph for all encoder tests."""

from __future__ import annotations

from pathlib import Path

import pytest
from bad_server import serve  # noqa: F401 - a fixture

from dowse.encoders.granite import GraniteEncoder, installed_granite_weights


@pytest.fixture(scope="session")
def weights() -> Path:
    return installed_granite_weights()


@pytest.fixture(scope="session")
def graph_dir(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("graphs")


@pytest.fixture(scope="session")
def granite(weights, graph_dir) -> GraniteEncoder:
    encoder = GraniteEncoder(weights, cache_dir=graph_dir)
    encoder.encode(["build the graph"])
    return encoder
