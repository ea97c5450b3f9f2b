"""Definitions of SQL in its dialects: what they are, where they begin and end, what they use."""

from __future__ import annotations

from textwrap import dedent

import pytest

from dowse.ingest.extract.code.chunks import split_along_definitions
from dowse.ingest.extract.code.extract import split_unparsed_code
from dowse.ingest.extract.sql import extract_sql
from dowse.ingest.extract.sql_reader import detect_dialect, split_sql_name
from dowse.model import Extraction, Item


def read(source: str) -> Extraction:
    return extract_sql(Item("db/file.sql", 0, 0), dedent(source).lstrip("\n").encode())


def definitions(source: str) -> list[str]:
    """Each as `kind name first-last`, columns as `table.name: type`."""
    found = read(source).symbols
    return [
        f"{found[it.parent].name}.{it.name}{it.value_expression.rstrip(';')}"
        if it.parent is not None
        else f"{it.kind} {it.name} {it.start_line}-{it.end_line}"
        for it in found
    ]


def uses(source: str) -> list[str]:
    """Each as `who: name`, calls with the number of their arguments."""
    found = read(source)
    names = {None: "-", **{number: it.name for number, it in enumerate(found.symbols)}}
    return [f"{names[it.symbol]}: {it.name}" + (f"({it.arguments})" if it.kind == "call" else "") for it in found.calls]


PROCEDURE = """
    CREATE PROCEDURE [dbo].[Save Order]
        @id int,
        @name nvarchar(50) = N'a, b',
        @lines AS dbo.LineType READONLY
    AS
    BEGIN
        IF @id IS NULL
        BEGIN
            RETURN 1
        END
        SELECT CASE WHEN @id = 1 THEN 2 END
    END
    GO
    SELECT 1
"""

PACKAGE = """
    CREATE OR REPLACE EDITIONABLE PACKAGE hr.staff AUTHID CURRENT_USER AS
      most CONSTANT NUMBER(10) := CASE WHEN 1 = 1 THEN 5 ELSE 6 END;
      bad EXCEPTION;
      PRAGMA EXCEPTION_INIT(bad, -20001);
      TYPE entry IS RECORD (id NUMBER, title VARCHAR2(30) := 'x;y');
      SUBTYPE small IS NUMBER(3);
      CURSOR everyone (p NUMBER) IS SELECT * FROM emp;
      FUNCTION hire (name VARCHAR2, n NUMBER DEFAULT f(1)) RETURN NUMBER DETERMINISTIC;
      PROCEDURE fire;
    END staff;
    /
"""
BODY = """
    CREATE OR REPLACE PACKAGE BODY hr.staff IS
      total NUMBER;
      FUNCTION hire (name VARCHAR2) RETURN NUMBER IS
        mine NUMBER := q'[it's]';
        $IF $$debug IS NOT NULL $THEN
        PROCEDURE deep(x NUMBER) IS BEGIN NULL; END deep;
        $END
      BEGIN
        IF name = 'a' THEN deep(1); END IF;
        FOR i IN 1..3 LOOP BEGIN step(i); EXCEPTION WHEN OTHERS THEN NULL; END; END LOOP;
        CASE mine WHEN 1 THEN BEGIN a(1); END; ELSE b(2); END CASE;
        RETURN mine;
      END hire;
      PROCEDURE fire AS BEGIN other.note('x'); END;
      PROCEDURE outside AS LANGUAGE JAVA NAME 'a.b()';
    BEGIN
      total := 1;
    END staff;
    /
    CREATE TABLE behind (id NUMBER);
"""

