-- Times are milliseconds since 1970-01-01 UTC. Task names (tenant, owner, id)
-- are long, so everything else refers to a task by its key.

CREATE TABLE task (
    key     INTEGER PRIMARY KEY,
    tenant  TEXT    NOT NULL,
    owner   TEXT    NOT NULL,
    id      TEXT    NOT NULL,
    context TEXT    NOT NULL,
    state   INTEGER NOT NULL,
    updated INTEGER NOT NULL,
    created INTEGER NOT NULL,
    last    INTEGER NOT NULL, -- seq of the last entry of the log
    active  INTEGER NOT NULL, -- 0 or 1
    node    TEXT    NOT NULL,
    epoch   INTEGER NOT NULL,
    lost    INTEGER NOT NULL,
    turn    INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    head    BLOB              -- of the seal; NULL unless sealed
) STRICT;

CREATE UNIQUE INDEX task_name ON task (tenant, owner, id);

-- One index per filter of a list, each in the order of the list, so that a
-- page is one range of one index and its total a count within the index.
CREATE INDEX task_updated ON task (tenant, owner, updated, id);
CREATE INDEX task_context ON task (tenant, owner, context, updated, id, state);
CREATE INDEX task_state   ON task (tenant, owner, state, updated, id);

-- The tasks that a lost node leaves behind. Few at any time.
CREATE INDEX task_active ON task (node) WHERE active = 1;

-- The bodies of sealed tasks, apart from the rows that lists read.
CREATE TABLE seal (
    task INTEGER PRIMARY KEY,
    body BLOB NOT NULL
) STRICT;

-- The entries that one append adds to a task are one row, framed as pack.go
-- says. Rows lie in the order of commits rather than by task, so that a commit
-- over many tasks writes few pages; the index finds those of a task.
CREATE TABLE entry (
    key   INTEGER PRIMARY KEY,
    task  INTEGER NOT NULL,
    first INTEGER NOT NULL,
    last  INTEGER NOT NULL,
    body  BLOB    NOT NULL
) STRICT;

CREATE UNIQUE INDEX entry_log ON entry (task, last);

-- Content by hash, and which tasks refer to it: what no task refers to any more
-- may go.
CREATE TABLE blob (
    key  INTEGER PRIMARY KEY,
    hash TEXT NOT NULL UNIQUE,
    data BLOB NOT NULL
) STRICT;

CREATE TABLE blob_task (
    blob INTEGER NOT NULL,
    task INTEGER NOT NULL,
    PRIMARY KEY (blob, task)
) STRICT, WITHOUT ROWID;

CREATE INDEX blob_task_task ON blob_task (task);

CREATE TABLE node (
    name TEXT PRIMARY KEY,
    beat INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE secret (
    name  TEXT PRIMARY KEY,
    value BLOB NOT NULL
) STRICT, WITHOUT ROWID;
