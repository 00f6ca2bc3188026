package postgres

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/parley-a2a/parley/store"
)

// classified adds why a call failed, where that can be told.
func classified(err error) error { return store.Because(err, classOf(err)) }

// classOf returns which of the errors for operators an error is, or nil.
func classOf(err error) error {
	switch {
	case is(err, "53100"): // disk full
		return store.ErrFull
	case is(err, "25006", "42501"): // read-only transaction, insufficient privilege
		return store.ErrReadOnly
	case is(err, "53300"): // too many connections
		return store.ErrBusy
	case is(err, "57P01", "57P02", "57P03", "3D000", // it ends, or is not up; there is no such database
		"08"): // a pooler says so of the server
		return store.ErrUnreachable
	case is(err, ""):
		return nil
	case isConnection(err), errors.Is(err, errSlow), errors.Is(err, errUnconfirmed):
		return store.ErrUnreachable
	}
	return nil
}

// is reports whether an error is the server's and has one of these codes, or begins with
// one: the first two characters are a code's class, and every code begins with "".
func is(err error, codes ...string) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return ok && slices.ContainsFunc(codes, func(c string) bool { return strings.HasPrefix(pg.Code, c) })
}

// isNetwork reports whether an error is of a connection that is gone.
func isNetwork(err error) bool {
	var op net.Error
	return errors.As(err, &op) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, context.DeadlineExceeded)
}
