"""The truth in SQLite: records with their chunks, symbols and links, one transaction per record."""

from __future__ import annotations

from dowse.store.sqlite.catalog.collections import Collections
from dowse.store.sqlite.catalog.reading import Reading
from dowse.store.sqlite.catalog.selecting import Selecting
from dowse.store.sqlite.catalog.writing import Writing


class SqliteCatalog(Collections, Writing, Reading, Selecting):
    pass
