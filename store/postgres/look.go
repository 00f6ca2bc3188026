package postgres

import (
	"context"
	"time"
)

// State is what Look found.
type State struct {
	Version, Knows int      // of the database's schema, 0 if there is none, and of this program's
	Living         []string // servers that have it open
	Lossy          error    // ErrLossy, and why; nil: it keeps what it acknowledges, or need not
	Refused        error    // why this program cannot use the database; nil: it can
}

// Look looks at a database, without changing anything. Servers that have not been heard
// of for longer than alive do not count.
func Look(ctx context.Context, address string, alive time.Duration) (*State, error) {
	d, err := connect(ctx, address, &Options{Conns: 1, NoListen: true})
	if err != nil {
		return nil, err
	}
	defer d.pool.Close()
	at, err := look(ctx, d.pool)
	if err != nil {
		return nil, wrap("open", err)
	}
	s := &State{Version: at.version, Knows: current.version(), Refused: current.check(at)}
	if is := d.server.Load(); is != nil && !is.allows() {
		s.Lossy = is.lossy()
	}
	if at.version > 0 && s.Refused == nil {
		s.Living, err = d.Living(ctx, alive)
	}
	return s, err
}
