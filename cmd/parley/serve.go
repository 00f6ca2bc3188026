package main

import (
	"context"
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
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/store"
)

func (a *app) serve(ctx context.Context, f *serveSetup, argv []string) error {
	if runtime.GOMAXPROCS(0) < 2 {
		runtime.GOMAXPROCS(2) // on one, every fsync would stop the network, too
	}
	public, err := publicURL(f.publicURL)
	if err != nil {
		return err
	}
	var level slog.Level
	if err := level.UnmarshalText([]byte(f.logLevel)); err != nil {
		return usagef("--log-level: %v", err)
	}
	log := slog.New(slog.NewTextHandler(a.stderr, &slog.HandlerOptions{Level: level}))
	a.stderr.hide(f.egress.proxy.password())
	if len(argv) > 0 {
		if err := commandFailure(argv[0]); err != nil {
			return err
		}
	}

	l, err := net.Listen(network(f.listen), f.listen)
	if err != nil {
		return listenFailure(f.listen, err)
	}
	defer l.Close() // Serve closes it, too
	b := banner{addr: l.Addr(), tls: f.tls.given(), public: public, keeps: !f.place.memory(), shared: f.place.shared(), demo: len(argv) == 0 && f.agent == "demo"}
	local := b.loopback() && public == "" && len(f.proxies) == 0
	if err := f.auth.admit(local, l.Addr()); err != nil {
		return err
	}
	var st store.Store
	b.tasks = f.place.String()
	if !f.place.memory() {
		db, err := f.place.open(ctx, log, false)
		if err != nil {
			return storeFailure(f.place, err)
		}
		defer db.Close() // for the ways out below; once closed it stays so
		if err := imported(ctx, db); err != nil {
			return err
		}
		st = db
	}
	os.Unsetenv(storeEnv) // the agent's command is not to have the password
	guard, err := f.auth.guard(st, f.proxies, log)
	if err != nil {
		return err
	}
	audit, err := f.audit.open(f.place.data, f.auth.any() && !f.place.memory(), a.stderr, log)
	if err != nil {
		return err
	}
	defer func() { _ = audit.close() }() // what it could not write is logged
	defer audit.reopenOnHangup(log)()
	if l, err = f.tls.listen(l, audit, log); err != nil {
		return err
	}
	if !local || f.auth.any() {
		f.limits.settle(f.set)
	}
	card, ag, what := serveAgent(f.agent, argv, log)
	f.egress.declare(&card)
	card, extended := profile(f.profile, card)
	if extended, err = f.card.more(&card, extended); err != nil {
		return err
	}
	cardKeys, err := f.card.signing()
	if err != nil {
		return err
	}
	b.agent, b.callers, b.first = what, f.auth.who(local), f.auth.first(f.place)
	s, err := parley.New(card, f.declare(ag), &parley.Options{
		Store: st, PublicURL: public, TrustedProxies: f.proxies, CardProfile: cardFor(f.profile), Logger: log,
		ExtendedCard: extended, CardKeys: cardKeys, CardKeysURL: f.card.keysURL, CardStrict: f.card.strict,
		DeadAfter: f.deadAfter(), DrainWait: f.drain, Retries: f.retries, Retention: f.retention, Cache: int64(f.cache),
		Egress: f.egress.policy(local, log),
		Auth:   guard, Limits: f.limits.requests(), TaskLimits: f.limits.tasks(), Capacity: f.limits.capacity, MaxBody: int64(f.limits.body),
		Audit: audit.log, Origins: f.browser.origins, Hosts: f.browser.allowed(local && (guard == nil || guard.Anonymous()), l.Addr()),
	})
	if err != nil {
		return newFailure(codeServe, err.Error(), err)
	}
	if err := b.print(a.stdout); err != nil {
		return newFailure(codeServe, "print: "+err.Error(), err)
	}
	f.warn(a, &b, local)
	audit.event(a2aserver.AuditServerStarted, f.summary(&b)...)
	audit.signed(cardKeys)
	err = s.Serve(ctx, l)
	audit.event(a2aserver.AuditServerStopped)
	if st != nil {
		err = errors.Join(err, st.Close())
	}
	if err != nil {
		return endFailure(f.place, err)
	}
	return nil
}

// serveAgent returns the agent to run, and how the banner calls it.
func serveAgent(name string, argv []string, log *slog.Logger) (a2a.AgentCard, agent.Agent, string) {
	switch {
	case len(argv) > 0: // below
	case name == "conformance":
		return agent.ConformanceCard(), agent.Conformance(), name
	default:
		return agent.DemoCard(), agent.Demo(), "demo"
	}
	return agent.ExecCard(argv), agent.Exec(argv, &agent.ExecOptions{Logger: log}), quoteAll(argv)
}

// quoteAll is a command as one types it.
func quoteAll(argv []string) string {
	words := make([]string, len(argv))
	for i, w := range argv {
		words[i] = quote(w)
	}
	return strings.Join(words, " ")
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
