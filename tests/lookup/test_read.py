"""Reading a file that is gone: its lines as they were indexed, however long they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from support import OpenEngine, write

WORDS = " ".join(f"word{number}" for number in range(60))
SENTENCES = " ".join(f"Sentence number {number} ends." for number in range(20))


@pytest.mark.parametrize(
    "text",
    [
        "short\nlines\n\nand a gap",
        WORDS,
        f"above\n{WORDS}\nbelow",
        f"{WORDS}\n{SENTENCES}\n\n{WORDS}",
        SENTENCES,
        "x" * 350,  # nowhere to cut but inside the word
        f"{'x' * 350} {WORDS}",
        "検索は速い。" * 40,
        "    indented\n        " + WORDS,
        "a\n\n\n" + WORDS + "\n\n\nb",
    ],
)
def test_what_was_indexed_is_put_together_again(root: Path, open_engine: OpenEngine, text: str) -> None:
    write(root, {"a.txt": text})
    engine = open_engine(encoder="none", max_chunk_chars=100, min_chunk_chars=10)
    engine.index([root])
    (root / "a.txt").unlink()
    (record,) = engine.record("a.txt")
    passage = engine.lines(record)
    assert (passage.text, passage.freshness) == (text, "gone")
    assert engine.lines(record, 1, 1).text == text.split("\n")[0]
