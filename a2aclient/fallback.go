package a2aclient

import (
	"context"
	"errors"
	"log/slog"
	"net/url"
	"strings"
	"sync/atomic"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/dialect"
)

// face is an interface of the card, ready to be called in one version.
type face struct {
	iface   *a2a.AgentInterface
	version string // Major.Minor
	dialect dialect.Dialect
	binding binding
	known   atomic.Bool // the agent is known to speak the version
}

// standsIn reports whether an interface may replace the chosen one. It must lead to the
// same tasks. A request for one host must not go to another one unencrypted, and a
// request that was to be encrypted must not go anywhere unencrypted: an attacker who
// can block an address could read it.
func standsIn(card *a2a.AgentCard, in, chosen *a2a.AgentInterface) bool {
	if in.Tenant != chosen.Tenant {
		return false
	}
	to, err := url.Parse(baseOf(card, in))
	from, ferr := url.Parse(baseOf(card, chosen))
	if err != nil || ferr != nil { // choose has parsed both
		return false
	}
	return encrypted(to) || !encrypted(from) && strings.EqualFold(to.Hostname(), from.Hostname())
}

// baseOf returns an interface's address as a URL; gRPC's may be host:port.
func baseOf(card *a2a.AgentCard, in *a2a.AgentInterface) string {
	if strings.EqualFold(in.ProtocolBinding, a2a.BindingGRPC) {
		return grpcBase(card, in.URL)
	}
	return in.URL
}

func encrypted(u *url.URL) bool { return strings.EqualFold(u.Scheme, "https") }

// tryFaces performs an operation at the interface in use, and then at the others as
// long as none can be reached (specification §5.2). The error is that of the first. If
// the agent does not know the version, see learn.
func tryFaces[T any](ctx context.Context, c *Client, op dialect.Op, req any, do func(*call) (T, error)) (T, error) {
	used, res, err := reach(ctx, c, op, req, do)
	for err != nil && doubtful(used, op, err) && ctx.Err() == nil {
		other, learnErr := c.learn(ctx, used, op, err)
		if learnErr != nil {
			err = learnErr
		}
		if other == nil {
			break
		}
		used = other
		res, err = try(other, op, req, do)
	}
	if err == nil {
		used.known.Store(true)
	}
	return res, lacking(used, op, err)
}

// reach performs an operation at the first interface that can be reached, and returns
// that interface.
func reach[T any](ctx context.Context, c *Client, op dialect.Op, req any, do func(*call) (T, error)) (*face, T, error) {
	used := c.face.Load()
	message, _ := req.(*sending)
	if message != nil && !message.fits(used) {
		used = message.to
	}
	res, err := try(used, op, req, do)
	if !elsewhere(ctx, err) {
		return used, res, err
	}
	type address struct{ host, binding string }
	tried := map[address]bool{{hostOf(used), used.iface.ProtocolBinding}: true}
	for _, f := range c.faces {
		at := address{hostOf(f), f.iface.ProtocolBinding}
		if message != nil && !message.fits(f) {
			continue
		}
		if tried[at] { // perhaps in another version, but the address cannot be reached
			continue
		}
		tried[at] = true
		other, otherErr := try(f, op, req, do)
		if elsewhere(ctx, otherErr) {
			continue
		}
		if !unreachable(otherErr) && ctx.Err() == nil && c.face.CompareAndSwap(used, f) {
			c.log.InfoContext(ctx, "another interface is used", slog.String("unreachable", hostOf(used)),
				slog.String("host", hostOf(f)), slog.String("binding", f.iface.ProtocolBinding))
		}
		return f, other, otherErr
	}
	return used, res, err
}

// try performs an operation at one interface, in each of its ways.
func try[T any](f *face, op dialect.Op, req any, do func(*call) (T, error)) (T, error) {
	if f.binding.ways(op) == 0 {
		var none T
		return none, a2a.Errorf(a2a.CodeUnsupportedOperation, "A2A %s has no %s over %s", f.version, op, f.iface.ProtocolBinding)
	}
	of, _ := req.(*sending)
	req = f.prepare(req)
	for n := 0; ; n++ {
		k, err := f.binding.build(op, n, req)
		if err != nil {
			var none T
			return none, err
		}
		k.face, k.message = f, of
		res, err := do(k)
		if err != nil && n+1 < f.binding.ways(op) && noSuchRoute(err) {
			continue
		}
		return res, err
	}
}

// elsewhere reports whether an attempt sent nothing and there is time to try another
// address.
func elsewhere(ctx context.Context, err error) bool {
	_, late := errors.AsType[timeout](err)
	return unreachable(err) && !late && ctx.Err() == nil
}

func unreachable(err error) bool {
	t, ok := errors.AsType[*TransportError](err)
	return ok && t.Unreachable
}

func hostOf(f *face) string {
	if !strings.Contains(f.iface.URL, "://") {
		return f.iface.URL // gRPC: host:port
	}
	u, err := url.Parse(f.iface.URL)
	if err != nil { // choose has parsed it
		return ""
	}
	return u.Host
}
