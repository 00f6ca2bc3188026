// Package upload bounds how long a peer may leave the body of a request unread,
// without a limit on the whole of an upload: a large one over a slow link passes.
//
//	res, err := upload.RoundTrip(transport, req)
//
// The error of a request that is given up has a method Timeout, which returns true.
// All functions may be called concurrently.
package upload

import (
	"context"
	"io"
	"net/http"
	"time"
)

const (
	// Time is how long a peer may take for the next piece of a request's body.
	Time = 30 * time.Second
	// pieceSize is the size of a piece, in bytes. The slowest upload that is not cut
	// off goes at about 1 KiB/s.
	pieceSize = 32 << 10
)

// HTTP2 has a transport close a connection of HTTP/2 that takes nothing for Time. The end
// of a request alone leaves such a connection, and the goroutine that writes to it.
func HTTP2() *http.HTTP2Config { return &http.HTTP2Config{WriteByteTimeout: Time} }

// errUnread ends a request whose body the peer does not read.
type errUnread struct{}

func (errUnread) Error() string { return "the peer has not read the request for " + Time.String() }
func (errUnread) Timeout() bool { return true }

// RoundTrip is rt.RoundTrip with a limit of Time for each piece of the request's body.
// If the peer takes longer, the request ends, even if its answer has begun. Connecting
// and waiting for the answer have no limit here.
func RoundTrip(rt http.RoundTripper, req *http.Request) (*http.Response, error) {
	if req.Body == nil || req.Body == http.NoBody {
		return rt.RoundTrip(req)
	}
	ctx, cancel := context.WithCancelCause(req.Context())
	late := time.AfterFunc(Time, func() { cancel(errUnread{}) })
	late.Stop() // until a piece is on its way
	sent := req.WithContext(ctx)
	sent.Body = &outgoing{req.Body, late}
	if again := req.GetBody; again != nil {
		sent.GetBody = func() (io.ReadCloser, error) {
			b, err := again()
			if err != nil {
				return nil, err
			}
			return &outgoing{b, late}, nil
		}
	}
	res, err := rt.RoundTrip(sent)
	if err != nil {
		late.Stop()
		err = unread(ctx, err)
		cancel(nil)
		return nil, err
	}
	body := res.Body
	// Over HTTP/2 the end of ctx does not wake a write that waits for the peer once
	// the answer has begun. Closing the answer does.
	stop := context.AfterFunc(ctx, func() {
		if context.Cause(ctx) == (errUnread{}) {
			_ = body.Close()
		}
	})
	res.Body = &answer{body, ctx, func() { stop(); late.Stop(); cancel(nil) }}
	return res, nil
}

// unread returns errUnread in place of the error that it led to.
func unread(ctx context.Context, err error) error {
	if err != nil && err != io.EOF && context.Cause(ctx) == (errUnread{}) {
		return errUnread{}
	}
	return err
}

// outgoing is the body of a request. When the transport asks for a piece, it has
// written the one before.
type outgoing struct {
	io.ReadCloser
	late *time.Timer
}

func (u *outgoing) Read(p []byte) (int, error) {
	u.late.Stop()
	n, err := u.ReadCloser.Read(p[:min(len(p), pieceSize)])
	if n > 0 {
		u.late.Reset(Time)
	}
	return n, err
}

func (u *outgoing) Close() error {
	u.late.Stop()
	return u.ReadCloser.Close()
}

// answer is the body of an answer. Closing it ends the request.
type answer struct {
	io.ReadCloser
	ctx  context.Context
	done func()
}

func (u *answer) Read(p []byte) (int, error) {
	n, err := u.ReadCloser.Read(p)
	return n, unread(u.ctx, err)
}

func (u *answer) Close() error {
	err := u.ReadCloser.Close()
	u.done()
	return err
}
