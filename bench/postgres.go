package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/parley-a2a/parley/internal/pgtest"
	"github.com/parley-a2a/parley/store/postgres"
)

// database makes an empty PostgreSQL database and returns its address. The
// server is started with the first.
func (b *bench) database() (string, error) {
	if b.pg == nil {
		pg, err := pgtest.Make(&pgtest.Options{Durable: true, Settings: map[string]string{
			"shared_buffers": "1GB", "max_wal_size": "4GB",
		}})
		if err != nil {
			return "", err
		}
		b.pg = pg
		pid, err := pg.PID()
		if err != nil {
			return "", err
		}
		if err := everywhere(pid); err != nil {
			return "", err
		}
	}
	return b.pg.Create("")
}

// endPostgres ends the server, if there is one.
func (b *bench) endPostgres() {
	if b.pg == nil {
		return
	}
	if err := b.pg.Close(); err != nil {
		fmt.Fprintln(b.say, "the PostgreSQL server could not be ended:", err)
	}
}

// postgresUsage is what the PostgreSQL server has used until now, with all its
// processes.
func (b *bench) postgresUsage() usage {
	pid, err := b.pg.PID()
	if err != nil {
		return usage{}
	}
	return familyUsage(pid)
}

// startNodes runs the contender's processes on a database.
func (c *contender) startNodes(ctx context.Context, b *bench, url string) (*server, error) {
	var first *server
	for range c.nodes {
		s, err := start(ctx, c, append(c.argv[:len(c.argv):len(c.argv)], "--store", url)...)
		if err != nil {
			if first != nil {
				first.kill()
			}
			return nil, err
		}
		if first == nil {
			first = s
		} else {
			first.others = append(first.others, s)
		}
	}
	first.db = b.postgresUsage
	return first, nil
}

// stockNodes is stockServer for a database in PostgreSQL, which is made in each
// run.
func (b *bench) stockNodes(ctx context.Context, of *contender, n int, key string) (*server, error) {
	url, err := b.database()
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(b.say, "    a PostgreSQL database of %s tasks is made\n", thousands(n))
	st, err := postgres.Open(ctx, url, nil)
	if err != nil {
		return nil, err
	}
	made, err := makeStock(ctx, st, n)
	if err := errors.Join(err, st.Close()); err != nil {
		return nil, fmt.Errorf("make a database of %d tasks: %w", n, err)
	}
	if err := b.note(of, n, made); err != nil {
		return nil, err
	}
	srv, err := of.startNodes(ctx, b, url)
	if err != nil {
		return nil, err
	}
	b.full[key] = &full{srv: srv}
	return srv, nil
}
