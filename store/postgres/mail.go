package postgres

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/parley-a2a/parley/store"
)

// loosely is the part of a statement that makes its transaction end without waiting for the
// disk. The setting ends with the transaction.
const loosely = "WITH loosely AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true)) "

// postMail writes messages in order, each with the server's time.
const postMail = loosely + "INSERT INTO parley.mail (node, at, body) SELECT l.node, " + clockMillis + ", l.body " +
	"FROM loosely, unnest($1::bytea[], $2::bytea[]) WITH ORDINALITY AS l (node, body, place) ORDER BY l.place"

// dropMail drops old messages that no node took. It looks at the oldest messages only.
const dropMail = loosely + "DELETE FROM parley.mail AS m USING loosely WHERE m.key = ANY (ARRAY(SELECT o.key FROM (" +
	"SELECT x.key, x.at FROM parley.mail AS x ORDER BY x.key LIMIT 1000) AS o WHERE o.at < " + clockMillis + " - $1))"

// Post implements store.Store.
func (s *Store) Post(ctx context.Context, all []store.Mail) error {
	if len(all) == 0 {
		return s.usable(ctx)
	}
	nodes := values(all, func(l store.Mail) []byte { return arg(l.Node) })
	bodies := values(all, func(l store.Mail) []byte { return full(l.Body) })
	err := s.statement(ctx, func(ctx context.Context, q querier) error {
		_, err := q.Exec(ctx, postMail, nodes, bodies)
		return err
	})
	if err != nil {
		return wrap("post", err)
	}
	for _, l := range all {
		s.tell(store.Hint{Node: l.Node})
	}
	if s.sweeps.due(time.Now()) {
		s.sweep(ctx, store.MailKept)
	}
	return nil
}

// sweep drops old messages. If it fails, the next sweep drops them.
func (s *Store) sweep(ctx context.Context, kept time.Duration) {
	err := s.statement(ctx, func(ctx context.Context, q querier) error {
		_, err := q.Exec(ctx, dropMail, kept.Milliseconds())
		return err
	})
	if err != nil {
		s.o.Logger.Debug("old mail could not be dropped", "error", err)
	}
}

// sweeps decides when to sweep next.
type sweeps struct{ last atomic.Int64 }

func (s *sweeps) due(now time.Time) bool {
	was := s.last.Load()
	return now.UnixMilli()-was > store.MailKept.Milliseconds()/5 && s.last.CompareAndSwap(was, now.UnixMilli())
}

// takeMail removes a node's messages and returns them. It skips messages that another
// transaction is taking.
const takeMail = loosely + ", taken AS (DELETE FROM parley.mail AS m USING loosely WHERE m.key = ANY (ARRAY(" +
	"SELECT x.key FROM parley.mail AS x WHERE x.node = $1 ORDER BY x.key LIMIT $2 FOR UPDATE SKIP LOCKED)) RETURNING m.key, m.body) " +
	"SELECT body FROM taken ORDER BY key"

// Mail implements store.Store.
func (s *Store) Mail(ctx context.Context, node string, limit int) ([]store.Mail, error) {
	if err := store.CheckLimit(limit); err != nil {
		return nil, err
	}
	var taken []store.Mail
	err := s.statement(ctx, func(ctx context.Context, q querier) (err error) {
		taken, err = collect(ctx, q, func(l *store.Mail) []any {
			l.Node = node
			return []any{&l.Body}
		}, takeMail, arg(node), limit)
		return err
	})
	if err != nil {
		return nil, wrap("mail", err)
	}
	return taken, nil
}
