-- Version 4: checksums, so that a byte that changed by itself is noticed; null in rows that were written before.

ALTER TABLE records ADD COLUMN details INTEGER; -- of what hangs on the record: chunks, symbols, links, calls, text
ALTER TABLE records ADD COLUMN seal INTEGER;    -- of the row itself, details included; not of size, mtime_ns, settled
ALTER TABLE chunks ADD COLUMN seal INTEGER;     -- of the row itself
ALTER TABLE vectors ADD COLUMN seal INTEGER;    -- of the vector, as in next_vectors
ALTER TABLE next_vectors ADD COLUMN seal INTEGER;

-- There are few collections, and everything hangs on them: each is kept twice.
ALTER TABLE collections ADD COLUMN twin TEXT;
UPDATE collections SET twin = name || char(31) || root;
CREATE TRIGGER collections_added AFTER INSERT ON collections BEGIN
  UPDATE collections SET twin = new.name || char(31) || new.root WHERE id = new.id;
END;
CREATE TRIGGER collections_changed AFTER UPDATE OF name, root ON collections BEGIN
  UPDATE collections SET twin = new.name || char(31) || new.root WHERE id = new.id;
END;