DEFINED = {
    "a package": (
        PACKAGE,
        [
            "namespace staff 1-10",
            "staff.most",
            "staff.bad",
            "staff.entry",
            "entry.id:NUMBER",
            "entry.title:VARCHAR2(30)",
            "staff.small",
            "staff.everyone",
            "staff.hire",
            "staff.fire",
        ],
    ),
    "the body of a package": (
        BODY,
        [
            "namespace staff 1-18",
            "staff.total",
            "staff.hire",
            "hire.deep",
            "staff.fire",
            "staff.outside",
            "table behind 20-20",
            "behind.id:NUMBER",
        ],
    ),
    "an object with methods, and their bodies": (
        "CREATE TYPE pt UNDER shape (x NUMBER, MEMBER FUNCTION len RETURN NUMBER, CONSTRUCTOR FUNCTION pt);\n/\n"
        "CREATE OR REPLACE TYPE BODY pt AS\n  MEMBER FUNCTION len RETURN NUMBER IS BEGIN RETURN x; END;\nEND;\n/\n",
        ["userDefinedType pt 1-1", "pt.x:NUMBER", "pt.len", "pt.pt", "namespace pt 3-5", "pt.len"],
    ),
    "an object with the rights of its caller": (
        "CREATE TYPE pt AUTHID CURRENT_USER AS OBJECT (x NUMBER, MEMBER FUNCTION len RETURN NUMBER);\n/\n"
        "CREATE TYPE dot AUTHID DEFINER UNDER pt (y NUMBER);\n",
        ["userDefinedType pt 1-1", "pt.x:NUMBER", "pt.len", "userDefinedType dot 3-3", "dot.y:NUMBER"],
    ),
    "names that end with a dollar sign": (
        "CREATE TYPE department$ AS OBJECT (name$ VARCHAR2(30));\n/\nCREATE TYPE v$all AS TABLE OF department$;\n",
        ["userDefinedType department$ 1-1", "department$.name$:VARCHAR2(30)", "userDefinedType v$all 3-3"],
    ),
    "a delimiter of one dollar sign": (
        "DELIMITER $\nCREATE PROCEDURE a() BEGIN SELECT 1; END$\nCREATE PROCEDURE b() BEGIN SELECT 2; end$\n",
        ["storedProcedure a 2-2", "storedProcedure b 3-3"],
    ),
    "settings of the compiler of PL/SQL": (
        "BEGIN\n  $IF $$no_op $THEN NULL; $ELSE x; $END\nEND;\n/\n"
        "CREATE TRIGGER tr BEFORE INSERT ON t FOR EACH ROW\nBEGIN\n  $if $$no_op $then NULL; $end\nEND;\n/\n"
        "CREATE TABLE t (id NUMBER);\n",
        ["storedProcedure tr 5-8", "table t 10-10", "t.id:NUMBER"],
    ),
    "a package that is cut off": (
        "CREATE PACKAGE a AS\n  PROCEDURE p;\nCREATE TABLE t (x int);\n",
        ["namespace a 1-2", "a.p", "table t 3-3", "t.x:int"],
    ),
    "columns that are called as constraints are": (
        "CREATE TABLE t (key text, period varchar(9), PERIOD FOR SYSTEM_TIME (a, b), KEY (a));",
        ["table t 1-1", "t.key:text", "t.period:varchar(9)"],
    ),
    "a view by force": ("CREATE OR REPLACE FORCE VIEW v AS SELECT 1;", ["view v 1-1"]),
    "a procedure": (PROCEDURE, ["storedProcedure Save Order 1-12"]),
    "each batch its own": (
        "CREATE PROC a AS\nSELECT 1;\nSELECT 2;\n\nGO\n"
        "ALTER PROCEDURE b AS SELECT 3\nGO\nCREATE OR ALTER PROC c AS\nRETURN 1\n",
        ["storedProcedure a 1-3", "storedProcedure b 6-6", "storedProcedure c 8-9"],
    ),
    "a body of several blocks": (
        "CREATE PROC dbo.a AS\nIF 1 = 1\nBEGIN\n SELECT 1\nEND\nELSE BEGIN\n SELECT 2\nEND\nSELECT 3\nGO\n",
        ["storedProcedure a 1-9"],
    ),
    "without GO, as tools split them": (
        "CREATE PROC dbo.a AS BEGIN\nSELECT 1\nEND\n\nCREATE PROC dbo.b AS BEGIN\nSELECT 1\nEND\n",
        ["storedProcedure a 1-3", "storedProcedure b 5-7"],
    ),
    "transactions and handlers are no blocks": (
        "CREATE PROC dbo.a AS\nBEGIN\nBEGIN TRY\nBEGIN TRAN\nCOMMIT\nEND TRY\n"
        "BEGIN CATCH\nROLLBACK\nEND CATCH\nEND\nGO",
        ["storedProcedure a 1-10"],
    ),
    "a function, a trigger, a view, a type, an index": (
        """
        CREATE FUNCTION dbo.f (@a int) RETURNS int AS BEGIN RETURN 1 END
        GO
        CREATE TRIGGER dbo.t ON dbo.Orders AFTER INSERT AS SELECT 1
        GO
        CREATE VIEW dbo.v AS
        SELECT 1 AS x
        GO
        CREATE TYPE dbo.y AS TABLE (Id int, Price money)
        GO
        CREATE UNIQUE CLUSTERED INDEX i ON dbo.Orders (Id)
        """,
        [
            "sqlFunction f 1-1",
            "storedProcedure t 3-3",
            "view v 5-6",
            "userDefinedType y 8-8",
            "y.Id:int",
            "y.Price:money",
            "sqlIndex i 10-10",
        ],
    ),
    "a table and its columns": (
        """
        CREATE TABLE [dbo].[Order Lines] (
            Id int IDENTITY(1, 1) NOT NULL, -- it's a comment, with a comma
            [Order Id] int REFERENCES dbo.Orders (Id),
            Price decimal(10, 2) DEFAULT (0),
            Total AS (Price * 2),
            Label varchar(10) CHECK (Label IN ('a', 'b')),
            CONSTRAINT PK PRIMARY KEY CLUSTERED (Id, [Order Id])
        ) ON [PRIMARY]
        GO
        """,
        [
            "table Order Lines 1-8",
            "Order Lines.Id:int",
            "Order Lines.Order Id:int",
            "Order Lines.Price:decimal(10,2)",
            "Order Lines.Total",
            "Order Lines.Label:varchar(10)",
        ],
    ),
    "tables that only live while something runs": (
        "CREATE TABLE #t (a int)\nGO\n"
        "CREATE PROC dbo.p AS\nCREATE TABLE x (a int)\nCREATE TABLE #y (b int)\nSELECT 1\nGO",
        ["storedProcedure p 3-6"],
    ),
    "what is only altered": (
        "ALTER TABLE t ADD x int;\nALTER FUNCTION f(int) OWNER TO me;\n"
        "ALTER TRIGGER t ON x RENAME TO y;\nALTER VIEW v RENAME TO w;",
        [],
    ),
    "an altered view with a new body": ("ALTER VIEW dbo.v WITH SCHEMABINDING AS\nSELECT 1", ["view v 1-2"]),
    "PostgreSQL": (
        """
        CREATE TABLE IF NOT EXISTS app.users (
            id serial PRIMARY KEY,
            tags text[] NOT NULL,
            at timestamp without time zone,
            FOREIGN KEY (id) REFERENCES app.others (id)
        );
        CREATE OR REPLACE FUNCTION app.f(a int, b text DEFAULT 'x;y') RETURNS SETOF app.users AS $body$
        BEGIN
            IF a > 1 THEN RETURN; END IF;
            PERFORM app.g(a);
        END;
        $body$ LANGUAGE plpgsql;
        CREATE MATERIALIZED VIEW app.m AS SELECT 1;
        CREATE INDEX CONCURRENTLY ix ON app.users USING btree (id);
        CREATE INDEX ON app.users (id);
        CREATE TYPE app.mood AS ENUM ('a', 'b');
        CREATE PROCEDURE app.p() LANGUAGE sql AS 'select 1';
        SELECT 1;
        """,
        [
            "table users 1-6",
            "users.id:serial",
            "users.tags:text",
            "users.at:timestamp",
            "sqlFunction f 7-12",
            "view m 13-13",
            "sqlIndex ix 14-14",
            "userDefinedType mood 16-16",
            "storedProcedure p 17-17",
        ],
    ),
    "MySQL": (
        """
        CREATE TABLE `users` (
          `id` int(11) NOT NULL,
          `name` varchar(20) DEFAULT 'it\\'s',
          PRIMARY KEY (`id`),
          KEY `ix` (`name`)
        ) ENGINE=InnoDB; # done, isn't it
        DELIMITER $$
        CREATE DEFINER=`root`@`localhost` PROCEDURE p(IN a INT, OUT b VARCHAR(10))
        BEGIN
          DECLARE x INT;
          CASE a WHEN 1 THEN SELECT 1; END CASE;
          WHILE a > 0 DO SET a = a - 1; END WHILE;
        END$$
        /*!50003 CREATE TRIGGER tr BEFORE INSERT ON users FOR EACH ROW BEGIN SET @a = 1; END */$$
        DELIMITER ;
        SELECT 1;
        """,
        [
            "table users 1-6",
            "users.id:int(11)",
            "users.name:varchar(20)",
            "storedProcedure p 8-13",
            "storedProcedure tr 14-14",
        ],
    ),
    "SQLite": (
        """
        CREATE TABLE notes (key TEXT PRIMARY KEY, "when" INTEGER, body);
        CREATE TRIGGER IF NOT EXISTS changed AFTER UPDATE ON notes BEGIN
          INSERT INTO log VALUES (1);
          UPDATE notes SET body = 1;
        END;
        CREATE VIRTUAL TABLE words USING fts5 (body);
        BEGIN;
        COMMIT;
        CREATE VIEW v AS SELECT 1;
        """,
        [
            "table notes 1-1",
            "notes.key:TEXT",
            "notes.when:INTEGER",
            "notes.body",
            "storedProcedure changed 2-5",
            "table words 6-6",
            "view v 9-9",
        ],
    ),
    "nothing in comments and strings": (
        "/* CREATE TABLE a (b int) /* nested */ CREATE TABLE c (d int) */\n"
        "-- CREATE VIEW v AS\nSELECT 'CREATE TABLE x (y int)'",
        [],
    ),
    "a GO that is no line of its own": (
        "CREATE PROC dbo.p AS\nSELECT 1 AS GO\nSELECT 2\nGO\nSELECT 3",
        ["storedProcedure p 1-3"],
    ),
    "a transaction in the only block, and no GO": (
        "CREATE PROC dbo.p AS BEGIN\nBEGIN TRAN\nCOMMIT\nEND\nSELECT 1\nCREATE VIEW v AS SELECT 1",
        ["storedProcedure p 1-4", "view v 6-6"],
    ),
    "a batch is one routine to its end": (
        "CREATE PROC dbo.p AS BEGIN;\nBEGIN;\nSELECT 1;\nEND;\nEND;\nSELECT 2;\nGO\nSELECT 3",
        ["storedProcedure p 1-6"],
    ),
    "a semicolon behind BEGIN, and no GO": (
        "CREATE PROC dbo.p AS BEGIN;\nBEGIN;\nSELECT 1;\nEND;\nEND;\nSELECT 2;\nCREATE VIEW v AS SELECT 1",
        ["storedProcedure p 1-5", "view v 7-7"],
    ),
    "a view that a function makes": (
        "CREATE FUNCTION f() RETURNS void AS $$\nBEGIN\nCREATE VIEW w AS SELECT 1;\nEND;\n$$ LANGUAGE plpgsql;",
        ["sqlFunction f 1-5"],
    ),
    "a new batch after unfinished dollars": ("SELECT $$\nGO\nCREATE VIEW dbo.v AS SELECT 1", ["view v 3-3"]),
    "types of columns, and one of options": (
        "CREATE TYPE a AS (x int);\nCREATE TYPE b (INPUT = f, OUTPUT = g);",
        ["userDefinedType a 1-1", "a.x:int", "userDefinedType b 2-2"],
    ),
    "a list that is not closed": (
        "CREATE TABLE a (x int\nCREATE TABLE b (y int)",
        ["table a 1-1", "a.x:int", "table b 2-2", "b.y:int"],
    ),
    "Windows lines": (
        "CREATE PROC dbo.a AS\r\nSELECT 1\r\nGO\r\nCREATE PROC dbo.b AS\r\nSELECT 1\r\nGO\r\n",
        ["storedProcedure a 1-2", "storedProcedure b 4-5"],
    ),
}


