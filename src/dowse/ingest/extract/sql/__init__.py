"""SQL of any dialect, read by a lexer: grammars fail on most real procedures, and tables are found without one.

How it works: one regex finds names and a few marks and skips comments and strings (`lexer`); one pass over them knows
what is open and where it ends (`reader`), what a CREATE defines (`headers`, `lists`) and what statements use (`uses`).
Definitions are procedures (triggers with that modifier), functions, tables with their columns, views, types and
indexes; the name of each is its last part, the whole stands in its signature. Calls are EXEC, CALL and functions;
tables that are read or written are calls of the kind `refer`.
"""

from __future__ import annotations

from dowse.ingest.extract.sql.extract import extract_sql

__all__ = ["extract_sql"]
