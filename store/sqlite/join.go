package sqlite

import (
	"context"
	"sync"

	"github.com/parley-a2a/parley/store"
)

// joins are small changes that many callers make, such as those of push configs. They
// are part of the group's next commit: each with a transaction of its own would cost a
// sync, and commits would queue with them for the writer.
type joins struct {
	mu     sync.Mutex // protects the fields below
	queue  []*joined
	closed bool
}

type joined struct {
	f    func(*conn) (changed bool, err error)
	err  error         // of f, or of the commit
	done chan struct{} // closed when err is known
}

// join has the group's next commit call f, and waits for that. If f fails, what it did
// is undone, and nothing else of the commit is.
func (s *Store) join(ctx context.Context, what string, f func(*conn) (changed bool, err error)) error {
	if err := context.Cause(ctx); err != nil {
		return wrap(what, err)
	}
	j := &joined{f: f, done: make(chan struct{})}
	s.joins.mu.Lock()
	if s.joins.closed {
		s.joins.mu.Unlock()
		return wrap(what, store.ErrClosed)
	}
	s.joins.queue = append(s.joins.queue, j)
	s.joins.mu.Unlock()
	s.group.Wake()
	// ctx does not interrupt the write: once begun it is quick, and a caller
	// who left would not know whether it happened.
	<-j.done
	return wrap(what, j.err)
}

// take returns what the next commit has to do.
func (q *joins) take() []*joined {
	q.mu.Lock()
	defer q.mu.Unlock()
	all := q.queue
	q.queue = nil
	return all
}

// close refuses what comes from now on, and what still waits.
func (q *joins) close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	for _, j := range q.take() {
		j.err = store.ErrClosed
		close(j.done)
	}
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