@pytest.mark.parametrize(("source", "expected"), DEFINED.values(), ids=list(DEFINED))
def test_definitions(source: str, expected: list[str]) -> None:
    assert definitions(source) == expected


USED = {
    "procedures": (
        "CREATE PROC dbo.p AS\nEXEC dbo.a\nEXECUTE @rc = [dbo].[b c] @x, 'y,z', @w = 1\n"
        "EXEC (@sql)\nEXEC @name\nEXEC sp_d 1",
        ["p: a(0)", "p: b c(3)", "p: sp_d(1)"],
    ),
    "no procedures": ("CREATE PROC dbo.p WITH EXECUTE AS OWNER AS\nGRANT EXECUTE ON dbo.p TO public", []),
    "a call": ("CALL app.refresh(1, f(2, 3));", ["-: refresh(2)", "-: f(2)"]),
    "functions": (
        "SELECT dbo.f(a, g(1)), COUNT(*), dbo.h(), x.value('a', 'int') FROM t WHERE a IN (1) AND LEN(b) > 1",
        ["-: f(2)", "-: g(1)", "-: h(0)", "-: t"],
    ),
    "tables": (
        "SELECT * FROM dbo.a x, [b] AS y JOIN c ON 1 = 1 LEFT JOIN dbo.f(1) z ON 1 = 1 WHERE EXISTS (SELECT 1 FROM d)",
        ["-: a", "-: b", "-: c", "-: f(1)", "-: d"],
    ),
    "writing": (
        "INSERT INTO a (x, y) VALUES (1, 2); UPDATE b SET x = 1; DELETE FROM c; TRUNCATE TABLE d;"
        " ALTER TABLE e ADD x int;"
        " MERGE INTO f AS t USING g AS s ON 1 = 1 WHEN MATCHED THEN UPDATE SET x = 1; DROP TABLE h;",
        ["-: a", "-: b", "-: c", "-: d", "-: e", "-: f", "-: g"],
    ),
    "other names for tables and queries": (
        "WITH q AS (SELECT 1 FROM a), r (x) AS (SELECT 2 FROM q) UPDATE u SET x = 1 FROM users AS u JOIN r ON 1 = 1",
        ["-: a", "-: users"],
    ),
    "no tables": (
        "SELECT EXTRACT(YEAR FROM b), TRIM('x' FROM c) WHERE a IS DISTINCT FROM d FOR UPDATE;"
        " FETCH NEXT FROM cur INTO @x;",
        [],
    ),
    "no writing": (
        "SELECT 1 FROM a FOR UPDATE NOWAIT; CREATE TABLE x (y int REFERENCES z ON UPDATE CASCADE)",
        ["-: a", "x: z"],
    ),
    "names with columns": ("SELECT 1 FROM (SELECT 2) AS v (x) CROSS APPLY (SELECT 3) w (y)", []),
    "a query into a variable, elsewhere than in T-SQL": ("SELECT a INTO v FROM `t`;", ["-: t"]),
    "a query into a table": ("SELECT a INTO dbo.v FROM #t", ["-: v"]),
    "keys": ("CREATE TABLE a (x int REFERENCES b (y), z int DEFAULT dbo.f())", ["a: b", "a: f(0)"]),
    "a trigger and an index": (
        "CREATE TRIGGER t ON dbo.a AFTER INSERT, UPDATE AS EXEC b\nGO\nCREATE INDEX i ON c (d)",
        ["t: a", "t: b(0)", "i: c"],
    ),
    "a trigger of PostgreSQL": (
        "CREATE TRIGGER t BEFORE UPDATE ON a FOR EACH ROW EXECUTE FUNCTION app.check(1, 2);",
        ["t: a", "t: check(2)"],
    ),
    "after a definition nobody is the owner": ("CREATE VIEW v AS SELECT 1 FROM a;\nSELECT 2 FROM b;", ["v: a", "-: b"]),
    "inside a body in dollars": (
        "CREATE FUNCTION f() RETURNS int AS $$ SELECT g(1) FROM a; $$ LANGUAGE sql;\nSELECT 1 FROM b;",
        ["f: g(1)", "f: a", "-: b"],
    ),
}


