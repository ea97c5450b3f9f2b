"""Code: definitions, references, calls and statistics of one file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from dowse.ingest.extract.code.calls import CallReader, keep_callable_references
from dowse.ingest.extract.code.chunks import split_along_definitions
from dowse.ingest.extract.code.expressions import ExpressionTranslator, join_alternatives
from dowse.ingest.extract.code.language import SourceText, load_grammar
from dowse.ingest.extract.code.languages import language_of
from dowse.ingest.extract.code.syntax_pass import SyntaxPass
from dowse.ingest.extract.markdown import leading_comment_start
from dowse.ingest.extract.plain import blocks_at, paragraph_starts
from dowse.model import Block, Extraction, Item, Link, Symbol
from dowse.text.receiver_expressions import UNKNOWN_ROOT
from dowse.text.tokenize import last_simple_name
from dowse.text.unicode import decode

if TYPE_CHECKING:
    from tree_sitter import Node

    from dowse.ingest.extract.code.language import ImportedName, Language
    from dowse.ingest.extract.code.syntax_pass import PendingSymbol, SyntaxPassResult

# --------------------------------------------------------------------------------------------------
# Split code into blocks without parsing: runs of lines with the comment above and the indented lines below.

_CONTINUATIONS = frozenset(" \t)]}")


def split_unparsed_code(text: str) -> tuple[Block, ...]:
    starts: list[int] = []
    for paragraph in paragraph_starts(text):
        if text[paragraph] not in _CONTINUATIONS:
            before = starts[-1] if starts else 0
            start = leading_comment_start(text, paragraph, before)
            if start > before:
                starts.append(start)
    return blocks_at(text, starts)


# --------------------------------------------------------------------------------------------------
# Turn pending symbols into symbols: resolve their values, format their signatures.

MAX_SIGNATURE_CHARS: Final = 300
MAX_TYPE_CHARS: Final = 200
_MAX_RETURNS: Final = 4  # more of them say little and take long to read


def build_symbols(
    pending: list[PendingSymbol], expressions: ExpressionTranslator, source: SourceText
) -> tuple[Symbol, ...]:
    levels: list[int] = []
    found: list[Symbol] = []
    for symbol in pending:
        levels.append(0 if symbol.parent is None else levels[symbol.parent] + 1)
        found.append(_symbol(symbol, levels[-1], expressions, source))
    return tuple(found)


def _symbol(symbol: PendingSymbol, level: int, expressions: ExpressionTranslator, source: SourceText) -> Symbol:
    definition = symbol.definition
    parameters = definition.parameters[
        definition.leading_hidden : len(definition.parameters) - definition.trailing_hidden
    ]
    signature = source.one_line(*definition.header, 4 * MAX_SIGNATURE_CHARS)
    return Symbol(
        name=definition.name,
        kind=definition.kind,
        start_line=definition.span.start_point[0] + 1,
        end_line=_last_line(symbol, source),
        level=level,
        parent=symbol.parent,
        signature=signature[:MAX_SIGNATURE_CHARS].rstrip(" :;={"),
        value_expression=_resolve_value(symbol, expressions),
        parameters=tuple(parameter.type[:MAX_TYPE_CHARS] for parameter in parameters),
        modifiers=definition.modifiers,
        attributes=definition.attributes,
        bases=definition.bases,
        stats=symbol.complexity.stats(len(parameters)) if symbol.complexity else None,
    )


def _last_line(symbol: PendingSymbol, source: SourceText) -> int:
    if symbol.definition.spans_rest_of_file:
        return source.data.rstrip().count(b"\n") + 1
    span = symbol.definition.span
    if source.data[span.end_byte - 1 : span.end_byte].isspace():  # an indented span includes trailing blanks
        return span.start_point[0] + source.data[span.start_byte : span.end_byte].rstrip().count(b"\n") + 1
    return span.end_point[0] + 1


def _resolve_value(symbol: PendingSymbol, expressions: ExpressionTranslator) -> str:
    """Return what a symbol holds: its declared type, else its value, else its bindings, else what it returns."""
    definition = symbol.definition
    value = definition.value_expression or expressions.instance_of(definition.type)
    if not value and definition.value is not None:
        value = expressions.translate(definition.value, symbol.scope)
    if not value and symbol.bindings:
        value = join_alternatives(expressions.binding_value(binding, scope) for binding, scope in symbol.bindings)
    if 0 < len(symbol.returned_nodes) <= _MAX_RETURNS:
        if not value:
            value = expressions.call_result(definition, symbol.returned_nodes, symbol.scope)
        elif expressions.is_function_type(definition.type):
            value = join_alternatives(
                [value, *(expressions.translate_followed(each, symbol.scope) for each in symbol.returned_nodes)]
            )
    return "" if value.startswith(UNKNOWN_ROOT) else value


# --------------------------------------------------------------------------------------------------
# Explain why a file of a known language defines nothing.

LOOK_INSIDE: Final = ""  # filler of a node to look into
_MAX_TOP_LEVEL_NODES: Final = 2_000  # top-level nodes of a file


def explain_empty(root: Node, language: Language) -> str:
    """Describe in a few words what the file contains instead."""
    if root.type == "ERROR" or not root.named_child_count:
        return "nothing the parser could read" if root.type == "ERROR" else "nothing but blanks"
    descriptions = dict.fromkeys(_describe_nodes(root, language))
    # Most files have comments: they are mentioned only if there is nothing else.
    words = [word for word in descriptions if word != "comments"] or list(descriptions)
    return f"only {' and '.join([', '.join(words[:-1]), words[-1]] if len(words) > 1 else words)}"


def _describe_nodes(root: Node, language: Language) -> Iterator[str]:
    """Yield a description of each top-level node, looking into those that only wrap others."""
    pending = root.named_children[:_MAX_TOP_LEVEL_NODES][::-1]
    for _ in range(_MAX_TOP_LEVEL_NODES):
        if not pending:
            return
        node = pending.pop()
        word = "text the parser could not read" if node.type == "ERROR" else language.fillers.get(node.type)
        if word == LOOK_INSIDE or (word is None and node.named_child_count == 1):
            condition = node.child_by_field_name("condition")
            pending.extend(each for each in reversed(node.named_children) if each != condition)
        else:
            yield word or "statements"


# --------------------------------------------------------------------------------------------------

# Attributes of Rust, JUnit, TestNG, NUnit, xUnit, MSTest, PHPUnit and Swift Testing.
_TEST_ATTRIBUTES: Final = frozenset(
    {"test", "rstest", "test_case", "bench", "parameterizedtest", "repeatedtest", "testfactory", "testfixture"}
    | {"testcase", "testcasesource", "fact", "theory", "testclass", "testmethod", "datatestmethod"}
)


def extract_code(item: Item, data: bytes) -> Extraction:
    text = decode(data)
    language = language_of(item.path)
    title = PurePosixPath(item.path).name
    if language is None:
        return Extraction("code", title, text, split_unparsed_code(text))
    return _extract_parsed(language, title, text)


def _extract_parsed(language: Language, title: str, text: str) -> Extraction:
    source = SourceText(text)
    parser = load_grammar(language.grammar, language.query)
    root = parser.parse(language.preprocess(source.data)).root_node
    captures = parser.captures(root)
    if language.simplify is not None and "error" in captures:
        other_root = parser.parse(language.simplify(source.data)).root_node
        other_captures = parser.captures(other_root)
        if _rank_parse(other_captures) > _rank_parse(captures):
            root, captures = other_root, other_captures
    import_nodes = sorted(captures.get("import", ()), key=lambda node: node.start_byte)
    imported = [(node, imported_name) for node in import_nodes for imported_name in language.imports(node, source)]
    by_name = {imported_name.local: imported_name for _, imported_name in imported}
    result = SyntaxPass(language, source).run(keep_callable_references(captures, by_name, language, source))
    expressions = ExpressionTranslator(language, source)
    functions = {
        symbol.definition.name for symbol in result.symbols if symbol.definition.kind in ("method", "function")
    }
    calls = CallReader(language, source, expressions, by_name, functions)
    defined = build_symbols(result.symbols, expressions, source)
    undivided = frozenset(at for at, symbol in enumerate(result.symbols) if not symbol.definition.splits_blocks)
    tests = _find_tests(result.symbols)
    return Extraction(
        "code",
        title,
        text,
        split_along_definitions(text, defined, undivided, tests)
        if len(defined) > len(undivided)
        else split_unparsed_code(text),
        symbols=defined,
        links=tuple(_link(node, imported_name) for node, imported_name in imported),
        calls=calls.read(result.calls),
        facets=_facets(language, root, result),
    )


def _find_tests(pending: Sequence[PendingSymbol]) -> set[int]:
    """Return the definitions marked as tests, and the classes that contain test methods."""
    marked = [
        symbol
        for symbol in pending
        if symbol.definition.is_test
        or any(last_simple_name(it) in _TEST_ATTRIBUTES for it in symbol.definition.attributes)
    ]
    test_classes = {symbol.parent for symbol in marked if symbol.definition.kind == "method"}
    return {symbol.index for symbol in marked} | {
        at for at in test_classes if at is not None and pending[at].definition.kind == "class"
    }


def _rank_parse(captures: Mapping[str, list[Node]]) -> tuple[int, int]:
    """Rank a parse: more definitions first, then fewer errors."""
    return len(captures.get("define", ())), -len(captures.get("error", ()))


def _link(node: Node, imported: ImportedName) -> Link:
    return Link("import", imported.module, node.start_point[0] + 1, f"{imported.local}={imported.member}")


def _facets(language: Language, root: Node, result: SyntaxPassResult) -> Mapping[str, str]:
    facets = {"language": language.name}
    if not result.symbols:
        facets["empty"] = explain_empty(root, language)
    if result.errors:
        facets["errors"] = str(result.errors)
    return MappingProxyType(facets)
