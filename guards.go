package parley

import (
	"context"
	"errors"
	"sync"

	"github.com/parley-a2a/parley/auth"
)

// guards lets the Guard that counts at a time do what it has to do beside
// requests.
type guards struct {
	mu    sync.Mutex      // protects the fields below
	ctx   context.Context // of Run; nil before
	next  *auth.Guard     // which counts; may be nil
	stop  context.CancelFunc
	errs  []error
	ended bool
	all   sync.WaitGroup
}

// begin lets the Guard work until ctx ends.
func (g *guards) begin(ctx context.Context) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ctx = ctx
	g.startLocked()
}

// replace lets another one take its place.
func (g *guards) replace(by *auth.Guard) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if by == g.next {
		return
	}
	g.next = by
	if g.ctx != nil && !g.ended {
		g.stop()
		g.startLocked()
	}
}

func (g *guards) startLocked() {
	var ctx context.Context
	ctx, g.stop = context.WithCancel(g.ctx)
	if is := g.next; is != nil {
		g.all.Go(func() {
			if err := is.Run(ctx); err != nil {
				g.mu.Lock()
				g.errs = append(g.errs, err)
				g.mu.Unlock()
			}
		})
	}
}

// end waits for all there were, once begin's ctx has ended.
func (g *guards) end() error {
	g.mu.Lock()
	g.ended = true
	g.stop()
	g.mu.Unlock()
	g.all.Wait()
	return errors.Join(g.errs...)
}