@pytest.mark.parametrize(("source", "expected"), USED.values(), ids=list(USED))
def test_uses(source: str, expected: list[str]) -> None:
    assert uses(source) == expected


def test_what_a_routine_says_of_itself() -> None:
    (procedure,) = read(PROCEDURE).symbols
    assert procedure.parameters == ("int", "nvarchar(50)", "dbo.LineType")
    assert procedure.signature.startswith("CREATE PROCEDURE [dbo].[Save Order] @id int, @name nvarchar(50) = N'a, b'")
    stats = procedure.stats
    assert stats is not None and (stats.cyclomatic, stats.nesting, stats.parameters, stats.returns) == (3, 1, 3, 1)


def test_signatures_and_modifiers() -> None:
    source = """
        CREATE TRIGGER x.t ON x.a AFTER INSERT AS SELECT 1
        GO
        CREATE FUNCTION dbo.f(@a int) RETURNS decimal(5, 2) AS BEGIN RETURN 1 END
        GO
        CREATE UNIQUE INDEX i ON a (b)
    """
    found = read(source).symbols
    assert [(it.signature, it.modifiers) for it in found] == [
        ("CREATE TRIGGER x.t ON x.a", ("trigger",)),
        ("CREATE FUNCTION dbo.f(@a int) RETURNS decimal(5, 2)", ()),
        ("CREATE UNIQUE INDEX i ON a", ("unique",)),
    ]
    assert [it.value_expression for it in found] == ["", ":decimal(5,2);", ""]


