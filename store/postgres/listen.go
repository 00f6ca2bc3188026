package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/parley-a2a/parley/store"
)

// senderSize is the length of a store's name in its messages.
const senderSize = 11 // eight bytes in base64

// begin starts the goroutines that listen for hints and send them.
func (s *Store) begin() {
	b := make([]byte, 8)
	rand.Read(b)
	s.hints.sender, s.hints.ring = coding.EncodeToString(b), make(chan struct{}, 1)
	if s.o.NoListen {
		return
	}
	s.work.Go(s.send)
	s.work.Go(s.listen)
}

// Watch implements store.Store.
func (s *Store) Watch(ctx context.Context, f func(store.Hint)) error {
	if s.over.Err() != nil {
		return store.ErrClosed
	}
	return s.hub.Watch(ctx, s.over.Done(), f)
}

// Hears implements store.Hinted.
func (s *Store) Hears() bool { return s.hints.hears.Load() }

// Times of the listening connection. It also receives this store's own messages. If it is
// silent for longer than they take, it is dead, or a pooler in between holds them back.
const (
	firstHint = 5 * time.Second
	noHint    = 3 * hereEvery
	listenMax = 30 * time.Second // longest pause between two attempts
)

var errSilent = errors.New("no hints come through the connection that listens")

// listen receives the messages of other stores until this store is closed. If the connection
// breaks or cannot be made, it makes a new one.
func (s *Store) listen() {
	warned := false
	for tries := 0; s.over.Err() == nil; tries++ {
		heard, err := s.listenOnce()
		s.hints.hears.Store(false) // new stores are not noticed meanwhile
		if s.over.Err() != nil {
			return
		}
		if heard {
			tries, warned = 0, false
		}
		switch {
		case !errors.Is(err, errSilent):
			s.o.Logger.Debug("the connection that listens for hints is gone; trying again", "error", err)
		case !warned:
			warned = true
			s.o.Logger.Warn("hints of other processes do not arrive, so changes are noticed only when this one looks; " +
				"behind a pooler, add listen= with an address of the database itself to that of the store, or listen=off if it has no LISTEN")
		}
		s.pause(s.over, min(50*time.Millisecond<<min(tries, 20), listenMax))
		// A store that started meanwhile may know this one already and so does not answer. It
		// announces itself within hereEvery. Until then count an unnamed store as present.
		s.hints.counts("", time.Now())
	}
}

// listenOnce connects and listens until the connection is lost. heard means that listening
// worked: this store received its own message.
func (s *Store) listenOnce() (heard bool, err error) {
	c, err := s.listener()
	if err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeout(s.over, s.o.wait)
	defer cancel()
	conn, err := pgx.ConnectConfig(ctx, c)
	if err != nil {
		return false, err
	}
	defer leave(conn)
	if _, err := conn.Exec(ctx, "LISTEN "+channel); err != nil {
		return false, err
	}
	// From here on no hint is missed, but earlier ones may have been.
	s.hub.Tell(lost)
	s.hints.announce()
	for last, limit := time.Now(), firstHint; ; {
		n, err := s.hear(conn, last.Add(limit))
		switch {
		case err == nil:
			if s.take(n) {
				heard, last, limit = true, time.Now(), noHint
			}
		case s.over.Err() != nil || conn.IsClosed():
			return heard, err
		default:
			return heard, errSilent
		}
	}
}

// hear waits for a notification.
func (s *Store) hear(conn *pgx.Conn, until time.Time) (*pgconn.Notification, error) {
	ctx, cancel := context.WithDeadline(s.over, until)
	defer cancel()
	return conn.WaitForNotification(ctx)
}

// take handles a notification. own means that this store sent it.
func (s *Store) take(n *pgconn.Notification) (own bool) {
	if n.Channel != channel {
		return false
	}
	sender, said := decode(n.Payload)
	switch sender {
	case "":
		return false
	case s.hints.sender:
		s.hints.hears.Store(true)
		return true
	}
	s.hints.heard(sender, time.Now())
	s.hub.Tell(said...)
	return false
}

// listener returns the configuration of the listening connection.
func (s *Store) listener() (*pgx.ConnConfig, error) {
	if s.o.Listen != "" {
		c, err := pgxpool.ParseConfig(s.o.Listen)
		if err != nil {
			return nil, err
		}
		s.seen.fence(c.ConnConfig)
		return c.ConnConfig, nil
	}
	return s.pool.Config().ConnConfig.Copy(), nil
}
