-- Version 4: checksums, to detect silent corruption; null in rows written before.

ALTER TABLE records ADD COLUMN details INTEGER; -- checksum of the chunks, symbols, links, calls and text
ALTER TABLE records ADD COLUMN seal INTEGER;    -- checksum of the row with details, without size, mtime_ns, settled
ALTER TABLE chunks ADD COLUMN seal INTEGER;     -- checksum of the row
ALTER TABLE vectors ADD COLUMN seal INTEGER;    -- checksum of the vector, as in next_vectors
ALTER TABLE next_vectors ADD COLUMN seal INTEGER;

-- Collections are few and everything depends on them, so each is stored twice.
ALTER TABLE collections ADD COLUMN twin TEXT;
UPDATE collections SET twin = name || char(31) || root;
CREATE TRIGGER collections_added AFTER INSERT ON collections BEGIN
  UPDATE collections SET twin = new.name || char(31) || new.root WHERE id = new.id;
END;
CREATE TRIGGER collections_changed AFTER UPDATE OF name, root ON collections BEGIN
  UPDATE collections SET twin = new.name || char(31) || new.root WHERE id = new.id;
END;