def test_lines_of_uses() -> None:
    found = read("CREATE PROC dbo.p AS\n/* one\ntwo */\nSELECT *\nFROM\n  dbo.t\nEXEC dbo.q\n")
    assert [(it.name, it.line) for it in found.calls] == [("t", 6), ("q", 7)]


def test_names_that_expressions_can_not_hold_are_unknown_to_them() -> None:
    assert [(it.name, it.callee) for it in read("SELECT 1 FROM [a.b], c").calls] == [("a.b", "?"), ("c", "c")]


@pytest.mark.parametrize(
    ("source", "empty"),
    [
        ("SELECT 1 FROM a", "only statements"),
        ("-- SELECT\n/* nothing */", "only comments"),
        (" \n", "nothing but blanks"),
        ("CREATE VIEW v AS SELECT 1", None),
    ],
)
def test_why_there_is_no_definition(source: str, empty: str | None) -> None:
    found = extract_sql(Item("a.sql", 0, 0), source.encode())
    assert (found.kind, found.title, found.facets["language"], found.facets.get("empty")) == (
        "code",
        "a.sql",
        "sql",
        empty,
    )


def test_blocks_are_those_of_any_code() -> None:
    found = read(PROCEDURE)
    assert found.blocks == split_unparsed_code(found.text)


