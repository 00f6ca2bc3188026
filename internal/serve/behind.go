package serve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/parley-a2a/parley/internal/config"
	"github.com/parley-a2a/parley/internal/egress"
)

// behind knows which services behind agents do not answer. It sends requests only while
// someone looks.
type behind struct {
	asks map[int]func(context.Context) error // by the agent's index in the view

	turn chan struct{} // capacity 1: held while asking; protects the fields below
	at   time.Time
	away map[int]error
}

const (
	behindTime  = 500 * time.Millisecond // for all services together
	behindFresh = 5 * time.Second        // how long the next looks share one result
)

func newBehind(agents []*instance) *behind {
	b := &behind{asks: map[int]func(context.Context) error{}, turn: make(chan struct{}, 1)}
	for i, n := range agents {
		url, rules := "", (*config.Egress)(nil)
		switch c := n.from; {
		case c.HTTP != nil:
			url, rules = c.HTTP.URL, c.HTTP.Egress
		case c.OpenAI != nil:
			url, rules = c.OpenAI.URL, c.OpenAI.Egress
		default:
			continue
		}
		b.asks[i] = func(ctx context.Context) error {
			status, _, err := head(ctx, rules, url)
			return notThere(status, err)
		}
	}
	return b
}

// notThere returns why a service is away, from the answer to a HEAD; nil if it is not.
// A service that accepts a connection and is slow is not away.
func notThere(status int, err error) error {
	dial, ok := errors.AsType[*net.OpError](err)
	_, refused := errors.AsType[*egress.Refused](err)
	switch {
	case ok && dial.Op == "dial", refused:
		return errors.New("the service behind it is not reachable: " + reachReason(err))
	case status == http.StatusBadGateway || status == http.StatusServiceUnavailable || status == http.StatusGatewayTimeout:
		return fmt.Errorf("the service behind it is not there: its address answers %d", status)
	}
	return nil
}

// look returns why agents are away, by their index.
func (b *behind) look(ctx context.Context) map[int]error {
	if len(b.asks) == 0 {
		return nil
	}
	select {
	case b.turn <- struct{}{}:
	case <-ctx.Done():
		return nil
	}
	defer func() { <-b.turn }()
	if time.Since(b.at) < behindFresh {
		return b.away
	}
	// The answer is also for the next looks.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), behindTime)
	defer cancel()
	var mu sync.Mutex
	var work sync.WaitGroup
	away := map[int]error{}
	for i, ask := range b.asks {
		work.Go(func() {
			if err := ask(ctx); err != nil {
				mu.Lock()
				defer mu.Unlock()
				away[i] = err
			}
		})
	}
	work.Wait()
	b.at, b.away = time.Now(), away
	return away
}
