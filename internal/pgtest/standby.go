package pgtest

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// Standby copies the running server and starts the copy as a standby that follows it. The
// copy has the server's settings; Durable and Settings in o are ignored.
func (c *Cluster) Standby(o *Options) (*Cluster, error) {
	dir, err := os.MkdirTemp("", "pg")
	if err != nil {
		return nil, err
	}
	s := &Cluster{bin: c.bin, dir: dir, user: c.user, port: 5432, copy: c.copy, o: *o}
	if err = s.place(); err == nil {
		err = s.copies(c)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// copies replaces the data by a new copy of primary, and starts as its standby.
func (c *Cluster) copies(primary *Cluster) error {
	if err := os.RemoveAll(c.data()); err != nil {
		return err
	}
	if err := c.run("pg_basebackup", "-D", c.data(), "-h", primary.dir, "-p", strconv.Itoa(primary.port), "-U", "parley", "-c", "fast", "-X", "stream"); err != nil {
		return err
	}
	return c.begins(primary)
}

// begins starts as a standby of primary, whose data it has.
func (c *Cluster) begins(primary *Cluster) error {
	if err := c.write("standby.signal", ""); err != nil {
		return err
	}
	if err := c.obeys(primary); err != nil {
		return err
	}
	return c.Start()
}

// obeys configures which server it follows; nil: none.
func (c *Cluster) obeys(primary *Cluster) error {
	text := "primary_conninfo = ''\nprimary_slot_name = ''\n"
	if primary != nil {
		host, port, err := net.SplitHostPort(primary.Address())
		if err != nil {
			return err
		}
		if err := primary.Exec("SELECT pg_create_physical_replication_slot('" + c.o.Name + "') WHERE NOT EXISTS " +
			"(SELECT 1 FROM pg_replication_slots WHERE slot_name = '" + c.o.Name + "')"); err != nil {
			return err
		}
		text = fmt.Sprintf("primary_conninfo = 'host=%s port=%s user=parley connect_timeout=2'\nprimary_slot_name = '%s'\n", host, port, c.o.Name)
	}
	return c.write("postgresql.auto.conf", text)
}

// write creates a file of the server.
func (c *Cluster) write(name, text string) error {
	path := filepath.Join(c.data(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return err
	}
	return c.user.give(path)
}

// standby reports whether the server is configured as a standby.
func (c *Cluster) standby() bool {
	_, err := os.Stat(filepath.Join(c.data(), "standby.signal"))
	return err == nil
}

// Follow makes a running standby follow another server from now on, or none if primary is
// nil: then nothing more arrives from the former primary after Follow returns.
func (c *Cluster) Follow(primary *Cluster) error {
	if err := c.obeys(primary); err != nil {
		return err
	}
	if err := c.Exec("SELECT pg_reload_conf()"); err != nil {
		return err
	}
	if primary != nil {
		return nil
	}
	// A standby whose replay is paused does not read its settings.
	return c.Await("SELECT CASE WHEN pg_is_wal_replay_paused() THEN pg_wal_replay_resume()::text ELSE '' END || (SELECT count(*) FROM pg_stat_wal_receiver)", "0")
}

// Await waits until a statement returns a value.
func (c *Cluster) Await(sql, want string) error {
	for limit := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		got, err := c.Ask(sql)
		if err != nil || got == want {
			return err
		}
		if time.Now().After(limit) {
			return fmt.Errorf("%s is %s, not %s, after %v\n%s", sql, got, want, patience, c.Log())
		}
	}
}

// Received returns how much of its primary's log a standby has received, in bytes.
func (c *Cluster) Received() (int64, error) {
	text, err := c.Ask("SELECT greatest(pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn()) - '0/0'::pg_lsn")
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(text, 10, 64)
}

// Written returns how much of its log a primary has written, in bytes.
func (c *Cluster) Written() (int64, error) {
	text, err := c.Ask("SELECT pg_current_wal_lsn() - '0/0'::pg_lsn")
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(text, 10, 64)
}

// Promote makes a standby a primary.
func (c *Cluster) Promote() error {
	if err := c.Exec("SELECT pg_promote(false)"); err != nil {
		return err
	}
	return c.Await("SELECT pg_is_in_recovery()", "f")
}

// Rejoin makes a stopped former primary a standby of another server. Writes that the other
// server lacks are undone; if that fails, the data is copied again.
func (c *Cluster) Rejoin(primary *Cluster) (rewound bool, err error) {
	// Until its first checkpoint, the files of a new primary describe its former state.
	if err := primary.Exec("CHECKPOINT"); err != nil {
		return false, err
	}
	source := fmt.Sprintf("host=%s port=%d user=parley dbname=postgres", primary.dir, primary.port)
	if err := c.run("pg_rewind", "-D", c.data(), "--source-server="+source); err != nil {
		return false, c.copies(primary)
	}
	if err := c.begins(primary); err != nil {
		return true, err
	}
	// As a primary it kept its log for its standbys, which it would otherwise do for ever.
	return true, c.Exec("SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE NOT active")
}

// Name returns the server's name, from its options.
func (c *Cluster) Name() string { return c.o.Name }
