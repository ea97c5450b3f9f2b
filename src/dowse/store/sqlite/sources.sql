-- Version 5: collections that are not project files, and records about another time than they were written.

ALTER TABLE collections ADD COLUMN source TEXT NOT NULL DEFAULT 'files';
ALTER TABLE records ADD COLUMN at_ns INTEGER; -- null: mtime_ns
ALTER TABLE records ADD COLUMN lined INTEGER NOT NULL DEFAULT 1; -- whether it has a row in texts

CREATE INDEX records_moment ON records (kind, coalesce(at_ns, mtime_ns));
DROP INDEX links_target;
CREATE INDEX links_target ON links (target, kind);
CREATE INDEX chunks_role ON chunks (role) WHERE role <> 'text'; -- few have another
