"""The figures about the source itself."""

from __future__ import annotations

from pathlib import Path

from shape import Checkout, Module, longest_chain, sentence_lengths
from support import write


def test_sentences_are_counted_without_code_tables_and_headings() -> None:
    text = "# A heading of five words\n\nOne two three. Four `a b c` six?\n\n```\nnot a sentence\n```\n\n| no | row |\n"
    assert sentence_lengths(text) == [3, 3]
    assert sentence_lengths("- One two [three four](a/b.md).\n- Five six.") == [4, 2]


def test_the_longest_chain_has_what_is_imported_with_a_module_alone(tmp_path: Path) -> None:
    inside = "def f():\n    import dowse.a\n"
    for_types = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import dowse.a\n"
    files = {"a.py": "from dowse import b\n", "b.py": "import dowse.c\n", "c.py": inside + for_types, "d.py": "x = 1\n"}
    write(tmp_path, {f"src/dowse/{name}": text for name, text in files.items()} | {"src/dowse/__init__.py": ""})
    assert longest_chain(Checkout(tmp_path)) == 3


def test_headers_end_at_the_first_statement(tmp_path: Path) -> None:
    write(tmp_path, {"a.py": '"""Text."""\n\nimport os\n\n\nx = os\n', "b.py": '"""Text."""\n'})
    assert [Module(name, tmp_path / name).header_lines for name in ("a.py", "b.py")] == [5, 1]
