package postgres

import (
	"context"
	"time"
)

// State is the result of Look.
type State struct {
	Version, Knows int      // of the schema: of the database (0: none) and of this program
	Living         []string // servers that have the database open
	Server         string   // the server's version
	Durability     string   // how the server keeps acknowledged commits, for people
	Lossy          error    // an ErrLossy with details; nil: commits are safe, or losses are allowed
	Standby        error    // why the server cannot be written to; nil if it is no standby
	Refused        error    // why this program cannot use the database; nil if it can
}

// Look examines a database without changing anything. Servers that were last heard of longer
// than alive ago do not count as living.
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
