-- Version 1. The catalog (collections … links) is authoritative; words and vectors are derived from it.

CREATE TABLE manifest (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE collections (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  root TEXT NOT NULL UNIQUE,
  listed INTEGER NOT NULL DEFAULT 0,
  synced_at REAL NOT NULL DEFAULT 0
);

CREATE TABLE records (
  id INTEGER PRIMARY KEY,
  collection INTEGER NOT NULL REFERENCES collections (id),
  path TEXT NOT NULL,
  kind TEXT NOT NULL,
  title TEXT NOT NULL,
  size INTEGER NOT NULL,
  mtime_ns INTEGER NOT NULL,
  digest TEXT NOT NULL,
  chunking TEXT NOT NULL,
  settled INTEGER NOT NULL,
  tags TEXT NOT NULL,     -- JSON array
  aliases TEXT NOT NULL,  -- JSON array
  facets TEXT NOT NULL,   -- JSON object
  UNIQUE (collection, path)
);
CREATE INDEX records_path ON records (path);

CREATE TABLE skipped (
  collection INTEGER NOT NULL REFERENCES collections (id),
  path TEXT NOT NULL,
  reason TEXT NOT NULL,
  size INTEGER NOT NULL,
  mtime_ns INTEGER NOT NULL,
  PRIMARY KEY (collection, path)
) WITHOUT ROWID;

-- Keys are never reused, so that a key held by a reader never refers to another chunk.
-- The text index covers title, trail, text, names, tags and path. trail is joined by U+001F; tags includes aliases.
CREATE TABLE chunks (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  record INTEGER NOT NULL REFERENCES records (id),
  ordinal INTEGER NOT NULL,
  public_id TEXT NOT NULL,
  role TEXT NOT NULL,
  start_line INTEGER NOT NULL,
  end_line INTEGER NOT NULL,
  digest BLOB NOT NULL,
  title TEXT NOT NULL,
  trail TEXT NOT NULL,
  text TEXT NOT NULL,
  names TEXT NOT NULL,
  tags TEXT NOT NULL,
  path TEXT NOT NULL
);
CREATE INDEX chunks_record ON chunks (record, ordinal);
CREATE INDEX chunks_public ON chunks (public_id);

CREATE TABLE symbols (
  record INTEGER NOT NULL REFERENCES records (id),
  ordinal INTEGER NOT NULL,
  name TEXT NOT NULL,
  kind TEXT NOT NULL,
  start_line INTEGER NOT NULL,
  end_line INTEGER NOT NULL,
  level INTEGER NOT NULL,
  parent INTEGER,
  PRIMARY KEY (record, ordinal)
) WITHOUT ROWID;
CREATE INDEX symbols_name ON symbols (name);

CREATE TABLE links (
  record INTEGER NOT NULL REFERENCES records (id),
  ordinal INTEGER NOT NULL,
  kind TEXT NOT NULL,
  target TEXT NOT NULL,
  line INTEGER NOT NULL,
  context TEXT NOT NULL,
  PRIMARY KEY (record, ordinal)
) WITHOUT ROWID;
CREATE INDEX links_target ON links (target);

CREATE TABLE vectors (chunk INTEGER PRIMARY KEY REFERENCES chunks (id), vector BLOB NOT NULL);

CREATE VIRTUAL TABLE words USING fts5 (
  title, trail, text, names, tags, path,
  content = 'chunks', content_rowid = 'id',
  tokenize = 'porter unicode61 remove_diacritics 2'
);
CREATE VIRTUAL TABLE vocabulary USING fts5vocab (words, row); -- reads words, stores nothing

CREATE TRIGGER chunks_added AFTER INSERT ON chunks BEGIN
  INSERT INTO words (rowid, title, trail, text, names, tags, path)
  VALUES (new.id, new.title, new.trail, new.text, new.names, new.tags, new.path);
END;
CREATE TRIGGER chunks_removed AFTER DELETE ON chunks BEGIN
  INSERT INTO words (words, rowid, title, trail, text, names, tags, path)
  VALUES ('delete', old.id, old.title, old.trail, old.text, old.names, old.tags, old.path);
END;
