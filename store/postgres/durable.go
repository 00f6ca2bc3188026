package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/parley-a2a/parley/store"
)

// ErrLossy is why Open refuses a server that may lose what it has acknowledged, see
// Options.AllowAsyncCommit.
var ErrLossy = errors.New("acknowledged events can be lost")

// durability is what a server says of how it keeps commits. What it does not know, as
// engines do that only speak PostgreSQL's protocol, is empty.
type durability struct {
	version  string
	standby  bool // it only reads
	commit   string
	fsync    string
	pages    string // full_page_writes
	names    string // synchronous_standby_names
	allowed  string // allowSetting
	standbys int    // that stream from it
	hidden   int    // of these, how many the role may see no more of than that they are there
}

// allowSetting is Options.AllowAsyncCommit for all who use a database or a role, set
// with ALTER DATABASE or in the options of an address.
const allowSetting = "parley.allow_async_commit"

// askDurability counts physical standbys only: those who read changes from a logical
// slot, copy the database or keep its WAL are not what a failover goes to. A role
// without pg_read_all_stats sees how many receivers there are, and their names.
const askDurability = "SELECT version(), pg_is_in_recovery(), coalesce(current_setting('synchronous_commit', true), ''), coalesce(current_setting('fsync', true), ''), " +
	"coalesce(current_setting('full_page_writes', true), ''), coalesce(current_setting('synchronous_standby_names', true), ''), " +
	"coalesce(current_setting('" + allowSetting + "', true), ''), count(r.pid), count(r.pid) FILTER (WHERE r.state IS NULL) " +
	"FROM (SELECT 1) AS one LEFT JOIN pg_catalog.pg_stat_replication AS r ON r.application_name NOT IN ('pg_basebackup', 'pg_receivewal') " +
	"AND (r.state IS NULL OR r.replay_lsn IS NOT NULL) " +
	"AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_replication_slots AS s WHERE s.active_pid = r.pid AND s.slot_type = 'logical')"

// foreign reports whether other parts than PostgreSQL's keep commits, whatever the
// settings say: those of CockroachDB, YugabyteDB or Neon.
func (s *durability) foreign() bool {
	return strings.Contains(s.version, "CockroachDB") || strings.Contains(s.version, "-YB-") || strings.Contains(s.names, "walproposer")
}

// lossy says how what was acknowledged may be lost, and what to do; nil: it is not.
func (s *durability) lossy() error {
	switch {
	case s.foreign():
		return nil
	case s.commit == "off":
		return fmt.Errorf("%w: synchronous_commit is off, so a crash of the server takes the last commits away; set it to on (ALTER DATABASE … SET synchronous_commit = on)", ErrLossy)
	case s.fsync == "off":
		return fmt.Errorf("%w: fsync is off, so a crash of the machine takes commits away or damages the database; set fsync = on in postgresql.conf", ErrLossy)
	case s.commit == "local" && (s.names != "" || s.standbys > 0):
		return fmt.Errorf("%w: synchronous_commit is local, so a standby that takes over may lack the last commits; set it to on (ALTER DATABASE … SET synchronous_commit = on)", ErrLossy)
	case s.names == "" && s.standbys > 0:
		n := "a standby streams"
		if s.standbys > 1 {
			n = fmt.Sprintf("%d standbys stream", s.standbys)
		}
		more := ""
		if s.hidden > 0 {
			more = "; if these are not standbys, GRANT pg_read_all_stats lets Parley see what they are"
		}
		return fmt.Errorf("%w: %s while synchronous_standby_names is empty, so one that takes over may lack the last commits; set synchronous_standby_names, such as 'ANY 1 (*)', or let your cluster manager do so%s", ErrLossy, n, more)
	}
	return nil
}

// words says how it keeps commits, to people.
func (s *durability) words() string {
	switch err := s.lossy(); {
	case err != nil && s.allows():
		return err.Error() + "; " + allowSetting + " allows it"
	case err != nil:
		return err.Error()
	case s.foreign(), s.commit == "":
		return "not judged: the server keeps commits in ways of its own, or does not say how; see for yourself that they survive a failover"
	case s.pages == "off":
		return "acknowledged commits are kept, but full_page_writes is off: a crash of the machine can damage the database"
	}
	return "acknowledged commits are kept"
}

// allows reports whether the server says that this is known.
func (s *durability) allows() bool { return strings.EqualFold(s.allowed, "on") }

// meet asks the server of a new connection how it keeps commits. The first time Open
// judges that. Later the server is another one, or has other settings: then tasks
// under way are worth more than a refusal, and the log says so.
func (d *db) meet(ctx context.Context, c *pgx.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, d.o.wait) // ctx does not end with those who wait for the connection
	defer cancel()
	var is durability
	err := c.QueryRow(ctx, askDurability, pgx.QueryExecModeSimpleProtocol).
		Scan(&is.version, &is.standby, &is.commit, &is.fsync, &is.pages, &is.names, &is.allowed, &is.standbys, &is.hidden)
	var pg *pgconn.PgError
	if errors.As(err, &pg) && (strings.HasPrefix(pg.Code, "42") || strings.HasPrefix(pg.Code, "0A")) { // it has no such thing, or does not let this role see it
		is = durability{}
		err = c.QueryRow(ctx, "SELECT version()", pgx.QueryExecModeSimpleProtocol).Scan(&is.version)
		if d.server.Load() == nil {
			d.o.Logger.Info("the server does not say how it keeps commits: see for yourself that what it acknowledges survives a failover", "error", pg.Message)
		}
	}
	if err != nil {
		return err
	}
	was := d.server.Swap(&is)
	if was != nil {
		if now := is.lossy(); now != nil && was.lossy() == nil && !is.allows() && !d.o.AllowAsyncCommit {
			d.o.Logger.Error("the database has changed, and the next start will be refused unless that is allowed", "error", now)
		}
	}
	if d.replicated() && !d.o.Existing { // a command that only looks is wanted most when no standby is there
		return d.confirm(ctx, c)
	}
	return nil
}

var errStandby = store.Because(errors.New("this server is a standby, which only reads: name the primary, or list all hosts with target_session_attrs=read-write"), store.ErrReadOnly)

// admit refuses a server that may lose what it has acknowledged, unless that is
// allowed, and one that only reads.
func (d *db) admit() error {
	is := d.server.Load()
	if is == nil {
		return nil
	}
	if is.standby {
		return errStandby
	}
	if is.pages == "off" {
		d.o.Logger.Warn("full_page_writes is off: a crash of the machine can damage the database, unless its file system never writes half a page")
	}
	lossy := is.lossy()
	if lossy == nil {
		return nil
	}
	if !d.o.AllowAsyncCommit && !is.allows() {
		return lossy
	}
	d.o.Logger.Warn("this may lose what was acknowledged, as was allowed", "error", lossy)
	return nil
}
