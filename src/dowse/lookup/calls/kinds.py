"""Which kinds of symbols are types, which can be called, and which stand for a value."""

from __future__ import annotations

TYPES = frozenset({"class", "interface", "struct", "record", "enum", "delegate", "trait", "typeAlias"})
FUNCTIONS = frozenset({"method", "function", "constructor", "storedProcedure", "sqlFunction"})
VALUES = frozenset({"field", "property", "variable", "event", "enumMember"})
NAMES = VALUES | {"typeAlias"}  # what stands for something else
CLASSES = TYPES - {"typeAlias", "delegate"}
CALLABLE = FUNCTIONS | CLASSES | {"property"}
ASSIGN = "assign"
"""The kind of a site that calls nothing, but gives a member a function."""
