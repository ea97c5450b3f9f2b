"""Each file name has its extractor."""

from __future__ import annotations

import subprocess
import sys

import pytest

from dowse.ingest.extract.code import extract_code
from dowse.ingest.extract.markdown import extract_markdown
from dowse.ingest.extract.plain import extract_plain
from dowse.ingest.extract.registry import KNOWN_BINARY_SUFFIXES, extractor_for


@pytest.mark.parametrize(
    ("extractor", "paths"),
    [
        (extract_markdown, "README.md a/B.MD x.markdown x.mdx x.mkd a.b/c.d.md build.md"),
        (
            extract_plain,
            "x.txt x.rst x.adoc x.asciidoc x.org x.tex x.log README a/LICENSE CHANGELOG v1.2/NOTES",
        ),
        (
            extract_code,
            "x.py x.rs x.json x.unknown Makefile a/Dockerfile Dockerfile.dev .gitignore a/.bashrc x.vue",
        ),
    ],
)
def test_extractor_for(extractor, paths):
    assert {path: extractor_for(path) for path in paths.split()} == dict.fromkeys(paths.split(), extractor)


@pytest.mark.parametrize("suffix", [".png", ".zip", ".woff2", ".so", ".mp4", ".sqlite"])
def test_binary_suffixes(suffix):
    assert suffix in KNOWN_BINARY_SUFFIXES


def test_no_text_is_taken_for_binary():
    text = {
        ".md",
        ".txt",
        ".py",
        ".c",
        ".h",
        ".json",
        ".svg",
        ".csv",
        ".key",
        ".raw",
        ".dat",
        ".ts",
        ".mod",
        ".s",
    }
    assert not text & KNOWN_BINARY_SUFFIXES
    assert all(suffix == suffix.lower() and suffix.startswith(".") for suffix in KNOWN_BINARY_SUFFIXES)


def test_choosing_an_extractor_loads_no_parser():
    script = "import sys, dowse.ingest.chunk; print({'pyromark', 'yaml', 'tomllib', 'numpy'} & sys.modules.keys())"
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "set()"
