package sqlite

import "context"

// join has the group's next commit call f, and waits for that. If f fails, what it did
// is undone, and nothing else of the commit is. It is for small changes that many callers
// make, such as those of push configs: each with a transaction of its own would cost a
// sync, and commits would queue with them for the writer.
func (s *Store) join(ctx context.Context, what string, f func(*conn) (changed bool, err error)) error {
	if err := context.Cause(ctx); err != nil {
		return wrap(what, err)
	}
	done := make(chan error, 1)
	s.group.Add(work{change: f}, nil, 0, func(err error) { done <- err })
	// ctx does not interrupt the write: once begun it is quick, and a caller
	// who left would not know whether it happened.
	return wrap(what, <-done)
}

// savepoint calls f within a transaction. What f did is undone if it fails. broken
// means that the transaction came to an end with it, as it may when the disk is full.
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
	if broken == nil { // without a transaction this fails, whatever f said
		broken = c.stmt("RELEASE part").exec()
	}
	return changed && err == nil, err, broken
}
