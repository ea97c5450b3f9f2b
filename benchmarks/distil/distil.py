"""Makes the data of the static encoder: `python benchmarks/distil/distil.py --work DIR`. See README.md."""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Sequence
from pathlib import Path

import corpora
import numpy as np
import texts
import vocabulary
from pairs import Pair
from teacher import TAUGHT_CHARS, Teacher
from train import Floats, Lesson, Space, first_table, train, unit

from dowse.encoders.granite import PACK_SHA256, installed_granite_weights
from dowse.encoders.static import STATIC_DATA_FILE, STATIC_DIMENSION, build_word_tokenizer, encode_token_ids

SEED = 20261116
TAUGHT_PAIRS = 5_000
# Never trained on: they tell whether the training helps, on texts like the others and on those of unknown packages.
HELD_OUT = 2_000
HELD_OUT_PACKAGES = ("MetPy", "dict-jargon", "git-doc", "r-doc-html", "skyfield", "tornado")
STUDENT_CHARS = 800


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, required=True, help="where corpora and the teacher's vectors are kept")
    parser.add_argument("--threads", type=int, default=1, help="of the teacher")
    parser.add_argument("--out", type=Path, default=STATIC_DATA_FILE)
    options = parser.parse_args()
    prepare(options.work)
    words, table = distilled(options.work, options.threads)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    write(options.out, words, table)
    print(f"{options.out}: sha256 {hashlib.sha256(options.out.read_bytes()).hexdigest()}")


def prepare(work: Path) -> None:
    if not (work / "corpora").exists():
        corpora.download(work / "corpora")
    if not (work / "pairs.jsonl").exists():
        texts.write(work)


def distilled(work: Path, threads: int) -> tuple[list[str], Floats]:
    pairs, unlike, alike = divided(texts.read(work))
    tokens = vocabulary.teacher_tokens(installed_granite_weights(), PACK_SHA256)
    words, counts = vocabulary.vocabulary(tokens, [f"{pair.query}\n{pair.passage}" for pair in pairs])
    teacher = Teacher(work, threads)
    of_words = teacher.embedded([word.removeprefix(vocabulary.PIECE) for word in words])
    of_queries = teacher.embedded([pair.query for pair in pairs[:TAUGHT_PAIRS]])
    of_passages = teacher.embedded([pair.passage[:TAUGHT_CHARS] for pair in pairs[:TAUGHT_PAIRS]])
    space = Space.of(np.concatenate([of_queries, of_passages]), STATIC_DIMENSION)
    queries, passages = (unit(space.project(rows, rows.mean(axis=0))) for rows in (of_queries, of_passages))
    table = first_table(of_words, counts, space)

    def tell(table: Floats) -> str:
        found = [found_first(words, table, held_out) for held_out in (alike, unlike)]
        return "held out {:.4f}, of unknown packages {:.4f}".format(*found)

    print(f"first table: {tell(table)}", flush=True)
    return words, train(table, Lesson(*bags(words, pairs), queries, passages), SEED, tell)


def divided(all_pairs: Sequence[Pair]) -> tuple[list[Pair], list[Pair], list[Pair]]:
    """To train on, of unknown packages, and like those trained on."""
    known = [pair for pair in all_pairs if pair.package not in HELD_OUT_PACKAGES]
    unknown = [pair for pair in all_pairs if pair.package in HELD_OUT_PACKAGES]
    return known[:-HELD_OUT], unknown, known[-HELD_OUT:]


def bags(words: Sequence[str], pairs: Sequence[Pair]) -> tuple[list[np.ndarray], list[np.ndarray]]:
    by = build_word_tokenizer(words)
    queries = encode_token_ids(by, [pair.query for pair in pairs])
    passages = encode_token_ids(by, [pair.passage[:STUDENT_CHARS] for pair in pairs])
    # A bag is never empty: the unknown word adds nothing.
    return tuple([np.array([0, *ids], dtype=np.int32) for ids in side] for side in (queries, passages))


def found_first(words: Sequence[str], table: Floats, pairs: Sequence[Pair]) -> float:
    """Mean reciprocal rank of each query's passage among all."""
    queries, passages = (unit(np.stack([table[bag].sum(axis=0) for bag in side])) for side in bags(words, pairs))
    scores = queries @ passages.T
    ranks = (scores > np.diag(scores)[:, np.newaxis]).sum(axis=1) + 1
    return float((1 / ranks).mean())


def write(path: Path, words: Sequence[str], table: Floats) -> None:
    """Rows in int8, one scale each; numpy dates every member of the archive 1980, so equal arrays give equal files."""
    scales = np.maximum(np.abs(table).max(axis=1), 1e-9) / 127
    rows = np.rint(table / scales[:, np.newaxis]).astype(np.int8)
    listed = np.frombuffer("\n".join(words).encode(), dtype=np.uint8)
    np.savez(path, rows=rows, scales=scales.astype(np.float32), words=listed)


if __name__ == "__main__":
    main()
