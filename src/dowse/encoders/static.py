"""The instant encoder: one vector per word, distilled from the default encoder; a text is the sum of its words."""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dowse.encoders.base import Traits
from dowse.encoders.once import Once
from dowse.errors import EncoderMissing
from dowse.text.surrogates import valid

if TYPE_CHECKING:
    from dowse.encoders.base import Matrix

DATA_FILE = Path(__file__).parent / "data" / "static.npz"
DATA_SHA256 = "2fce2588b73591727d728f11cd447cd785162f4917baeff55140d1c267fa6d75"
DIMENSION = 256
NAME = f"static-{DIMENSION}"
# Vectors of another number are another encoder's: raise it whenever the same data gives another vector.
FINGERPRINT = f"{NAME}:{DATA_SHA256[:16]}:1"

UNKNOWN = "[UNK]"
# Beyond this a text is cut: its mean would hardly move any more.
MAX_CHARS = 4_000
MAX_WORD_CHARS = 64
# Texts whose words are looked up together: 20 MB usually, 130 MB if all were long and of one-letter words.
AT_ONCE = 64
# Capitals that begin a part of an identifier: the P, HTTP and H of ParseHTTPHeader.
_CAPITALS = re.compile(r"[A-Z](?:[A-Z]*(?![a-z]))?")
_WORD = r"[^\W_]+"


class StaticEncoder:
    """Loads on first use, once; may be used from several threads."""

    def __init__(self, data: Path = DATA_FILE, *, sha256: str = DATA_SHA256) -> None:
        self._model = Once(lambda: _Model(checked(data, sha256)))

    @property
    def name(self) -> str:
        return NAME

    @property
    def traits(self) -> Traits:
        return Traits(worth=0.23, unrelated=0.2, least_sure=0.1507)

    @property
    def fingerprint(self) -> str:
        return FINGERPRINT

    @property
    def dimension(self) -> int:
        return DIMENSION

    def encode(self, texts: Sequence[str]) -> Matrix:
        import numpy as np

        rows = np.zeros((len(texts), DIMENSION), dtype=np.float32)
        for start in range(0, len(texts), AT_ONCE):
            rows[start : start + AT_ONCE] = self._model().sums(texts[start : start + AT_ONCE])
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        # A text without a known word stays zero instead of becoming not-a-number.
        rows /= np.where(norms > 0, norms, 1)
        return rows


class _Model:
    """The tokenizer and the table of vectors."""

    def __init__(self, data: bytes) -> None:
        import numpy as np

        with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
            words = arrays["words"].tobytes().decode().split("\n")
            self._table = arrays["rows"] * arrays["scales"][:, np.newaxis]
        self._tokenizer = tokenizer(words)

    def sums(self, texts: Sequence[str]) -> Matrix:
        import numpy as np

        ids = token_ids(self._tokenizer, texts)
        # Every text ends with the unknown word, whose vector is zero, so that no text is empty.
        flat = np.concatenate([np.array([*it, 0], dtype=np.intp) for it in ids])
        ends = np.cumsum([len(it) + 1 for it in ids])
        sums: Matrix = np.add.reduceat(self._table[flat], np.concatenate([[0], ends[:-1]]))
        return sums


def tokenizer(words: Iterable[str]) -> Any:  # noqa: ANN401 - the library has no types
    """Whole words where known, else the longest known parts of them; the first word stands for what has none."""
    from tokenizers import Regex, Tokenizer
    from tokenizers.models import WordPiece
    from tokenizers.pre_tokenizers import Split

    numbers = {word: number for number, word in enumerate(words)}
    made = Tokenizer(WordPiece(numbers, unk_token=UNKNOWN, max_input_chars_per_word=MAX_WORD_CHARS))
    made.pre_tokenizer = Split(Regex(_WORD), "removed", invert=True)
    return made


def token_ids(by: Any, texts: Sequence[str]) -> list[list[int]]:  # noqa: ANN401 - the library has no types
    return [encoding.ids for encoding in by.encode_batch_fast([plain(text) for text in texts])]


def plain(text: str) -> str:
    """Small letters, identifiers taken apart, as valid Unicode."""
    apart = _CAPITALS.sub(r" \g<0>", text[:MAX_CHARS])
    return valid(apart.lower())


def checked(path: Path, sha256: str) -> bytes:
    """The file's content, if it is the one this version came with."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise EncoderMissing(f"the data of the encoder static cannot be read ({error}): reinstall dowse") from error
    if hashlib.sha256(data).hexdigest() != sha256:
        raise EncoderMissing(f"the data of the encoder static is damaged ({path}): reinstall dowse")
    return data
