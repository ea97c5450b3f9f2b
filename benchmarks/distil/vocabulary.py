"""The words the static encoder knows: those of the teacher's tokenizer, and the frequent ones of the corpora."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from dowse.encoders.onnx_model import read_pack
from dowse.encoders.static import UNKNOWN_WORD, normalize_identifiers

PIECE = "##"
SIZE = 36_000
_WORDS = re.compile(r"[^\W_]+")
_KEPT = re.compile(r"[a-z]{2,24}|[a-z]+[0-9]{1,2}|[0-9]{1,4}")


def vocabulary(teacher_tokens: Iterable[str], texts: Sequence[str]) -> tuple[list[str], list[int]]:
    """Tokens with how many texts have each; single letters and digits spell what is otherwise unknown."""
    counts = Counter(word for text in texts for word in set(_WORDS.findall(normalize_identifiers(text))))
    words, pieces = _of_teacher(teacher_tokens)
    letters = [*"abcdefghijklmnopqrstuvwxyz0123456789"]
    tokens = dict.fromkeys([UNKNOWN_WORD, *letters, *(PIECE + it for it in [*letters, *pieces])])
    known = [word for word in words if counts[word] > 1]
    frequent = [word for word, _ in sorted(counts.items(), key=lambda it: (-it[1], it[0])) if _KEPT.fullmatch(word)]
    for word in [*known, *frequent, *words]:
        if len(tokens) == SIZE:
            break
        tokens.setdefault(word)
    return list(tokens), [counts[token] for token in tokens]


def teacher_tokens(pack: Path, sha256: str) -> list[str]:
    return list(json.loads(read_pack(pack, sha256).tokenizer)["model"]["vocab"])


def _of_teacher(tokens: Iterable[str]) -> tuple[list[str], list[str]]:
    """Its words (marked by a leading space, written Ġ) and the short ends and middles of words."""
    words, pieces = {}, {}
    for token in tokens:
        plain = token.lstrip("Ġ").lower()
        if _KEPT.fullmatch(plain):
            if token.startswith("Ġ"):
                words[plain] = None
            elif token.islower() and len(plain) <= 6:
                pieces[plain] = None
    return list(words), list(pieces)