@pytest.mark.parametrize(
    ("source", "dialect"),
    [
        ("SELECT 1\nGO\n", "tsql"),
        ("SELECT 1 FROM [dbo].[x]", "tsql"),
        ("create procedure p @a int as", "tsql"),
        ("DELIMITER //\n", "mysql"),
        ("SELECT `a`", "mysql"),
        ("CREATE FUNCTION f() AS $x$ $x$", "postgres"),
        ("SELECT 1\nGO\nPRINT 'a::b `c`'", "tsql"),
        ("CREATE OPERATOR @> (PROCEDURE = f, COMMUTATOR = '<@')", "other"),
        ("SELECT 1", "other"),
    ],
)
def test_dialects(source: str, dialect: str) -> None:
    assert detect_dialect(source) == dialect


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a.b", ["a", "b"]),
        ("[a b].[c]]d]", ["a b", "c]d"]),
        ('"x""y"', ['x"y']),
        ("`t`", ["t"]),
        ("db..t", ["db", "t"]),
    ],
)
def test_parts_of_names(name: str, expected: list[str]) -> None:
    assert split_sql_name(name) == expected


def test_what_a_package_uses_is_used_by_its_routines():
    assert uses(BODY) == ["hire: deep(1)", "hire: step(1)", "hire: a(1)", "hire: b(1)", "fire: note(1)"]
    assert uses(PACKAGE) == ["staff: emp", "hire: f(1)"]


def test_routines_of_a_package_say_where_they_are_and_how_involved():
    found = {it.name: it for it in read(BODY).symbols}
    assert [(found[it].start_line, found[it].end_line) for it in ("hire", "deep", "fire")] == [
        (3, 13),
        (6, 6),
        (14, 14),
    ]
    assert [(found[it].kind, found[it].level) for it in ("hire", "deep")] == [
        ("sqlFunction", 1),
        ("storedProcedure", 2),
    ]
    assert found["hire"].stats is not None
    assert found["hire"].stats.returns == 1
    assert found["staff"].modifiers == ("package", "body")


def test_variables_of_a_package_are_no_places_to_cut():
    variables = "".join(f"  v{number} NUMBER := 'some value of a variable';\n\n" for number in range(200))
    text = f"CREATE PACKAGE a AS\n{variables}END;\n"
    found = read(text)
    assert len(found.symbols) == 201
    assert found.blocks == split_along_definitions(text, found.symbols[:1])
