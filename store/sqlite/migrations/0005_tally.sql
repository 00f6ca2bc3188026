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
    WHERE s.context <> '';

INSERT INTO tally (scope, state, n)
    SELECT s.key, t.state, t.n
    FROM (SELECT tenant, owner, state, count(*) AS n FROM task INDEXED BY task_state GROUP BY tenant, owner, state) AS t
    CROSS JOIN scope AS s USING (tenant, owner)
    WHERE s.context = '';

INSERT INTO tally (scope, state, n) SELECT scope, kind, count(*) FROM member GROUP BY scope, kind;

-- A span begins at the time of each 768th task. Nothing here sorts or holds more
-- than these: r is how many are older, which tasks of one time have in common.
INSERT INTO span (scope, state, begin, n)
    SELECT scope, state, at, coalesce(lead(r) OVER (PARTITION BY scope, state ORDER BY at), n) - r
    FROM (
        SELECT DISTINCT scope, state, at, r FROM (
            SELECT s.key AS scope, t.state, t.updated AS at, rank() OVER w - 1 AS r, row_number() OVER w - 1 AS i
            FROM scope AS s CROSS JOIN task AS t INDEXED BY task_state USING (tenant, owner)
            WHERE s.context = ''
            WINDOW w AS (PARTITION BY s.key, t.state ORDER BY t.updated))
        WHERE i % 768 = 0)
    JOIN tally USING (scope, state);

INSERT INTO span (scope, state, begin, n)
    SELECT scope, state, at, coalesce(lead(r) OVER (PARTITION BY scope, state ORDER BY at), n) - r
    FROM (
        SELECT DISTINCT scope, state, at, r FROM (
            SELECT scope, kind AS state, at, rank() OVER w - 1 AS r, row_number() OVER w - 1 AS i
            FROM member
            WINDOW w AS (PARTITION BY scope, kind ORDER BY at))
        WHERE i % 768 = 0)
    JOIN tally USING (scope, state);
