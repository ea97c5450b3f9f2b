"""The setting that names a server: what is understood, and what is refused without being repeated."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dowse.encoders.choose import (
    ENCODER_SERVERS,
    ServerName,
    check_encoder_name,
    choose_encoder,
    encoder_by_fingerprint,
)
from dowse.encoders.http import HttpEncoder
from dowse.errors import BadInput


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("ollama:nomic-embed-text", ("ollama", "nomic-embed-text", "http://127.0.0.1:11434")),
        ("ollama:all-minilm:22m@http://box:11434/", ("ollama", "all-minilm:22m", "http://box:11434")),
        ("ollama:hf.co/a/b@https://box/ollama", ("ollama", "hf.co/a/b", "https://box/ollama")),
        ("tei", ("tei", "", "http://127.0.0.1:8080")),
        ("tei:", ("tei", "", "http://127.0.0.1:8080")),
        ("tei:https://tei.example.org", ("tei", "", "https://tei.example.org")),
        ("tei:http://[::1]:8080", ("tei", "", "http://[::1]:8080")),
        ("openai:m", ("openai", "m", "http://127.0.0.1:8080")),
        ("openai:text-embedding-3-small@https://api/v1", ("openai", "text-embedding-3-small", "https://api/v1")),
    ],
)
def test_a_name_has_a_kind_a_model_and_an_address(name, parts):
    assert ENCODER_SERVERS.parse(name) == ServerName(*parts)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("ollama", "MODEL is"),
        ("ollama:", "MODEL is"),
        ("ollama:@http://box", "MODEL is"),
        ("ollama:http://box:11434", "MODEL is"),
        ("openai:a b@http://box", "MODEL is"),
        ("openai:mödel", "MODEL is"),
        ("openai:m@box:8080", "http:// or https://"),
        ("openai:m@ftp://box", "http:// or https://"),
        ("openai:m@file:///etc/passwd", "http:// or https://"),
        ("tei:http://", "a host"),
        ("tei:http://box:port", "a host"),
        ("tei:http://box:0", "a host"),
        ("tei:http://box:70000", "a host"),
        ("tei:http://[::1", "a host"),
        ("tei:http://a..b", "a host"),
        ("tei:http://box/a b", "no spaces"),
        ("tei:http://box\r\nX: y", "no spaces"),
        ("tei:http://bücher", "ASCII"),
        ("tei:http://box?x=1", "no query or fragment"),
        ("tei:http://box/#x", "no query or fragment"),
        ("tei:http://user:s3cret@box", "user or password"),
        ("openai:m@http://user:s3cret@box", "user or password"),
        ("ollama:m@http://s3cret@box", "user or password"),
    ],
)
def test_a_wrong_name_is_refused_with_its_form_and_not_repeated(name, why, tmp_path):
    form = ENCODER_SERVERS.formats[name.partition(":")[0]]
    with pytest.raises(BadInput) as caught:
        choose_encoder(name, cache_dir=tmp_path)
    assert form in str(caught.value)
    assert why in str(caught.value)
    assert "s3cret" not in str(caught.value)
    with pytest.raises(BadInput):
        check_encoder_name(name)


@given(st.sampled_from([*ENCODER_SERVERS.formats, "hashing"]), st.text(max_size=30))
def test_any_text_is_parsed_or_refused(kind, rest):
    name = f"{kind}:{rest}"
    try:
        server = ENCODER_SERVERS.parse(name)
    except BadInput:
        return
    assert ENCODER_SERVERS.has(name)
    assert ENCODER_SERVERS.parse(str(server)) == server


@pytest.mark.parametrize("name", ["ollama:m", "tei", "openai:m@https://box.example/v1"])
def test_choosing_a_server_asks_it_nothing_and_says_where_texts_go(name, tmp_path):
    choice = choose_encoder(name, cache_dir=tmp_path, api_key="s3cret")
    assert isinstance(choice.encoder, HttpEncoder)
    assert choice.encoder.name == str(ENCODER_SERVERS.parse(name))
    assert f"text is sent to {ENCODER_SERVERS.parse(name).url}." in choice.why
    assert "s3cret" not in repr(choice)


def test_an_unknown_name_lists_the_forms_of_servers(tmp_path):
    with pytest.raises(BadInput, match="ollama:MODEL@URL, tei:URL, openai:MODEL@URL, or none"):
        choose_encoder("lmstudio:m", cache_dir=tmp_path)


@pytest.mark.parametrize("key", ["a b", "a\r\nX: y", "schlüssel"])
def test_a_key_that_cannot_be_sent_is_refused_and_not_repeated(key, tmp_path):
    with pytest.raises(BadInput) as caught:
        choose_encoder("openai:m", cache_dir=tmp_path, api_key=key)
    assert key not in str(caught.value)


def test_a_fingerprint_does_not_lead_to_a_server(tmp_path):
    assert encoder_by_fingerprint("ollama:m:384", cache_dir=tmp_path) is None
