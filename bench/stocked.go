package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/parley-a2a/parley/store/sqlite"
)

// stockDir is where a stock of n tasks is. Stocks that were made otherwise have had
// other names.
func (b *bench) stockDir(n int) string {
	return filepath.Join(b.plan.stock, fmt.Sprintf("stock2-%d", n))
}

// stocked returns the directory of a Parley database of n tasks, which is made
// if it is not there.
func (b *bench) stocked(ctx context.Context, n int) (string, error) {
	dir := b.stockDir(n)
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	fresh := filepath.Join(b.plan.stock, "unfinished")
	if err := os.RemoveAll(fresh); err != nil {
		return "", err
	}
	if err := os.MkdirAll(fresh, 0o700); err != nil {
		return "", err
	}
	if n > 0 {
		fmt.Fprintf(b.say, "    a database of %s tasks is made\n", thousands(n))
		st, err := sqlite.Open(filepath.Join(fresh, "parley.db"), nil)
		if err != nil {
			return "", err
		}
		made, err := makeStock(ctx, st, n)
		if err := errors.Join(err, st.Close()); err != nil {
			return "", fmt.Errorf("make a database of %d tasks: %w", n, err)
		}
		if err := b.note(nil, n, made); err != nil {
			return "", err
		}
	}
	return dir, os.Rename(fresh, dir)
}

// note keeps what is known of a stock.
func (b *bench) note(of *contender, n int, f *facts) error {
	text, err := json.Marshal(f)
	if err != nil {
		return err
	}
	return os.WriteFile(b.factsFile(of, n), text, 0o600)
}

// factsOf is the inverse.
func (b *bench) factsOf(of *contender, n int) (*facts, error) {
	text, err := os.ReadFile(b.factsFile(of, n))
	if err != nil {
		return nil, err
	}
	f := &facts{}
	return f, json.Unmarshal(text, f)
}

// factsFile is where facts are: beside the stock, or with what goes at the end.
func (b *bench) factsFile(of *contender, n int) string {
	if of != nil && of.nodes > 0 {
		return filepath.Join(b.dir, fmt.Sprintf("postgres-%d.json", n))
	}
	return b.stockDir(n) + ".json"
}

// stockServer returns a server with a stock of n tasks, which cases share.
func (b *bench) stockServer(ctx context.Context, of *contender, n int) (*server, error) {
	key := fmt.Sprint(of.name, " stock ", n)
	if f := b.full[key]; f != nil {
		return f.srv, nil
	}
	if of.nodes > 0 {
		return b.stockNodes(ctx, of, n, key)
	}
	dir, err := b.stocked(ctx, n)
	if err != nil {
		return nil, err
	}
	srv, err := of.startOn(ctx, dir)
	if err != nil {
		return nil, err
	}
	b.full[key] = &full{srv: srv}
	return srv, nil
}
