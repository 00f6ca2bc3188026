package abuse

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Target is what is attacked.
type Target struct {
	Addr string
	Key  string   // of a caller who is let in, and is no better for it
	Keys []string // of several: each kind of attack has its own, so that the limits of one do not protect from another
	TLS  *tls.Config
}

// Attack is one way to misbehave.
type Attack struct {
	Name  string
	Conns int           // that do at a time, of 200
	Every time.Duration // the pause between the attempts of a connection
	Do    func(ctx context.Context, t *Target) error
}

// Attacks are all ways, with 200 connections together.
var Attacks = []Attack{
	{"headers, a byte a second", 10, time.Second, slowHeader},
	{"bodies, a byte a second", 10, time.Second, slowBody},
	{"bodies without end", 10, 500 * time.Millisecond, hugeBody},
	{"JSON of 100,000 levels", 10, 500 * time.Millisecond, deepJSON},
	{"messages of 500,000 parts", 5, 5 * time.Second, manyParts},
	{"streams that are not read, JSON-RPC", 10, time.Second, unreadRPC},
	{"streams that are not read, HTTP+JSON", 10, time.Second, unreadREST},
	{"streams that are not read, gRPC", 10, time.Second, unreadGRPC},
	{"streams that are dropped", 15, 100 * time.Millisecond, dropped},
	{"HTTP/2 streams that are reset", 10, 200 * time.Millisecond, rapidReset},
	{"HTTP/2 streams that do not end", 5, time.Second, openStreams},
	{"gRPC with a megabyte of metadata", 10, 500 * time.Millisecond, hugeMetadata},
	{"TLS handshakes that do not end", 10, time.Second, halfHandshake},
	{"wrong credentials", 15, 50 * time.Millisecond, wrongCredentials},
	{"webhooks, made and deleted", 10, 100 * time.Millisecond, webhooks},
	{"cards and probes", 10, 50 * time.Millisecond, cards},
	{"cards that are not read", 5, time.Second, unreadCards},
	{"HTTP/2 pings that nobody reads", 5, time.Second, unreadPings},
	{"health watches", 5, time.Second, watches},
	{"reflection", 5, time.Second, reflections},
	{"gRPC connections without calls", 5, time.Second, idleGRPC},
	{"HTTP/2 connections without requests", 5, time.Second, idleHTTP2},
	{"large tasks that are not read", 5, 5 * time.Second, unreadTask},
	{"webhooks to hosts that hang", 5, time.Second, hangingHooks},
}

// Tally is the outcome of an attack.
type Tally struct {
	Name            string
	Attempts, Fails int64  // of those that came to an end; those that were borne
	Unheard         int64  // those that did not get a connection in time
	Last            string // error
}

// Run attacks with a part of the connections, from 0 to 1, until ctx ends.
func Run(ctx context.Context, t *Target, part float64) []Tally {
	tallies := make([]Tally, len(Attacks))
	var mu sync.Mutex // protects tallies
	var conns sync.WaitGroup
	for i, a := range Attacks {
		tallies[i].Name = a.Name
		own := *t
		if len(t.Keys) > 0 {
			own.Key = t.Keys[i%len(t.Keys)]
		}
		for range max(1, int(float64(a.Conns)*part)) {
			conns.Go(func() {
				pause(ctx, rand.N(a.Every)) // not all at once
				for ctx.Err() == nil {
					err := a.Do(ctx, &own)
					mu.Lock()
					tallies[i].Attempts++
					if errors.Is(err, errUnheard) {
						tallies[i].Unheard++
					} else if err != nil && ctx.Err() == nil {
						tallies[i].Fails++
						tallies[i].Last = fmt.Sprintf("%.150v", err)
					}
					mu.Unlock()
					pause(ctx, a.Every)
				}
			})
		}
	}
	conns.Wait()
	return tallies
}

// errUnheard says that there was no connection to attack by.
var errUnheard = errors.New("no connection")

// from is the address that attackers come from: another one of this machine than
// that of the callers who behave.
var from = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}

// dial connects, over TLS with a protocol if that is not "". The connection is
// closed when ctx ends.
func (t *Target) dial(ctx context.Context, protocol string) (net.Conn, func(), error) {
	c, stop, err := t.plain(ctx)
	if err != nil || t.TLS == nil {
		return c, stop, err
	}
	config := t.TLS.Clone()
	if protocol != "" {
		config.NextProtos = []string{protocol}
	}
	secure := tls.Client(c, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		stop()
		return nil, nil, fmt.Errorf("%w: %w", errUnheard, err)
	}
	return secure, stop, nil
}

func (t *Target) plain(ctx context.Context) (net.Conn, func(), error) {
	d := net.Dialer{Timeout: 10 * time.Second, LocalAddr: from}
	c, err := d.DialContext(ctx, "tcp", t.Addr)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", errUnheard, err)
	}
	undo := context.AfterFunc(ctx, func() { c.Close() })
	return c, func() { undo(); c.Close() }, nil
}

// drip writes text a byte at a time until the other side has had enough. Within
// a minute and a half that is what it should have.
func drip(ctx context.Context, c net.Conn, text string) error {
	var gone atomic.Bool
	go func() { // ends with the connection
		_, _ = io.Copy(io.Discard, c)
		gone.Store(true)
	}()
	for i := range 90 {
		if _, err := io.WriteString(c, text[i%len(text):i%len(text)+1]); err != nil || gone.Load() || ctx.Err() != nil {
			return nil
		}
		pause(ctx, time.Second)
	}
	return fmt.Errorf("the connection was open for a minute and a half")
}
