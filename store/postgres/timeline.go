package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// hostWait is how long a connection to one host may take to be made where the address
// has several. pgx waits for two minutes, for each of them: a host that is dark, or
// whose server stands still, would keep all others from being tried.
const hostWait = 3 * time.Second

// timelines is the fence against a primary that was replaced and comes back. Each
// promotion of a standby raises the server's timeline by one; the process remembers
// the highest that it has seen, and does not use a server that is behind it. The
// epochs of tasks cannot do that: they are in the database, and what comes back has
// its own.
type timelines struct {
	log *slog.Logger

	mu     sync.Mutex // protects the fields below
	system string     // the cluster's identifier, which is in all copies of it
	newest uint32
	told   uint32 // the timeline of the last refusal in the log
	raised func() // is called when there is a newer one, if not nil
}

// raise has f called for each newer timeline from now on.
func (t *timelines) raise(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.raised = f
}

// errBehind is why a server is not used.
var errBehind = errors.New("this server was replaced as primary")

// askTimeline returns the system identifier and the timeline of a primary, as the name
// of the file that it writes its log to.
const askTimeline = "SELECT (SELECT system_identifier::text FROM pg_catalog.pg_control_system()), pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_lsn())"

// fence makes each connection of a configuration pass the fence, as a part of being
// made: where the address has several hosts, the next one is tried.
func (t *timelines) fence(c *pgx.ConnConfig) {
	if len(c.Fallbacks) > 0 && c.ConnectTimeout == 0 {
		c.ConnectTimeout = hostWait
	}
	before := c.ValidateConnect
	c.ValidateConnect = func(ctx context.Context, conn *pgconn.PgConn) error {
		if before != nil {
			if err := before(ctx, conn); err != nil {
				return err
			}
		}
		return t.pass(ctx, conn)
	}
}

// pass asks a server for its timeline. One that has none, as a standby or an engine
// that only speaks PostgreSQL's protocol, passes.
func (t *timelines) pass(ctx context.Context, conn *pgconn.PgConn) error {
	rows, err := conn.Exec(ctx, askTimeline).ReadAll()
	switch {
	case is(err, "42", "55000", "0A000"):
		return nil // it has no such function, does not allow it, or is in recovery
	case err != nil:
		return err
	case len(rows) != 1 || len(rows[0].Rows) != 1 || len(rows[0].Rows[0]) != 2:
		return nil
	}
	system, file := string(rows[0].Rows[0][0]), string(rows[0].Rows[0][1])
	if len(file) < 8 {
		return nil
	}
	timeline, err := strconv.ParseUint(file[:8], 16, 32)
	if err != nil {
		return nil // the name is not PostgreSQL's
	}
	return t.sees(system, uint32(timeline))
}

// sees judges a server by its timeline.
func (t *timelines) sees(system string, timeline uint32) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.system != system: // the first one, or what pg_upgrade made in its place
		if t.system != "" {
			t.log.Warn("the database is another cluster than before")
		}
		t.system, t.newest, t.told = system, timeline, 0
	case timeline > t.newest:
		t.log.Warn("the database has failed over", "timeline", timeline, "before", t.newest)
		t.newest, t.told = timeline, 0
		if t.raised != nil {
			t.raised()
		}
	case timeline < t.newest:
		if t.told != timeline {
			t.told = timeline
			t.log.Error("a server that was replaced as primary takes writes again; it is not used: stop it, and make it a standby", "timeline", timeline, "newest", t.newest)
		}
		return fmt.Errorf("%w: it is on timeline %d, and timeline %d was seen", errBehind, timeline, t.newest)
	}
	return nil
}
