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

// ErrLossy means that the server may lose acknowledged events, so Open refuses it, see
// Options.AllowAsyncCommit.
var ErrLossy = errors.New("acknowledged events can be lost")

// durability is what a server says about how it keeps commits. A field is empty if the server
// does not know the setting, as engines that only speak PostgreSQL's protocol may not.
type durability struct {
	version  string
	standby  bool // read-only
	commit   string
	fsync    string
	pages    string // full_page_writes
	names    string // synchronous_standby_names
	allowed  string // allowSetting
	standbys int    // number of standbys that stream from it
	hidden   int    // number of these of which the role may see only that they exist
}

// allowSetting has the effect of Options.AllowAsyncCommit for all users of a database or a
// role. It is set with ALTER DATABASE or in the options of an address.
const allowSetting = "parley.allow_async_commit"

// askDurability counts physical standbys only, because a failover does not go to receivers
// that read changes from a logical slot, copy the database or keep its WAL. A role without
// pg_read_all_stats sees how many receivers there are, and their names.
const askDurability = "SELECT version(), pg_is_in_recovery(), coalesce(current_setting('synchronous_commit', true), ''), coalesce(current_setting('fsync', true), ''), " +
	"coalesce(current_setting('full_page_writes', true), ''), coalesce(current_setting('synchronous_standby_names', true), ''), " +
	"coalesce(current_setting('" + allowSetting + "', true), ''), count(r.pid), count(r.pid) FILTER (WHERE r.state IS NULL) " +
	"FROM (SELECT 1) AS one LEFT JOIN pg_catalog.pg_stat_replication AS r ON r.application_name NOT IN ('pg_basebackup', 'pg_receivewal') " +
	"AND (r.state IS NULL OR r.replay_lsn IS NOT NULL) " +
	"AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_replication_slots AS s WHERE s.active_pid = r.pid AND s.slot_type = 'logical')"

// foreign reports whether something other than PostgreSQL's own code keeps commits, whatever
// the settings say: CockroachDB, YugabyteDB or Neon.
func (s *durability) foreign() bool {
	return strings.Contains(s.version, "CockroachDB") || strings.Contains(s.version, "-YB-") || strings.Contains(s.names, "walproposer")
}

// lossy returns how acknowledged commits may be lost, and what to do about it, or nil if they
// are safe.
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

// words describes for people how the server keeps commits.
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

// allows reports whether the server's settings allow losses.
func (s *durability) allows() bool { return strings.EqualFold(s.allowed, "on") }

// meet asks the server of a new connection how it keeps commits. Open judges the first
// answer. Later, the server may be another one or have other settings. Then meet only writes
// to the log, because running tasks are worth more than a refusal.
func (d *db) meet(ctx context.Context, c *pgx.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, d.o.wait) // ctx does not end with the callers that wait for the connection
	defer cancel()
	var is durability
	err := c.QueryRow(ctx, askDurability, pgx.QueryExecModeSimpleProtocol).
		Scan(&is.version, &is.standby, &is.commit, &is.fsync, &is.pages, &is.names, &is.allowed, &is.standbys, &is.hidden)
	var pg *pgconn.PgError
	if errors.As(err, &pg) && (strings.HasPrefix(pg.Code, "42") || strings.HasPrefix(pg.Code, "0A")) { // unknown function, or not allowed for this role
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
	if d.replicated() && !d.o.Existing { // commands that only look are needed most when no standby is there
		return d.confirm(ctx, c)
	}
	return nil
}

var errStandby = store.Because(errors.New("this server is a standby, which only reads: name the primary, or list all hosts with target_session_attrs=read-write"), store.ErrReadOnly)

// admit refuses a server that may lose acknowledged commits, unless that is allowed, and a
// server that is read-only.
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
