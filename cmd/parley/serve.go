package main

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"os"
	"runtime"
	"strings"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aserver"
	"github.com/parley-a2a/parley/agent/httpagent"
	"github.com/parley-a2a/parley/store"
)

// serving is a server of parley serve: what stays as it is while it runs. What
// can be replaced is a revision (serve_revision.go).
type serving struct {
	app   *app
	line  given    // the command line,
	argv  []string // and what is behind --
	log   *slog.Logger
	addr  net.Addr
	store store.Store // nil: memory
	place *location
	audit *auditLog
	maker *maker

	server *parley.Server
	now    *revision       // of the goroutine of beside, once there is one
	begun  map[string]any  // settings that count until the end
	told   map[string]bool // findings that were said
}

func (a *app) serve(ctx context.Context, s *serving, f *serveSetup) error {
	if runtime.GOMAXPROCS(0) < 2 {
		runtime.GOMAXPROCS(2) // on one, every fsync would stop the network, too
	}
	var level slog.Level
	if err := level.UnmarshalText([]byte(f.logLevel)); err != nil {
		return usagef("--log-level: %v", err)
	}
	s.place, s.log = f.place, slog.New(slog.NewTextHandler(a.stderr, &slog.HandlerOptions{Level: level}))
	log := s.log
	a.stderr.hide(f.egress.proxy.password())
	agents := f.agents(a, s.argv)
	for i := range agents { // before anything is opened
		if c := agents[i].Exec; c != nil {
			if err := commandFailure(c.Command[0], c.Dir); err != nil {
				return err
			}
		}
	}

	l, err := net.Listen(network(f.listen), f.listen)
	if err != nil {
		return listenFailure(f.listen, err)
	}
	defer l.Close() // Serve closes it, too
	s.addr = l.Addr()
	if err := f.auth.admit(f.local(s.addr), s.addr); err != nil {
		return err
	}
	if !f.place.memory() {
		db, err := f.place.open(ctx, log, false)
		if err != nil {
			return storeFailure(f.place, err)
		}
		defer db.Close() // for the ways out below; once closed it stays so
		if err := imported(ctx, db); err != nil {
			return err
		}
		s.store = db
	}
	os.Unsetenv(storeEnv)    // the agent's command is not to have the password
	os.Unsetenv(upstreamEnv) // nor this
	s.audit, err = f.audit.open(f.place.data, f.auth.any() && !f.place.memory(), a.stderr, log)
	if err != nil {
		return err
	}
	defer func() { _ = s.audit.close() }() // what it could not write is logged
	if l, err = f.tls.listen(l, s.audit, log); err != nil {
		return err
	}
	s.maker = &maker{log: log, callbacks: map[string]*httpagent.Callbacks{}, own: (&banner{addr: s.addr, tls: f.tls.given()}).local()}
	if s.maker.secret, err = callbackSecret(ctx, s.store); err != nil {
		return storeFailure(f.place, err)
	}
	if s.now, err = s.revise(ctx, f, agents, false); err != nil {
		return err
	}
	s.server, err = parley.NewHost(s.now.hosted, s.options(s.now))
	if err != nil {
		s.now.discard(log)
		return newFailure(codeServe, err.Error(), err)
	}
	s.now.settle(s.maker)
	s.begun = f.untilRestart()
	b := s.banner(s.now)
	if err := b.print(a.stdout); err != nil {
		return newFailure(codeServe, "print: "+err.Error(), err)
	}
	f.warn(a, b, f.local(s.addr))
	s.tell(s.now)
	s.audit.event(a2aserver.AuditServerStarted, f.summary(b)...)
	s.audit.signed(s.now.cardKeys)
	beside := s.beside(ctx)
	err = s.server.Serve(ctx, l)
	beside()
	s.audit.event(a2aserver.AuditServerStopped)
	if s.store != nil {
		err = errors.Join(err, s.store.Close())
	}
	if err != nil {
		return endFailure(f.place, err)
	}
	return nil
}

// callbackSecret is what the addresses are made of at which agents are called
// back: the same after a restart, and on each server of a store.
func callbackSecret(ctx context.Context, st store.Store) (a2a.Secret, error) {
	if st == nil {
		return a2a.Secret(rand.Text()), nil
	}
	secret, err := st.Secret(ctx, "callbacks")
	return a2a.Secret(secret), err
}

// local says that only this machine can call a server at an address, and nobody
// else through something in front.
func (f *serveFlags) local(at net.Addr) bool {
	b := banner{addr: at}
	return b.loopback() && f.publicURL == "" && len(f.proxies) == 0
}

func publicURL(s string) (string, error) {
	if s == "" {
		return "", nil
	}
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", usagef("--public-url %s: must be an http or https URL such as https://agents.example.org", quote(s))
	}
	return strings.TrimRight(s, "/"), nil
}

// prefixes is a repeatable flag of networks or single addresses.
type prefixes []netip.Prefix

func (p *prefixes) String() string { return "" }
func (p *prefixes) Type() string   { return "CIDR" }
func (p *prefixes) Set(s string) error {
	prefix, err := netip.ParsePrefix(s)
	if addr, addrErr := netip.ParseAddr(s); addrErr == nil && addr.Zone() == "" {
		prefix, err = netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	if err != nil || prefix.Addr().Is4In6() {
		return errors.New("must be a network such as 10.0.0.0/8 or an address such as ::1")
	}
	*p = append(*p, prefix.Masked())
	return nil
}

// network keeps an IPv4 address to IPv4: to package net, "tcp" and 0.0.0.0 mean
// every IPv6 address, too, which is more than was asked for.
func network(addr string) string {
	if a, err := netip.ParseAddrPort(addr); err == nil && a.Addr().Is4() {
		return "tcp4"
	}
	return "tcp"
}
