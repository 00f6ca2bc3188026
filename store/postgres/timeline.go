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

// hostWait limits the time for connecting to one host if the address has several. pgx waits
// two minutes for each: a host that is down, or whose server hangs, would keep the others
// from being tried.
const hostWait = 3 * time.Second

// timelines is the fence against a former primary that comes back. Each promotion of a
// standby raises the server's timeline by one. The process remembers the highest timeline
// that it has seen, and does not use a server with a lower one. The epochs of tasks cannot
// prevent that, because they are in the database, and a former primary has its own copy.
type timelines struct {
	log *slog.Logger

	mu     sync.Mutex // protects the fields below
	system string     // identifier of the cluster, the same in all its copies
	newest uint32
	told   uint32 // timeline of the last refusal in the log
	raised func() // called when there is a newer timeline, if not nil
}

// raise sets the function that is called for each newer timeline.
func (t *timelines) raise(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.raised = f
}

// errBehind means that a server must not be used.
var errBehind = errors.New("this server was replaced as primary")

// askTimeline returns the system identifier of a primary, and the name of its current WAL
// file, which begins with the timeline.
const askTimeline = "SELECT (SELECT system_identifier::text FROM pg_catalog.pg_control_system()), pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_lsn())"

// fence makes each new connection of a configuration pass the fence while it is made. If the
// address has several hosts, the next one is tried.
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

// pass checks the timeline of a server. A server without one, such as a standby or an engine
// that only speaks PostgreSQL's protocol, passes.
func (t *timelines) pass(ctx context.Context, conn *pgconn.PgConn) error {
	rows, err := conn.Exec(ctx, askTimeline).ReadAll()
	switch {
	case is(err, "42", "55000", "0A000"):
		return nil // no such function, not allowed, or in recovery
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
		return nil // not a name of PostgreSQL's
	}
	return t.sees(system, uint32(timeline))
}

// sees returns an error if a server's timeline is behind.
func (t *timelines) sees(system string, timeline uint32) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.system != system: // the first one, or a new cluster made by pg_upgrade
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
