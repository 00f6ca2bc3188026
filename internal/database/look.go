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

// State is what a database says of itself.
type State struct {
	Version, Knows int64  // of its schema, and of this program's
	Users          string // the program that has it open, or ""
	Lossy          error  // how it may lose what it has acknowledged; nil: it does not
	Refused        error  // why this program cannot use it; nil: it can

	// Kept and Tasks read it. They are nil where that would change something.
	Kept  func(ctx context.Context) (map[string][]byte, error)
	Tasks func(ctx context.Context, after *store.Key, limit int) ([]store.Row, error)
	// Packing is how many of its tasks of an older version are packed. It is nil, too,
	// where none are.
	Packing func(ctx context.Context) (done, of int64, err error)

	close func() error
}

// Close ends the reading.
func (s *State) Close() error {
	if s.close == nil {
		return nil
	}
	return s.close()
}

// Look looks at a database without changing anything, also while servers use it. If
// there is none yet it is fs.ErrNotExist.
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
