"""Encoders without a network: static word vectors and hashing."""

from __future__ import annotations

import hashlib
import io
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dowse.encoders.base import EncoderTraits, LazyValue
from dowse.errors import BadInput, EncoderMissing
from dowse.text.unicode import replace_surrogates

if TYPE_CHECKING:
    from dowse.encoders.base import Matrix

STATIC_DATA_FILE = Path(__file__).parent / "data" / "static.npz"
STATIC_DATA_SHA256 = "2fce2588b73591727d728f11cd447cd785162f4917baeff55140d1c267fa6d75"
STATIC_DIMENSION = 256
STATIC_NAME = f"static-{STATIC_DIMENSION}"
# Increment the last number whenever the same data gives another vector; vectors of other fingerprints are not mixed.
STATIC_ENCODER_FINGERPRINT = f"{STATIC_NAME}:{STATIC_DATA_SHA256[:16]}:1"

UNKNOWN_WORD = "[UNK]"
# Longer texts are cut: the mean would hardly change.
MAX_STATIC_CHARS = 4_000
MAX_WORD_CHARS = 64
# Texts per lookup: usually 20 MB, at most 130 MB for long texts of one-letter words.
TEXTS_PER_LOOKUP = 64
# Capitals that begin a part of an identifier: the P, HTTP and H of ParseHTTPHeader.
_IDENTIFIER_CAPITALS = re.compile(r"[A-Z](?:[A-Z]*(?![a-z]))?")
_WORD_REGEX = r"[^\W_]+"


class StaticEncoder:
    """The static encoder. It is loaded once, on first use, and is thread-safe."""

    def __init__(self, data: Path = STATIC_DATA_FILE, *, sha256: str = STATIC_DATA_SHA256) -> None:
        self._model = LazyValue(lambda: _StaticModel(read_verified_data(data, sha256)))

    @property
    def name(self) -> str:
        return STATIC_NAME

    @property
    def traits(self) -> EncoderTraits:
        return EncoderTraits(ranking_weight=0.23, similarity_floor=0.2, min_confidence=0.1338, unknown_word_penalty=0.5)

    @property
    def fingerprint(self) -> str:
        return STATIC_ENCODER_FINGERPRINT

    @property
    def dimension(self) -> int:
        return STATIC_DIMENSION

    def encode(self, texts: Sequence[str]) -> Matrix:
        import numpy as np

        rows = np.zeros((len(texts), STATIC_DIMENSION), dtype=np.float32)
        for start in range(0, len(texts), TEXTS_PER_LOOKUP):
            rows[start : start + TEXTS_PER_LOOKUP] = self._model().sums(texts[start : start + TEXTS_PER_LOOKUP])
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        # A text without known words stays zero instead of becoming NaN.
        rows /= np.where(norms > 0, norms, 1)
        return rows


class _StaticModel:
    """The tokenizer and the table of vectors."""

    def __init__(self, data: bytes) -> None:
        import numpy as np

        with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
            words = arrays["words"].tobytes().decode().split("\n")
            self._table = arrays["rows"] * arrays["scales"][:, np.newaxis]
        self._tokenizer = build_word_tokenizer(words)

    def sums(self, texts: Sequence[str]) -> Matrix:
        import numpy as np

        ids = encode_token_ids(self._tokenizer, texts)
        # Append the unknown word, whose vector is zero, so that no text is empty.
        flat = np.concatenate([np.array([*it, 0], dtype=np.intp) for it in ids])
        ends = np.cumsum([len(it) + 1 for it in ids])
        sums: Matrix = np.add.reduceat(self._table[flat], np.concatenate([[0], ends[:-1]]))
        return sums


def build_word_tokenizer(words: Iterable[str]) -> Any:  # noqa: ANN401 - the library has no types
    """Return a tokenizer for whole words, or else their longest known parts. The first word stands for unknown ones."""
    from tokenizers import Regex, Tokenizer
    from tokenizers.models import WordPiece
    from tokenizers.pre_tokenizers import Split

    vocabulary = {word: number for number, word in enumerate(words)}
    word_tokenizer = Tokenizer(WordPiece(vocabulary, unk_token=UNKNOWN_WORD, max_input_chars_per_word=MAX_WORD_CHARS))
    word_tokenizer.pre_tokenizer = Split(Regex(_WORD_REGEX), "removed", invert=True)
    return word_tokenizer


def encode_token_ids(by: Any, texts: Sequence[str]) -> list[list[int]]:  # noqa: ANN401 - the library has no types
    return [encoding.ids for encoding in by.encode_batch_fast([normalize_identifiers(text) for text in texts])]


def normalize_identifiers(text: str) -> str:
    """Split identifiers and lower the case; return valid Unicode."""
    apart = _IDENTIFIER_CAPITALS.sub(r" \g<0>", text[:MAX_STATIC_CHARS])
    return replace_surrogates(apart.lower())


def read_verified_data(path: Path, sha256: str) -> bytes:
    """Read the file and verify its digest."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise EncoderMissing(f"the data of the static encoder cannot be read ({error}): reinstall dowse") from error
    if hashlib.sha256(data).hexdigest() != sha256:
        raise EncoderMissing(f"the data of the static encoder is damaged ({path}): reinstall dowse")
    return data


# --------------------------------------------------------------------------------------------------
# An encoder without a model: each token adds a signed weight at a position given by its hash.

# `.`, `/` and `-` keep paths, versions and flags whole; \w matches words of every script.
HASHED_TOKEN = re.compile(r"[\w./-]+")


class HashingEncoder:
    """A deterministic feature-hashing encoder. It finds shared words, not shared meaning."""

    def __init__(self, dimension: int = 384) -> None:
        if dimension < 1:
            raise BadInput(f"the dimension of a vector must be at least 1, not {dimension}")
        self._dimension = dimension

    @property
    def name(self) -> str:
        return f"hash-{self._dimension}"

    @property
    def traits(self) -> EncoderTraits:
        # BM25 ranks words better. With weight 0, these candidates only fill up the ranking behind BM25 matches.
        return EncoderTraits(ranking_weight=0.0)

    @property
    def fingerprint(self) -> str:
        return f"{self.name}:1"

    @property
    def dimension(self) -> int:
        return self._dimension

    def encode(self, texts: Sequence[str]) -> Matrix:
        import numpy as np

        rows = np.zeros((len(texts), self._dimension), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            for token, times in Counter(HASHED_TOKEN.findall(text.lower())).items():
                place, weight = _hash_token(token, self._dimension)
                row[place] += times * weight
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        # Rows without tokens, or whose signs cancel out, stay zero instead of becoming NaN.
        rows /= np.where(norms > 0, norms, 1)
        return rows


@lru_cache(maxsize=50_000)
def _hash_token(token: str, dimension: int) -> tuple[int, float]:
    digest = hashlib.sha256(token.encode("utf-8", "replace")).digest()
    place = int.from_bytes(digest[:4], "little") % dimension
    sign = 1.0 if digest[4] & 1 else -1.0
    return place, sign * (1.0 + digest[5] / 255)
