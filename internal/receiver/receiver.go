// Package receiver receives webhooks on this machine, to try an agent's deliveries by hand: it
// verifies each, prints it as a line, and gives the configured answer.
package receiver

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/parley-a2a/parley/a2aclient"
	"github.com/parley-a2a/parley/a2aserver"
)

// Options say what a Receiver answers and prints.
type Options struct {
	Out       io.Writer // gets a line for each delivery
	JSON      bool      // print JSON objects
	AnySource bool      // a key alone does not tell whose a delivery is
	Status    int       // the answer to valid deliveries; 0 is 200
	Fail      int       // how many get Status, before others get 200; 0: all
	Count     int       // stop after so many deliveries, without duplicates; 0: never
}

// Receiver receives webhooks.
type Receiver struct {
	o        Options
	verifier *a2aclient.WebhookVerifier
	done     chan error // capacity 1: the end

	mu     sync.Mutex // protects the fields below, and o.Out
	failed int        // how many were answered with o.Status
	taken  int
	names  map[string]string // of artifacts by id
	ended  bool
}

// New returns a receiver that accepts deliveries verified by v.
func New(v *a2aclient.WebhookVerifier, o Options) *Receiver {
	o.Status = cmp.Or(o.Status, http.StatusOK)
	return &Receiver{o: o, verifier: v, done: make(chan error, 1)}
}

// maxDelivery is the maximum size of a delivery, in bytes.
const maxDelivery = 16 << 20

func (r *Receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if req.Method != http.MethodPost {
		r.verifier.Handler(nil).ServeHTTP(w, req) // it answers the challenge of 0.1
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, maxDelivery))
	if err != nil {
		status := http.StatusBadRequest
		if _, large := errors.AsType[*http.MaxBytesError](err); large {
			status = http.StatusRequestEntityTooLarge
		}
		w.WriteHeader(status)
		return
	}
	d, err := r.verifier.Verify(req.Context(), req.Header, body)
	if req.Context().Err() != nil { // the sender has left, or the receiver ends
		if err == nil && !d.Duplicate {
			r.verifier.Forget(d) // otherwise its next attempt, which is the first to be printed, would be a duplicate
		}
		return
	}
	// Print before answering, so that the deliveries of one configuration are printed in order.
	r.mu.Lock()
	defer r.mu.Unlock()
	at := arrival{at: time.Now(), delivery: d, status: http.StatusOK}
	refused, ok := errors.AsType[*a2aclient.WebhookError](err)
	switch {
	case ok:
		at.status, at.reason = refused.Status, refused.Reason
	case err != nil:
		at.status, at.reason = http.StatusInternalServerError, err.Error()
	case r.fails():
		at.status = r.o.Status
		r.verifier.Forget(d)
	case !d.Duplicate:
		r.taken++
	}
	if r.ended {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	err = r.print(&at)
	w.WriteHeader(at.status)
	if err != nil || r.o.Count > 0 && r.taken >= r.o.Count {
		r.ended = true
		r.done <- err
	}
}

// fails reports whether to answer a valid delivery with o.Status. r.mu is held.
func (r *Receiver) fails() bool {
	if r.o.Status == http.StatusOK || r.o.Fail > 0 && r.failed >= r.o.Fail {
		return false
	}
	r.failed++
	return true
}

// Serve receives webhooks until there were enough or ctx ends. That is only an error if ctx's
// time is over: then it is ctx's cause.
func (r *Receiver) Serve(ctx context.Context, l net.Listener) (err error) {
	srv := a2aserver.HTTPServer(r)
	srv.ReadTimeout, srv.ErrorLog = time.Minute, log.New(io.Discard, "", 0)
	served := make(chan error, 1)
	go func() { served <- srv.Serve(a2aserver.LimitWrites(l, 0)) }()
	select {
	case err = <-r.done:
	case err = <-served:
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			err = context.Cause(ctx)
		}
	}
	// Requests under way get their answers.
	bye, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	_ = srv.Shutdown(bye)
	return err
}
