package postgres

import (
	"context"
	"time"
)

// State is what Look found.
type State struct {
	Version, Knows int      // of the database's schema, 0 if there is none, and of this program's
	Living         []string // servers that have it open
	Server         string   // its version, as it says
	Durability     string   // how it keeps what it acknowledges, for people
	Lossy          error    // ErrLossy, and why; nil: it keeps what it acknowledges, or need not
	Standby        error    // why it cannot be written to; nil: it is no standby
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
	at, err := look(ctx, d)
	if err != nil {
		return nil, wrap("open", err)
	}
	s := &State{Version: at.version, Knows: current.version(), Refused: wrap("open", current.check(at))}
	is := d.server.Load()
	s.Server, s.Durability = is.version, is.words()
	if !is.allows() {
		s.Lossy = is.lossy()
	}
	if is.standby {
		s.Standby = errStandby
	}
	if at.version > 0 && s.Refused == nil {
		s.Living, err = d.Living(ctx, alive)
	}
	return s, err
}
