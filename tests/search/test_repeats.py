"""Which paths are one document in several languages."""

from __future__ import annotations

import pytest

from dowse.search.stages.repeats import DocumentVersion, parse_document_version


@pytest.mark.parametrize(
    ("path", "page", "language"),
    [
        ("docs/de/docs/tutorial/index.md", "docs/docs/tutorial/index.md", "de"),
        ("docs/en/docs/tutorial/index.md", "docs/docs/tutorial/index.md", "en"),
        ("docs/zh-hant/docs/tutorial/index.md", "docs/docs/tutorial/index.md", "zh-hant"),
        ("docs/pt_BR/index.md", "docs/index.md", "pt_br"),
        ("docs/en-US/index.md", "docs/index.md", "en"),
        ("README.zh-CN.md", "README.md", "zh-cn"),
        ("README_de.md", "README.md", "de"),
        ("README.md", "README.md", ""),
        ("docs/index.md", "docs/index.md", ""),
        ("docs/api/index.md", "docs/api/index.md", ""),
        ("docs/release-notes.md", "docs/release-notes.md", ""),
        ("de", "de", ""),
        ("", "", ""),
    ],
)
def test_the_language_of_a_path(path: str, page: str, language: str) -> None:
    assert parse_document_version(path) == DocumentVersion(page, language)
