package egress

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"
)

const (
	dialTimeout = 10 * time.Second // to look a name up and get a connection
	maxAnswers  = 4                // addresses of one name that are dialled
)

// DialContext connects to a host and port, if the policy allows: the name is looked up
// once, and only addresses that passed are dialed. It is meant for transports. The
// error is a *Refused if no address of the name may be dialed.
func (p *Policy) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	p = p.orStrict()
	// net/http removes the request's deadline from the context of a dial.
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	name, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, refuse("has no host and port")
	}
	t, err := parseTarget(name, strings.HasPrefix(address, "["), port)
	if err == nil {
		err = p.checkTarget(t)
	}
	if err != nil {
		p.logRefused(ctx, t, netip.Addr{}, err)
		return nil, err
	}
	addrs, err := p.lookup(ctx, t)
	if err != nil {
		return nil, err
	}
	return p.dialAny(ctx, network, t, addrs)
}

// lookup returns the addresses of a target that may be dialed.
func (p *Policy) lookup(ctx context.Context, t target) ([]netip.Addr, error) {
	all, err := p.resolve(ctx, t)
	if err != nil {
		return nil, err
	}
	var good []netip.Addr
	for i, a := range all {
		a = a.Unmap()
		if e := p.checkAddr(t, a); e != nil {
			if err = e; i < maxAnswers {
				p.logRefused(ctx, t, a, e)
			}
		} else if !slices.Contains(good, a) {
			good = append(good, a)
		}
	}
	if len(good) > 0 {
		return spread(good), nil
	}
	if err == nil {
		err = &net.DNSError{Err: "no addresses", Name: t.name, IsNotFound: true}
	}
	return nil, err
}

func (p *Policy) resolve(ctx context.Context, t target) ([]netip.Addr, error) {
	switch {
	case t.addr.IsValid():
		return []netip.Addr{t.addr}, nil
	case t.isLocal():
		// Not looked up: a name server may answer anything (RFC 6761 §6.3).
		return []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}, nil
	}
	var r Resolver = net.DefaultResolver
	if p.Resolver != nil {
		r = p.Resolver
	}
	name := t.name
	if !p.named(t) {
		name += "." // otherwise the search list makes kubernetes.default a host
	}
	return r.LookupNetIP(ctx, "ip", name)
}

// spread picks the addresses to try, with the first of the other family second: a
// machine may have no route for one of the two.
func spread(addrs []netip.Addr) []netip.Addr {
	for i, a := range addrs {
		if a.Is4() != addrs[0].Is4() {
			addrs = slices.Insert(slices.Delete(addrs, i, i+1), 1, a)
			break
		}
	}
	return addrs[:min(len(addrs), maxAnswers)]
}

// dialAny tries addresses one after the other, each for its share of the time.
func (p *Policy) dialAny(ctx context.Context, network string, t target, addrs []netip.Addr) (net.Conn, error) {
	var failures []error
	for i, a := range addrs {
		address := netip.AddrPortFrom(a, t.port).String()
		c, err := p.dialOne(ctx, network, a, address, len(addrs)-i)
		if err == nil {
			return c, nil
		}
		failures = append(failures, err)
		if ctx.Err() != nil {
			break
		}
	}
	return nil, errors.Join(failures...)
}

func (p *Policy) dialOne(ctx context.Context, network string, a netip.Addr, address string, left int) (net.Conn, error) {
	deadline, _ := ctx.Deadline()
	ctx, cancel := context.WithTimeout(ctx, time.Until(deadline)/time.Duration(left))
	defer cancel()
	if p.Proxy != nil && !a.IsLoopback() {
		return p.connect(ctx, address)
	}
	return p.dial(ctx, network, address)
}

func (p *Policy) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if p.Dial != nil {
		return p.Dial(ctx, network, address)
	}
	return new(net.Dialer).DialContext(ctx, network, address)
}

func (p *Policy) logRefused(ctx context.Context, t target, a netip.Addr, err error) {
	r, ok := errors.AsType[*Refused](err)
	if !ok {
		return
	}
	attrs := []any{"host", t.name, "port", t.port, "reason", r.Reason}
	if a.IsValid() {
		attrs = append(attrs, "address", a.String())
	}
	p.logger().WarnContext(ctx, "connection refused by policy", attrs...)
}
