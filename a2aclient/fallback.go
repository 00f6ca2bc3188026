package a2aclient

import (
	"context"
	"errors"
	"log/slog"
	"net/url"
	"strings"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/dialect"
)

// face is an interface of the card, ready to be called.
type face struct {
	iface   *a2a.AgentInterface
	version string // of A2A-Version
	binding binding
}

// standsIn reports whether an interface may be used in place of the chosen
// one. It has to lead to the same tasks, and who keeps us from an encrypted
// address must not get us to an open one.
func standsIn(in, chosen *a2a.AgentInterface) bool {
	return in.Tenant == chosen.Tenant && (encrypted(in) || !encrypted(chosen))
}

func encrypted(in *a2a.AgentInterface) bool {
	u, err := url.Parse(in.URL)
	return err == nil && strings.EqualFold(u.Scheme, "https")
}

// tryFaces performs an operation at the interface in use, and at the others as
// long as nobody is there to be asked (specification §5.2). The error is that
// of the first.
func tryFaces[T any](ctx context.Context, c *Client, op dialect.Op, req any, do func(*call) (T, error)) (T, error) {
	used := c.face.Load()
	res, err := try(used, op, req, do)
	if !elsewhere(ctx, err) {
		return res, err
	}
	for _, f := range c.faces {
		if f == used {
			continue
		}
		other, otherErr := try(f, op, req, do)
		if elsewhere(ctx, otherErr) {
			continue
		}
		if !unreachable(otherErr) && ctx.Err() == nil && c.face.CompareAndSwap(used, f) {
			c.log.InfoContext(ctx, "another interface is used", slog.String("unreachable", hostOf(used)),
				slog.String("host", hostOf(f)), slog.String("binding", f.iface.ProtocolBinding))
		}
		return other, otherErr
	}
	return res, err
}

// try performs an operation at one interface, in the ways there are to do it.
func try[T any](f *face, op dialect.Op, req any, do func(*call) (T, error)) (T, error) {
	for n := 0; ; n++ {
		k, err := f.binding.build(op, n, req)
		if err != nil {
			var none T
			return none, err
		}
		k.face = f
		res, err := do(k)
		if err != nil && n+1 < f.binding.ways(op) && noSuchRoute(err) {
			continue
		}
		return res, err
	}
}

// elsewhere reports whether an attempt sent nothing and another address may
// help, for which there is still time.
func elsewhere(ctx context.Context, err error) bool {
	var late timeout
	return unreachable(err) && !errors.As(err, &late) && ctx.Err() == nil
}

func unreachable(err error) bool {
	var t *TransportError
	return errors.As(err, &t) && t.Unreachable
}

func hostOf(f *face) string {
	u, err := url.Parse(f.iface.URL)
	if err != nil { // choose has parsed it
		return ""
	}
	return u.Host
}
