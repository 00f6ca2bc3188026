-- A value of a large append comes in chunks, over several commits: chunks is the key of
-- the first, the others have those behind it, and the value's own column is empty. NULL:
-- the value is in its column.
ALTER TABLE entry ADD COLUMN chunks INTEGER;
ALTER TABLE seal  ADD COLUMN chunks INTEGER;
ALTER TABLE blob  ADD COLUMN chunks INTEGER;

CREATE TABLE chunk (
    key  INTEGER PRIMARY KEY, -- each value has 65,536
    data BLOB NOT NULL
) STRICT;

-- Values, by their first chunk, that are not all there yet, or of an append that came to
-- nothing.
CREATE TABLE staged (
    value INTEGER PRIMARY KEY
) STRICT;

-- Chunks go with what refers to them.
CREATE TRIGGER entry_chunks AFTER DELETE ON entry WHEN old.chunks IS NOT NULL BEGIN
    DELETE FROM chunk WHERE key >= old.chunks AND key < old.chunks + 65536;
END;

CREATE TRIGGER seal_chunks AFTER DELETE ON seal WHEN old.chunks IS NOT NULL BEGIN
    DELETE FROM chunk WHERE key >= old.chunks AND key < old.chunks + 65536;
END;

CREATE TRIGGER seal_chunks_replaced AFTER UPDATE ON seal WHEN old.chunks IS NOT NULL BEGIN
    DELETE FROM chunk WHERE key >= old.chunks AND key < old.chunks + 65536;
END;

CREATE TRIGGER blob_chunks AFTER DELETE ON blob WHEN old.chunks IS NOT NULL BEGIN
    DELETE FROM chunk WHERE key >= old.chunks AND key < old.chunks + 65536;
END;
