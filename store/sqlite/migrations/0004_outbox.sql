-- Webhooks of tasks: readers of the log that deliver it elsewhere.
CREATE TABLE push (
    key     INTEGER PRIMARY KEY,
    task    INTEGER NOT NULL,
    id      TEXT    NOT NULL,
    host    TEXT    NOT NULL,
    body    BLOB    NOT NULL,
    created INTEGER NOT NULL,
    node    TEXT    NOT NULL,
    live    INTEGER NOT NULL, -- 0 or 1
    cursor  INTEGER NOT NULL,
    tries   INTEGER NOT NULL,
    since   INTEGER,          -- NULL: none failed
    due     INTEGER,          -- NULL: at once
    reason  TEXT    NOT NULL
) STRICT;

CREATE UNIQUE INDEX push_name ON push (task, id);

-- What may still have to be delivered. Few, beside all that ever was.
CREATE INDEX push_live ON push (node) WHERE live = 1;

-- Deliveries that were given up.
CREATE TABLE letter (
    push   INTEGER NOT NULL,
    seq    INTEGER NOT NULL,
    time   INTEGER NOT NULL,
    tries  INTEGER NOT NULL,
    reason TEXT    NOT NULL,
    again  INTEGER NOT NULL, -- 0 or 1
    PRIMARY KEY (push, seq)
) STRICT, WITHOUT ROWID;

CREATE INDEX letter_again ON letter (push, seq) WHERE again = 1;

-- What is kept under a name, until it is replaced.
CREATE TABLE kept (
    name  TEXT PRIMARY KEY,
    value BLOB NOT NULL
) STRICT, WITHOUT ROWID;
