"""SQL that is broken, cut, endless or meant to be slow: it is read to the end, and what is found lies in the text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dowse.ingest.extract.sql import extract_sql
from dowse.model import Extraction, Item

PIECES = (
    "CREATE PROCEDURE dbo.p @a int, @b nvarchar(10) = 'x' AS\nBEGIN\n EXEC dbo.q @a\nEND\nGO\n",
    "CREATE TABLE [t] (a int, [b] varchar(10) REFERENCES u (x), CONSTRAINT k PRIMARY KEY (a));\n",
    "CREATE FUNCTION f(a int) RETURNS int AS $$ BEGIN RETURN g(a); END; $$ LANGUAGE plpgsql;\n",
    "DELIMITER //\nCREATE PROCEDURE `p`() BEGIN SELECT 'it\\'s'; END//\nDELIMITER ;\n",
    "CREATE TRIGGER x AFTER INSERT ON t BEGIN UPDATE t SET a = 1; END;\n",
    "CREATE PACKAGE BODY k AS\n v int := q'[x]';\n PROCEDURE m(a int) IS BEGIN n(a); END m;\nEND k;\n/\n",
    "MERGE INTO a USING b ON 1 = 1 WHEN MATCHED THEN UPDATE SET x = CASE WHEN 1 = 1 THEN 2 END;\n",
    "WITH q (x) AS (SELECT 1 FROM a, b c) INSERT INTO d (x) VALUES (1, 'a'), (2, 'b');\r\n",
    "/* a /* b */ c */ -- d\n'e''f' \"g\" [h] `i` $j$ N'k' E'\\'' \\ ; , ( ) . .. @ # 1.5e3 é",
)
MANY_CHARS = 60_000


def read(text: str) -> Extraction:
    return extract_sql(Item("a.sql", 0, 0), text.encode())


def check(found: Extraction) -> None:
    """Everything lies in the text, in order, parents first."""
    last = found.text.count("\n") + 1
    for number, symbol in enumerate(found.symbols):
        assert symbol.name and 1 <= symbol.start_line <= symbol.end_line <= last
        assert symbol.parent is None or symbol.parent < number
        assert len(symbol.signature) <= 300
    assert [it.start_line for it in found.symbols] == sorted(it.start_line for it in found.symbols)
    for call in found.calls:
        assert call.name and 1 <= call.line <= last and call.arguments >= 0
        assert call.symbol is None or 0 <= call.symbol < len(found.symbols)


@st.composite
def spliced(draw: st.DrawFn) -> str:
    """Real pieces, cut anywhere and put together."""
    chosen = draw(st.lists(st.sampled_from(PIECES), min_size=1, max_size=6))
    cuts = [(piece, draw(st.integers(0, len(piece))), draw(st.integers(0, len(piece)))) for piece in chosen]
    return "".join(piece[min(a, b) : max(a, b)] for piece, a, b in cuts)


@given(spliced())
def test_any_splice_of_real_sql_is_read(text: str) -> None:
    check(read(text))


@given(st.text(alphabet=st.sampled_from("'\"[]`$/*-\n\r();,.@#\\ aGO"), max_size=60))
def test_any_text_is_read(text: str) -> None:
    check(read(text))


@pytest.mark.parametrize("text", PIECES)
def test_every_beginning_of_real_sql_is_read(text: str) -> None:
    for end in range(len(text)):
        check(read(text[:end]))


# With time that grows as the square of the length these would not end within minutes.
@pytest.mark.parametrize(
    "text",
    [
        *(
            "CREATE ",
            "CREATE /*",
            "CREATE -- \n",
            "CREATE TABLE a (",
            "CreatE TABLE a (x int) ",
            "ALTER PROC x @a int, ",
        ),
        *("CREATE INDEX i ON ", "CREATE TRIGGER t x ", "CREATE PROC p @a int ", "ALTER VIEW x "),
        *("[", '"a', "`", "$a$ ", "/* ", "/*/**/", "/", "' ", "E'\\", "'\\", "/*!50003 "),
        *("(", "f(", "a,b(x ", "a.", "FROM ", "FROM a b, ", "WITH a AS (", "EXEC ", "VALUES (", "MERGE a USING b "),
        *("BEGIN ", "CASE ", "END ", "GO\n", " "),
    ],
)
def test_repeated_without_end(text: str) -> None:
    many = text * (MANY_CHARS // len(text))
    check(read(many))
    check(read(f"CREATE PROC dbo.p AS {many}"))


def test_a_long_line_of_rows() -> None:
    text = (
        "INSERT INTO t VALUES " + "(1, 'a b', NULL, 2.5), " * 20_000 + "(f(1), 'x');\nCREATE VIEW v AS SELECT 1 FROM u;"
    )
    found = read(text)
    assert [it.name for it in found.symbols] == ["v"]
    assert [(it.name, it.line) for it in found.calls] == [("t", 1), ("f", 1), ("u", 2)]


@pytest.mark.parametrize("opened", ["'", "/*", "E'", '"', "[", "`", "$$"])
def test_what_comes_before_something_unfinished_is_found(opened: str) -> None:
    found = read(f"CREATE VIEW v AS SELECT 1 FROM t;\nSELECT {opened} x")
    assert [it.name for it in found.symbols] == ["v"] and "t" in [it.name for it in found.calls]


@pytest.mark.parametrize(
    ("text", "errors"),
    [
        ("SELECT 'x", "1"),
        ("SELECT 'x' /* y", "1"),
        ("SELECT 'x\nGO\nSELECT 'y\nGO\n", "2"),
        ("SELECT `a`, 'x\\'", "1"),
        ("SELECT `a`, 'x\\\\', \"y\"", None),
        ("SELECT 'it''s', E'\\'' /* a /* b */ c */ -- '", None),
    ],
)
def test_unfinished_strings_and_comments_are_told(text: str, errors: str | None) -> None:
    assert read(text).facets.get("errors") == errors


def test_a_batch_is_never_inside_a_string() -> None:
    found = read("SELECT 'unfinished\nGO\nCREATE PROC dbo.p AS SELECT 'x'\nGO\n")
    assert [(it.name, it.start_line) for it in found.symbols] == [("p", 3)]


def test_deep_blocks_are_one_routine() -> None:
    depth = 5_000
    found = read("CREATE PROC dbo.p AS\n" + "BEGIN\n" * depth + "END\n" * depth + "GO\nSELECT 1")
    (symbol,) = found.symbols
    assert (symbol.start_line, symbol.end_line) == (1, 1 + 2 * depth)
    assert symbol.stats is not None and symbol.stats.nesting == depth - 1
