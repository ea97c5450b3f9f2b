-- Version 2: a second vector index that is filled while the first one is active, and a change log for cached indexes.
-- Run again whenever the next index has replaced `vectors`.

CREATE TABLE IF NOT EXISTS next_vectors (chunk INTEGER PRIMARY KEY REFERENCES chunks (id), vector BLOB NOT NULL);

-- The token makes each entry unique: the same number in another index, or in a diverged copy of this one, differs.
CREATE TABLE IF NOT EXISTS vector_changes (
  epoch INTEGER PRIMARY KEY AUTOINCREMENT,
  chunk INTEGER NOT NULL,
  token INTEGER NOT NULL DEFAULT (random())
);

CREATE TRIGGER IF NOT EXISTS vectors_added AFTER INSERT ON vectors BEGIN
  INSERT INTO vector_changes (chunk) VALUES (new.chunk);
END;
CREATE TRIGGER IF NOT EXISTS vectors_removed AFTER DELETE ON vectors BEGIN
  INSERT INTO vector_changes (chunk) VALUES (old.chunk);
END;

-- Invalidates all earlier positions, so that cached indexes are reloaded; 0 is no chunk.
DELETE FROM vector_changes;
INSERT INTO vector_changes (chunk) VALUES (0);
