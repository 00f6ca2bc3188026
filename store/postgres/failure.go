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

// classified adds the reason of the failure, if it is known.
func classified(err error) error { return store.Because(err, classOf(err)) }

// classOf returns the error for operators that err amounts to, or nil.
func classOf(err error) error {
	switch {
	case is(err, "53100"): // disk full
		return store.ErrFull
	case is(err, "25006", "42501"): // read-only transaction, insufficient privilege
		return store.ErrReadOnly
	case is(err, "53300"): // too many connections
		return store.ErrBusy
	case is(err, "57P01", "57P02", "57P03", "3D000", // shutting down or not up; no such database
		"08"): // connection exception: a pooler cannot reach the server
		return store.ErrUnreachable
	case is(err, ""):
		return nil
	case isConnection(err), errors.Is(err, errSlow), errors.Is(err, errUnconfirmed):
		return store.ErrUnreachable
	}
	return nil
}

// is reports whether err comes from the server and its code is one of codes or begins with
// one of them. The first two characters of a code are its class; "" matches every code.
func is(err error, codes ...string) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return ok && slices.ContainsFunc(codes, func(c string) bool { return strings.HasPrefix(pg.Code, c) })
}

// isNetwork reports whether an error means that a connection was lost.
func isNetwork(err error) bool {
	var op net.Error
	return errors.As(err, &op) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, context.DeadlineExceeded)
}
