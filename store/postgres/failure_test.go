package postgres

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/parley-a2a/parley/store"
)

// TestPassing: an attempt that had no effect is repeated, and a COMMIT only if it certainly
// had none.
func TestPassing(t *testing.T) {
	server := func(code string) error { return fmt.Errorf("in between: %w", &pgconn.PgError{Code: code}) }
	for _, c := range []struct {
		err            error
		before, commit bool // whether it passes, before COMMIT was sent and as its answer
	}{
		{server("40001"), true, true},
		{server("40P01"), true, true},
		{server("25P03"), true, true},
		{server("57P01"), true, false},
		{server("57P03"), true, false},
		{server("08P01"), true, false}, // a pooler that lost its server
		{server("23514"), false, false},
		{server("53100"), false, false},
		{io.ErrUnexpectedEOF, true, false},
		{errors.New("anything else"), false, false},
	} {
		if passing(c.err) != c.before {
			t.Errorf("%v passes: %v", c.err, !c.before)
		}
		if err := (&uncertain{c.err}); passing(err) != c.commit {
			t.Errorf("%v passes: %v", err, !c.commit)
		}
	}
}

// A pooler's report that it cannot reach its server is no fault of the request.
func TestPoolerWithoutAServer(t *testing.T) {
	if err := classified(&pgconn.PgError{Code: "08P01"}); !errors.Is(err, store.ErrUnreachable) {
		t.Errorf("%v is not %v", err, store.ErrUnreachable)
	}
}
