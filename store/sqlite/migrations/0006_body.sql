-- The body of a sealed task is here if it is small, and in seal otherwise: one
-- tree less to write to, and to look in, for most tasks.
ALTER TABLE task ADD COLUMN body BLOB;
