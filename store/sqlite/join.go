package sqlite

import "context"

// join calls f within the group's next commit, and waits for the outcome. If f fails, only
// its own changes are undone. join is for small changes that many callers make, such as those
// of push configs: a transaction for each would cost a sync, and commits would queue with
// them for the writer.
func (s *Store) join(ctx context.Context, what string, f func(*conn) (changed bool, err error)) error {
	if err := context.Cause(ctx); err != nil {
		return wrap(what, err)
	}
	done := make(chan error, 1)
	s.group.Add(work{change: f}, nil, 0, func(err error) { done <- err })
	// ctx does not interrupt the write, because the write is quick once begun, and a caller
	// that left early would not know whether it happened.
	return wrap(what, <-done)
}

// savepoint calls f within a transaction and undoes f's changes if f fails. broken is not nil
// if the whole transaction ended with it, which may happen when the disk is full.
func (c *conn) savepoint(f func(*conn) (bool, error)) (changed bool, err, broken error) {
	if broken = c.stmt("SAVEPOINT part").exec(); broken != nil {
		return false, broken, broken
	}
	if changed, err = f(c); err != nil {
		if c.GetAutocommit() {
			return false, err, err
		}
		broken = c.stmt("ROLLBACK TO part").exec()
	}
	if broken == nil { // fails without a transaction, whatever f returned
		broken = c.stmt("RELEASE part").exec()
	}
	return changed && err == nil, err, broken
}
