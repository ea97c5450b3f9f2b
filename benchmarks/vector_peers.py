"""Other ways to search vectors, where they are installed: each is made from a matrix and gives row numbers."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import apsw
import numpy as np
from numpy.typing import NDArray

Matrix: TypeAlias = NDArray[np.float32]
Ask = Callable[[Matrix], set[int]]


@dataclass(frozen=True, slots=True)
class Peer:
    module: str
    make: Callable[[Matrix, Path, int], Ask]
    largest: int
    """More vectors than this would take it minutes to build or search."""


def installed(name: str) -> bool:
    return importlib.util.find_spec(PEERS[name].module) is not None


def _usearch(matrix: Matrix, folder: Path, limit: int) -> Ask:
    from usearch.index import Index

    index = Index(ndim=matrix.shape[1], metric="cos", dtype="f16")
    index.add(np.arange(len(matrix)), matrix)
    return lambda query: {int(key) for key in index.search(query, limit).keys}


def _hnswlib(matrix: Matrix, folder: Path, limit: int) -> Ask:
    import hnswlib

    index = hnswlib.Index(space="cosine", dim=matrix.shape[1])
    index.init_index(max_elements=len(matrix))
    index.add_items(matrix, np.arange(len(matrix)))
    index.set_ef(100)
    return lambda query: {int(key) for key in index.knn_query(query, k=limit)[0][0]}


def _sqlite_vec(matrix: Matrix, folder: Path, limit: int) -> Ask:
    import sqlite_vec

    connection = apsw.Connection(str(folder / "vec.db"))
    connection.enable_load_extension(True)
    connection.load_extension(sqlite_vec.loadable_path())
    connection.execute(f"CREATE VIRTUAL TABLE vectors USING vec0(v float[{matrix.shape[1]}] distance_metric=cosine)")
    rows = ((key, row.tobytes()) for key, row in enumerate(matrix))
    with connection:
        connection.executemany("INSERT INTO vectors (rowid, v) VALUES (?, ?)", rows)
    sql = "SELECT rowid FROM vectors WHERE v MATCH ? AND k = ?"
    return lambda query: {key for (key,) in connection.execute(sql, (query.tobytes(), limit))}


def _lancedb(matrix: Matrix, folder: Path, limit: int) -> Ask:
    import lancedb
    import pyarrow as pa

    values = pa.FixedSizeListArray.from_arrays(pa.array(matrix.reshape(-1)), matrix.shape[1])
    rows = pa.table({"key": pa.array(np.arange(len(matrix))), "vector": values})
    table: Any = lancedb.connect(str(folder)).create_table("vectors", rows)
    return lambda query: {it["key"] for it in table.search(query).distance_type("cosine").limit(limit).to_list()}


PEERS = {
    "usearch (HNSW, float16)": Peer("usearch", _usearch, 100_000),
    "hnswlib": Peer("hnswlib", _hnswlib, 100_000),
    "sqlite-vec": Peer("sqlite_vec", _sqlite_vec, 100_000),
    "lancedb, no index": Peer("lancedb", _lancedb, 100_000),
}
