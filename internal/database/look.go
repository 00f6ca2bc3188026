package database

import (
	"context"
	"fmt"
	"io/fs"
	"strings"

	"github.com/parley-a2a/parley/internal/plain"
	"github.com/parley-a2a/parley/store"
	"github.com/parley-a2a/parley/store/postgres"
	"github.com/parley-a2a/parley/store/sqlite"
)

// State is the state of a database.
type State struct {
	Version, Knows int64  // of the schema: of the database, and of this program
	Users          string // programs that have it open, or ""
	Lossy          error  // how it may lose acknowledged commits; nil: it does not
	Refused        error  // why this program cannot use the database; nil if it can

	// Kept and Tasks read the database. They are nil if reading would change something.
	Kept  func(ctx context.Context) (map[string][]byte, error)
	Tasks func(ctx context.Context, after *store.Key, limit int) ([]store.Row, error)
	// Packing returns how many tasks of an older version are packed. It is nil for PostgreSQL
	// too, which packs none.
	Packing func(ctx context.Context) (done, of int64, err error)

	close func() error
}

// Close stops the reading.
func (s *State) Close() error {
	if s.close == nil {
		return nil
	}
	return s.close()
}

// Look examines a database without changing anything, even while servers use it. If there is
// none yet, the error is fs.ErrNotExist.
func (p *Location) Look(ctx context.Context) (*State, error) {
	if p.Address == "" {
		l, err := sqlite.Look(p.File)
		if err != nil {
			return nil, err
		}
		s := &State{Version: l.Version, Knows: l.Knows, Refused: l.Refused}
		if l.Locked {
			s.Users = "another process"
			if l.PID > 0 {
				s.Users = fmt.Sprintf("process %d", l.PID)
			}
		}
		if r := l.Reader; r != nil {
			s.Kept, s.Tasks, s.Packing, s.close = r.Kept, r.Tasks, r.Packing, r.Close
		}
		return s, nil
	}
	l, err := postgres.Look(ctx, p.Address, aliveFor)
	if err != nil {
		return nil, err
	}
	if l.Version == 0 {
		return nil, fmt.Errorf("there is nothing of parley's in this database yet: %w", fs.ErrNotExist)
	}
	s := &State{Version: int64(l.Version), Knows: int64(l.Knows), Lossy: l.Lossy, Refused: l.Refused}
	if n := len(l.Living); n > 0 {
		s.Users = plain.Count(n, "server") + " (" + plain.Line(strings.Join(l.Living, ", ")) + ")"
	}
	if l.Version == l.Knows && l.Refused == nil {
		v, err := postgres.OpenVault(ctx, p.Address)
		if err != nil {
			return nil, err
		}
		s.Kept, s.close = v.Kept, v.Close
	}
	return s, nil
}
