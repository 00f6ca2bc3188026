-- What is too many to be counted for each list: a scope is an owner of more
-- than 1,024 tasks, or a context of more within one. Others are counted.
CREATE TABLE scope (
    key     INTEGER PRIMARY KEY,
    tenant  TEXT    NOT NULL,
    owner   TEXT    NOT NULL,
    context TEXT    NOT NULL  -- empty: all tasks of the owner
) STRICT;

CREATE UNIQUE INDEX scope_name ON scope (tenant, owner, context);

-- How many tasks of a state a scope has.
CREATE TABLE tally (
    scope INTEGER NOT NULL,
    state INTEGER NOT NULL,
    n     INTEGER NOT NULL,
    PRIMARY KEY (scope, state)
) STRICT, WITHOUT ROWID;

-- The same by time: how many were updated at begin or later, and before the
-- next one begins.
CREATE TABLE span (
    scope INTEGER NOT NULL,
    state INTEGER NOT NULL,
    begin INTEGER NOT NULL,
    n     INTEGER NOT NULL,
    PRIMARY KEY (scope, state, begin)
) STRICT, WITHOUT ROWID;

-- The tasks of a context that is a scope, by state, in the order of lists. The
-- index of contexts is in that order without the state.
CREATE TABLE member (
    scope INTEGER NOT NULL,
    kind  INTEGER NOT NULL, -- the task's state
    at    INTEGER NOT NULL, -- when it was updated
    name  TEXT    NOT NULL, -- its id
    task  INTEGER NOT NULL,
    PRIMARY KEY (scope, kind, at, name)
) STRICT, WITHOUT ROWID;

INSERT INTO scope (tenant, owner, context)
    SELECT tenant, owner, '' FROM task GROUP BY tenant, owner HAVING count(*) > 1024;

INSERT INTO scope (tenant, owner, context)
    SELECT tenant, owner, context FROM task WHERE context <> '' GROUP BY tenant, owner, context HAVING count(*) > 1024;

INSERT INTO member (scope, kind, at, name, task)
    SELECT s.key, t.state, t.updated, t.id, t.key
    FROM scope AS s CROSS JOIN task AS t INDEXED BY task_context USING (tenant, owner, context)
    WHERE s.context <> '' ORDER BY 1, 2, 3, 4;

-- Those of one time are in one span: they have the same rank.
INSERT INTO span (scope, state, begin, n)
    SELECT scope, state, min(updated), count(*) FROM (
        SELECT s.key AS scope, t.state, t.updated, (rank() OVER (PARTITION BY s.key, t.state ORDER BY t.updated) - 1) / 768 AS part
        FROM scope AS s CROSS JOIN task AS t INDEXED BY task_state USING (tenant, owner)
        WHERE s.context = '')
    GROUP BY scope, state, part;

INSERT INTO span (scope, state, begin, n)
    SELECT scope, kind, min(at), count(*) FROM (
        SELECT scope, kind, at, (rank() OVER (PARTITION BY scope, kind ORDER BY at) - 1) / 768 AS part FROM member)
    GROUP BY scope, kind, part;

INSERT INTO tally (scope, state, n) SELECT scope, state, sum(n) FROM span GROUP BY scope, state;
