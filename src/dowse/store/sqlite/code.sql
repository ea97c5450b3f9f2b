-- Version 3: code. More columns for symbols, and tables for calls and whole texts.

ALTER TABLE symbols ADD COLUMN folded TEXT NOT NULL DEFAULT ''; -- the name in lower case, for lookup
ALTER TABLE symbols ADD COLUMN signature TEXT NOT NULL DEFAULT '';
ALTER TABLE symbols ADD COLUMN holds TEXT NOT NULL DEFAULT '';
ALTER TABLE symbols ADD COLUMN parameters TEXT NOT NULL DEFAULT '[]'; -- these four are JSON arrays
ALTER TABLE symbols ADD COLUMN modifiers TEXT NOT NULL DEFAULT '[]';
ALTER TABLE symbols ADD COLUMN attributes TEXT NOT NULL DEFAULT '[]';
ALTER TABLE symbols ADD COLUMN bases TEXT NOT NULL DEFAULT '[]';
ALTER TABLE symbols ADD COLUMN cyclomatic INTEGER; -- null if not measured, like the six below
ALTER TABLE symbols ADD COLUMN cognitive INTEGER;
ALTER TABLE symbols ADD COLUMN nesting INTEGER;
ALTER TABLE symbols ADD COLUMN arity INTEGER;
ALTER TABLE symbols ADD COLUMN returns INTEGER;
ALTER TABLE symbols ADD COLUMN calls_made INTEGER;
ALTER TABLE symbols ADD COLUMN lambdas INTEGER;
DROP INDEX symbols_name;
CREATE INDEX symbols_folded ON symbols (folded, kind); -- a covering index for most lookups
CREATE INDEX symbols_headings ON symbols (record) WHERE kind = 'heading'; -- makes counting definitions fast

-- Distinct names and their trigrams, for finding names by a part of them. Names that are no longer used stay, and find
-- nothing.
CREATE TABLE symbol_names (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE VIRTUAL TABLE symbol_grams USING fts5 (
  name, content = 'symbol_names', content_rowid = 'id', tokenize = 'trigram', detail = none
);

-- Further lookup keys of a symbol: kind is `base` or `attribute`, value its last name in lower case.
CREATE TABLE traits (
  kind TEXT NOT NULL,
  value TEXT NOT NULL,
  record INTEGER NOT NULL REFERENCES records (id),
  symbol INTEGER NOT NULL,
  PRIMARY KEY (kind, value, record, symbol)
) WITHOUT ROWID;
CREATE INDEX traits_record ON traits (record);

CREATE TABLE calls (
  record INTEGER NOT NULL REFERENCES records (id),
  ordinal INTEGER NOT NULL,
  name TEXT NOT NULL,
  callee TEXT NOT NULL,
  line INTEGER NOT NULL,
  symbol INTEGER,
  arguments INTEGER NOT NULL,
  kind TEXT NOT NULL,
  PRIMARY KEY (record, ordinal)
) WITHOUT ROWID;
CREATE INDEX calls_name ON calls (name);

-- The file name of a path, by which imports are resolved.
CREATE INDEX records_name ON records (replace(path, rtrim(path, replace(path, '/', '')), ''));

CREATE TABLE texts (record INTEGER PRIMARY KEY REFERENCES records (id), body BLOB NOT NULL); -- UTF-8, zlib

-- The change log of texts, so that a cached line index needs to read changed texts only. The token makes each entry
-- unique, as in vector_changes; 0 is no record.
CREATE TABLE text_changes (
  epoch INTEGER PRIMARY KEY AUTOINCREMENT,
  record INTEGER NOT NULL,
  token INTEGER NOT NULL DEFAULT (random())
);
CREATE TRIGGER texts_added AFTER INSERT ON texts BEGIN
  INSERT INTO text_changes (record) VALUES (new.record);
END;
CREATE TRIGGER texts_removed AFTER DELETE ON texts BEGIN
  INSERT INTO text_changes (record) VALUES (old.record);
END;
INSERT INTO text_changes (record) VALUES (0);

-- Both full-text indexes are written at the end of a transaction, not row by row: see FtsWriteBuffer.
DROP TRIGGER chunks_added;
DROP TRIGGER chunks_removed;
