-- What may be old: tasks that no process works at, of all tenants and owners,
-- by state and age. A task at work is not in it, so that a turn costs it one
-- entry at its end.
CREATE INDEX task_idle ON task (state, updated) WHERE active = 0;

-- Keys of tasks that are deleted but whose log is too long to go with them in
-- one step. Nobody sees it any more; the rest goes bit by bit.
CREATE TABLE doomed (
    task INTEGER PRIMARY KEY
) STRICT;
