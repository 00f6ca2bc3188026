// Package upload limits how long a peer may leave a request's body unread. An upload
// as a whole has no limit, so a large one over a slow link succeeds.
//
//	res, err := upload.RoundTrip(transport, req)
//
// If RoundTrip ends a request, its error has a method Timeout that returns true. All
// functions may be called concurrently.
package upload

import (
	"context"
	"io"
	"net/http"
	"time"
)

const (
	// Time limits how long a peer may take to read the next piece of a request's body.
	Time = 30 * time.Second
	// pieceSize is the size of a piece, in bytes. With Time it allows uploads down to
	// about 1 KiB/s.
	pieceSize = 32 << 10
)

// HTTP2 makes a transport close an HTTP/2 connection whose peer reads nothing for Time.
// Ending only the request would leave the connection open and its writer blocked.
func HTTP2() *http.HTTP2Config { return &http.HTTP2Config{WriteByteTimeout: Time} }

// errUnread is the error of a request whose body the peer did not read in time.
type errUnread struct{}

func (errUnread) Error() string { return "the peer has not read the request for " + Time.String() }
func (errUnread) Timeout() bool { return true }

// RoundTrip calls rt.RoundTrip and allows Time for each piece of the request's body. If
// the peer takes longer, the request ends, even if its answer has begun. RoundTrip does
// not limit connecting or waiting for the answer.
func RoundTrip(rt http.RoundTripper, req *http.Request) (*http.Response, error) {
	if req.Body == nil || req.Body == http.NoBody {
		return rt.RoundTrip(req)
	}
	ctx, cancel := context.WithCancelCause(req.Context())
	late := time.AfterFunc(Time, func() { cancel(errUnread{}) })
	late.Stop() // outgoing.Read starts it
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
	// Once an HTTP/2 answer has begun, the end of ctx does not wake a write that waits
	// for the peer. Closing the answer does.
	stop := context.AfterFunc(ctx, func() {
		if context.Cause(ctx) == (errUnread{}) {
			_ = body.Close()
		}
	})
	res.Body = &answer{body, ctx, func() { stop(); late.Stop(); cancel(nil) }}
	return res, nil
}

// unread returns errUnread instead of err if errUnread ended ctx and so caused err.
func unread(ctx context.Context, err error) error {
	if err != nil && err != io.EOF && context.Cause(ctx) == (errUnread{}) {
		return errUnread{}
	}
	return err
}

// outgoing is a request's body with a time limit for each piece. A Read shows that the
// transport has written the previous piece, so it stops that piece's timer.
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

// answer is a response's body. Closing it ends the request.
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
