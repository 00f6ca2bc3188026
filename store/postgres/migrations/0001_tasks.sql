-- Everything is in a schema of its own, named in full, so that a session needs no
-- settings. Names that come from outside are bytea: any bytes are valid, they
-- sort by their bytes, and no collation of the server's matters. Times are
-- milliseconds since 1970-01-01 UTC.
--
-- Keys are made by the programs, from blocks of these sequences: what refers to a
-- new row can be written in the same statement. A value v of a sequence stands for
-- the 1024 keys from (v-1)*1024+1 on.

CREATE SEQUENCE parley.task_key;

CREATE TABLE parley.task (
    key     bigint  PRIMARY KEY,
    tenant  bytea   NOT NULL,
    owner   bytea   NOT NULL,
    id      bytea   NOT NULL,
    context bytea   NOT NULL,
    state   integer NOT NULL,
    updated bigint  NOT NULL,
    created bigint  NOT NULL,
    last    bigint  NOT NULL, -- seq of the last entry of the log
    active  boolean NOT NULL,
    node    bytea   NOT NULL,
    epoch   bigint  NOT NULL,
    lost    integer NOT NULL,
    turn    bigint  NOT NULL,
    attempt integer NOT NULL,
    head    bytea,            -- of the seal; NULL unless sealed
    body    bytea             -- of the seal
);

CREATE UNIQUE INDEX task_name ON parley.task (tenant, owner, id);

-- Lists without a state merge those of all states: each index more costs every
-- task, and states are few.
CREATE INDEX task_state   ON parley.task (tenant, owner, state, updated, id);
CREATE INDEX task_context ON parley.task (tenant, owner, context, state, updated, id);

-- What nodes have and may leave behind, what waits for one, and what may be old.
CREATE INDEX task_active  ON parley.task (node) WHERE active;
CREATE INDEX task_waiting ON parley.task (tenant, updated, owner, id) WHERE active AND node = '';
CREATE INDEX task_idle    ON parley.task (state, updated) WHERE NOT active;

-- The entries that one append adds to a task are one row, framed as store.Pack does.
CREATE TABLE parley.entry (
    task  bigint NOT NULL,
    last  bigint NOT NULL,
    first bigint NOT NULL,
    body  bytea  NOT NULL,
    PRIMARY KEY (task, last)
);

-- Content by hash, and which tasks refer to it: what no task refers to may go.
CREATE TABLE parley.blob (
    hash bytea PRIMARY KEY,
    data bytea NOT NULL
);

CREATE TABLE parley.blob_task (
    task bigint NOT NULL,
    hash bytea  NOT NULL,
    PRIMARY KEY (task, hash)
);

CREATE INDEX blob_task_hash ON parley.blob_task (hash);

-- What was taken, so that the same that comes again is known.
CREATE TABLE parley.receipt (
    tenant  bytea  NOT NULL,
    owner   bytea  NOT NULL,
    name    bytea  NOT NULL,
    time    bigint NOT NULL,
    until   bigint NOT NULL,
    digest  bytea  NOT NULL,
    task    bigint NOT NULL, -- its key; 0: there is none
    context bytea  NOT NULL, -- empty where there is a task, which has it
    seq     bigint NOT NULL,
    answer  bytea  NOT NULL,
    PRIMARY KEY (tenant, owner, name)
);

CREATE INDEX receipt_until   ON parley.receipt (until);
CREATE INDEX receipt_task    ON parley.receipt (task) WHERE task > 0;
CREATE INDEX receipt_context ON parley.receipt (tenant, owner, context) WHERE task = 0;

-- Webhooks of tasks: readers of the log that deliver it elsewhere.
CREATE SEQUENCE parley.push_key;

CREATE TABLE parley.push (
    key     bigint  PRIMARY KEY,
    task    bigint  NOT NULL,
    id      bytea   NOT NULL,
    host    bytea   NOT NULL,
    body    bytea   NOT NULL,
    created bigint  NOT NULL,
    node    bytea   NOT NULL,
    live    boolean NOT NULL,
    cursor  bigint  NOT NULL,
    tries   integer NOT NULL,
    since   bigint,           -- NULL: none failed
    due     bigint,           -- NULL: at once
    reason  bytea   NOT NULL
);

CREATE UNIQUE INDEX push_name ON parley.push (task, id);
CREATE INDEX push_live ON parley.push (node, key) WHERE live;

-- Deliveries that were given up.
CREATE TABLE parley.letter (
    push   bigint  NOT NULL,
    seq    bigint  NOT NULL,
    time   bigint  NOT NULL,
    tries  integer NOT NULL,
    reason bytea   NOT NULL,
    again  boolean NOT NULL,
    PRIMARY KEY (push, seq)
);

CREATE INDEX letter_again ON parley.letter (push, seq) WHERE again;

CREATE TABLE parley.node (
    name bytea   PRIMARY KEY,
    beat bigint  NOT NULL,
    gone boolean NOT NULL -- it ended in good order
);

CREATE TABLE parley.secret (
    name  bytea PRIMARY KEY,
    value bytea NOT NULL
);

-- What is kept under a name, until it is replaced.
CREATE TABLE parley.kept (
    name  bytea PRIMARY KEY,
    value bytea NOT NULL
);

-- What processes tell each other.
CREATE TABLE parley.mail (
    key  bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    node bytea  NOT NULL,
    at   bigint NOT NULL,
    body bytea  NOT NULL
);

CREATE INDEX mail_node ON parley.mail (node, key);

-- Keys of tasks that are deleted but whose log is too long to go with them in
-- one step. Nobody sees it any more; the rest goes bit by bit.
CREATE TABLE parley.doomed (
    task bigint PRIMARY KEY
);

-- What is too many to be counted for each list: a scope is an owner of many
-- tasks, or a context of many within one. Others are counted.
CREATE TABLE parley.scope (
    key     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant  bytea NOT NULL,
    owner   bytea NOT NULL,
    context bytea NOT NULL -- empty: all tasks of the owner
);

CREATE UNIQUE INDEX scope_name ON parley.scope (tenant, owner, context);

-- Moves on whenever there are other scopes than before.
CREATE SEQUENCE parley.scope_change;
SELECT nextval('parley.scope_change');

-- How many tasks of a state a scope has that were last updated within a piece of
-- time. Pieces are of several widths (a width of 0 is all time). Each program
-- counts in a slot of its own, so that none waits for another's transaction; a slot
-- alone may be below zero.
CREATE TABLE parley.tally (
    scope bigint   NOT NULL,
    state integer  NOT NULL,
    width smallint NOT NULL, -- the piece is updated >> width; 0: all
    piece bigint   NOT NULL,
    slot  smallint NOT NULL,
    n     bigint   NOT NULL,
    PRIMARY KEY (scope, state, width, piece, slot)
) WITH (fillfactor = 50);
