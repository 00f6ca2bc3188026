-- What was taken, so that the same that comes again is known.
CREATE TABLE receipt (
    key     INTEGER PRIMARY KEY,
    tenant  TEXT    NOT NULL,
    owner   TEXT    NOT NULL,
    name    TEXT    NOT NULL,
    time    INTEGER NOT NULL,
    until   INTEGER NOT NULL,
    digest  BLOB    NOT NULL,
    task    INTEGER NOT NULL, -- its key; 0: there is none
    context TEXT    NOT NULL, -- empty where there is a task, which has it
    seq     INTEGER NOT NULL,
    answer  BLOB    NOT NULL
) STRICT;

CREATE UNIQUE INDEX receipt_name ON receipt (tenant, owner, name);
CREATE INDEX receipt_until ON receipt (until);
CREATE INDEX receipt_task ON receipt (task) WHERE task > 0;
CREATE INDEX receipt_context ON receipt (tenant, owner, context) WHERE task = 0;

-- Whether a node ended in good order: then no process was lost with it.
ALTER TABLE node ADD COLUMN gone INTEGER NOT NULL DEFAULT 0;
