"""A file of code becomes blocks of text and, where its language is known, definitions, calls and imports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from dowse.ingest.extract.along_definitions import blocks_along
from dowse.ingest.extract.code.blocks import text_blocks
from dowse.ingest.extract.code.calls import Calls
from dowse.ingest.extract.code.emptiness import why_empty
from dowse.ingest.extract.code.expressions import Expressions
from dowse.ingest.extract.code.grammar import grammar
from dowse.ingest.extract.code.languages import language_of
from dowse.ingest.extract.code.references import worth_following
from dowse.ingest.extract.code.source import Source
from dowse.ingest.extract.code.sweep import Sweep
from dowse.ingest.extract.code.symbols import symbols
from dowse.model import Extract, Item, Link
from dowse.text.decode import decode
from dowse.text.names import last_name

if TYPE_CHECKING:
    from tree_sitter import Node

    from dowse.ingest.extract.code.drafts import Draft, Findings
    from dowse.ingest.extract.code.language import Imported, Language

# Of Rust, JUnit, TestNG, NUnit, xUnit, MSTest, PHPUnit and Swift Testing.
_TEST_ATTRIBUTES: Final = frozenset(
    {"test", "rstest", "test_case", "bench", "parameterizedtest", "repeatedtest", "testfactory", "testfixture"}
    | {"testcase", "testcasesource", "fact", "theory", "testclass", "testmethod", "datatestmethod"}
)


def extract_code(item: Item, data: bytes) -> Extract:
    text = decode(data)
    language = language_of(item.path)
    title = PurePosixPath(item.path).name
    if language is None:
        return Extract("code", title, text, text_blocks(text))
    return _read(language, title, text)


def _read(language: Language, title: str, text: str) -> Extract:
    source = Source(text)
    reader = grammar(language.grammar, language.query)
    root = reader.parse(language.parsed(source.data)).root_node
    captures = reader.captures(root)
    if language.simplified is not None and "error" in captures:
        other = reader.parse(language.simplified(source.data)).root_node
        found_there = reader.captures(other)
        if _worth(found_there) > _worth(captures):
            root, captures = other, found_there
    importing = sorted(captures.get("import", ()), key=lambda node: node.start_byte)
    imported = [(node, it) for node in importing for it in language.imports(node, source)]
    by_name = {it.local: it for _, it in imported}
    found = Sweep(language, source).run(worth_following(captures, by_name, language, source))
    expressions = Expressions(language, source)
    functions = {it.definition.name for it in found.drafts if it.definition.kind in ("method", "function")}
    calls = Calls(language, source, expressions, by_name, functions)
    defined = symbols(found.drafts, expressions, source)
    undivided = frozenset(at for at, draft in enumerate(found.drafts) if not draft.definition.divides)
    tests = _tests(found.drafts)
    return Extract(
        "code",
        title,
        text,
        blocks_along(text, defined, undivided, tests) if len(defined) > len(undivided) else text_blocks(text),
        symbols=defined,
        links=tuple(_link(node, it) for node, it in imported),
        calls=calls.read(found.sites),
        facets=_facets(language, root, found),
    )


def _tests(drafts: Sequence[Draft]) -> set[int]:
    """Which of them are tests by what they are marked with, and the classes that have such methods."""
    marked = [
        draft
        for draft in drafts
        if draft.definition.is_test or any(last_name(it) in _TEST_ATTRIBUTES for it in draft.definition.attributes)
    ]
    holders = {draft.parent for draft in marked if draft.definition.kind == "method"}
    return {draft.number for draft in marked} | {
        at for at in holders if at is not None and drafts[at].definition.kind == "class"
    }


def _worth(captures: Mapping[str, list[Node]]) -> tuple[int, int]:
    """More definitions, then fewer mistakes."""
    return len(captures.get("define", ())), -len(captures.get("error", ()))


def _link(node: Node, it: Imported) -> Link:
    return Link("import", it.module, node.start_point[0] + 1, f"{it.local}={it.member}")


def _facets(language: Language, root: Node, found: Findings) -> Mapping[str, str]:
    facets = {"language": language.name}
    if not found.drafts:
        facets["empty"] = why_empty(root, language)
    if found.errors:
        facets["errors"] = str(found.errors)
    return MappingProxyType(facets)
