-- The tasks that wait for a process. Few at most times, many behind a server
-- that is busy.
CREATE INDEX task_waiting ON task (tenant, updated, owner, id) WHERE active = 1 AND node = '';
