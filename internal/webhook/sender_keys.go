package webhook

import (
	"context"
	"time"
)

// SetKeys says what is signed with from now on. Before the first call nothing
// is, but with the tokens of configurations.
func (s *Sender) SetKeys(k *Keys) { s.keys.Store(k) }

// LoadKeys makes load find the keys when they are needed first. Call it before
// anything is sent. If it fails nothing is sent, and it is called again.
func (s *Sender) LoadKeys(load func(context.Context) (*Keys, error)) { s.load = load }

// loadTimeout is how long reading or making the keys may take.
const loadTimeout = time.Minute

// current returns the keys, or nil if there are none.
func (s *Sender) current(ctx context.Context) (*Keys, error) {
	if k := s.keys.Load(); k != nil || s.load == nil {
		return k, nil
	}
	// Making a key takes seconds on a slow machine and cannot be stopped. A caller that
	// stops waiting must not lose the keys for the others, so nobody's context ends the
	// load. It ends by itself.
	loaded := s.loads.DoChan("", func() (any, error) {
		if k := s.keys.Load(); k != nil {
			return k, nil
		}
		own, cancel := context.WithTimeout(context.WithoutCancel(ctx), loadTimeout)
		defer cancel()
		k, err := s.load(own)
		if err == nil {
			s.keys.Store(k)
		}
		return k, err
	})
	select {
	case r := <-loaded:
		return r.Val.(*Keys), r.Err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// JWKS returns the public keys as a JSON Web Key Set, for
// /.well-known/jwks.json; nil if there are none. s may be nil.
func (s *Sender) JWKS(ctx context.Context) ([]byte, error) {
	if s == nil {
		return nil, nil
	}
	k, err := s.current(ctx)
	if k == nil || err != nil {
		return nil, err
	}
	return k.JWKS(), nil
}
