-- A sealed task that is small is one piece in the column of its head: the seal and
-- the end of its log, as piece.go says. The sizes are those of the seal's parts
-- before they were packed; NULL: it is not packed.
ALTER TABLE task ADD COLUMN head_size INTEGER;
ALTER TABLE task ADD COLUMN body_size INTEGER;
