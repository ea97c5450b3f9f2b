-- Version 2: a second vector index can be filled while the first one answers, and a log of which vectors came and went
-- lets whoever holds them follow. Run once more whenever the next index has taken the place of `vectors`.

CREATE TABLE IF NOT EXISTS next_vectors (chunk INTEGER PRIMARY KEY REFERENCES chunks (id), vector BLOB NOT NULL);

-- A token makes each entry one of its kind: the same number in another index, or in an older copy of this one that went
-- another way, is told apart.
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

-- No earlier position is found again, so nobody goes on with what they hold; 0 is no chunk.
DELETE FROM vector_changes;
INSERT INTO vector_changes (chunk) VALUES (0);
