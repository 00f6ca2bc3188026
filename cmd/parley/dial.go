package main

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
	"github.com/parley-a2a/parley/internal/failure"
	"github.com/parley-a2a/parley/internal/plain"
	"github.com/parley-a2a/parley/internal/serve"
	"github.com/parley-a2a/parley/internal/upload"
	"github.com/parley-a2a/parley/internal/wirelog"
)

// wantAgent determines the agent. If the user names none, it is the one that this machine
// serves, if something answers there. Any user of the machine may have started that, so it gets
// credentials only if the command line or a setting names it.
func (a *app) wantAgent(ctx context.Context) error {
	if err := a.findAgent(); err != nil {
		return err
	}
	if a.flags.agentCard == "" {
		if a.flags.credentials() || a.certificate != nil {
			return failure.Usagef("which agent? There are credentials, and --agent-card does not say whose they are").
				WithHint("to send them to this machine's agent: -a %s", serve.DefaultListen)
		}
		probe, err := (&net.Dialer{Timeout: 2 * time.Second}).DialContext(ctx, "tcp", serve.DefaultListen)
		if err != nil {
			return failure.Usagef("no agent: nothing answers at %s, and --agent-card is not set", serve.DefaultListen).
				WithHint("%s serve starts one; or name one with -a https://agents.example.org, A2ACLI_AGENT_CARD or %[1]s context add", a.around.itself)
		}
		probe.Close()
		a.flags.agentCard, a.unnamed = "http://"+serve.DefaultListen, true
	}
	a.warnCredentials(a.flags.agentCard)
	return nil
}

// dial resolves the card, or finds out what an agent without a card speaks, and chooses an
// interface. It sends no message.
func (a *app) dial(ctx context.Context) (*a2aclient.Client, error) {
	if err := a.wantAgent(ctx); err != nil {
		return nil, err
	}
	waiting := a.screen.Wait("waiting for the agent's card")
	c, err := a2aclient.NewResolver(a.clientOptions()).Dial(ctx, a.flags.agentCard)
	waiting.Stop()
	if err != nil {
		return nil, err
	}
	a.card, a.via, a.peer = c.Card(), c.Interface(), c
	a.warnCredentials(a.via.URL)
	for _, what := range c.Withheld() {
		a.stderr.Note("Warning", "%s is not sent: the agent's card has no security scheme for it; %s", what, a.wanted())
	}
	for _, uri := range c.Lacking() {
		a.stderr.Note("Warning", "the agent's card requires the extension %s, which this program does not support; if the agent refuses calls without it and you know what it asks of you, add --extension %[1]s", plain.Quote(uri))
	}
	a.log.Debug("chose an interface", "binding", a.via.ProtocolBinding, "version", c.Version(), "card", a.via.ProtocolVersion, "url", a.via.URL)
	if wanted := a.flags.transports; len(wanted) > 0 && !slices.ContainsFunc(wanted, func(b string) bool {
		return strings.EqualFold(b, a.via.ProtocolBinding)
	}) {
		a.stderr.Note("Note", "there is no %s to this agent: %s is used", strings.Join(wanted, " or "), a.via.ProtocolBinding)
	}
	return c, nil
}

// noteVersion notes that an agent speaks an older version. This is known only after the first
// answer: many older cards do not name their version, and some name a wrong one.
func (a *app) noteVersion() {
	if a.peer == nil || a.flags.version != "" {
		return
	}
	if v := a.peer.Version(); a.peer.Outdated() {
		a.stderr.Note("Note", "this agent speaks A2A %s, an older version of the protocol; --a2a-version %s hides this note", v, v)
	}
}

func (a *app) clientOptions() *a2aclient.Options {
	f := &a.flags
	if a.signedIn == nil {
		a.signedIn = a.tokens()
	}
	o := &a2aclient.Options{
		HTTPClient: a.httpClient(),
		Bindings:   f.transports,
		Version:    f.version,
		Bearer:     f.bearer,
		Token:      a.signedIn.Token,
		APIKey:     f.apiKey,
		User:       f.basic.user,
		Password:   f.basic.password,
		Header:     f.svcParams,
		Extensions: f.extensions,
		From:       a.from,
		Lost:       a.outage.Lost,
		Logger:     a.log,
	}
	if len(f.cardTrust.Keys) > 0 {
		o.CheckCard = func(ctx context.Context, doc []byte) ([]byte, error) {
			signed, key, err := f.cardTrust.Check(ctx, doc)
			if err == nil {
				a.signedBy = key
			}
			return signed, err
		}
	}
	return o
}

// httpClient returns a client without a time limit for a whole exchange, which would cut
// streams; --timeout bounds the command.
func (a *app) httpClient() *http.Client {
	return a.httpClientWith(&tls.Config{InsecureSkipVerify: a.flags.insecure, Certificates: a.certificate}, a.flags.debug)
}

// issuerClient returns the client for issuers, and for cards before a sign-in. It uses the
// authorities of --ca-file, but always verifies certificates, sends no client certificate, and
// does not log exchanges, which consist of secrets.
func (a *app) issuerClient() *http.Client { return a.httpClientWith(new(tls.Config), false) }

func (a *app) httpClientWith(t *tls.Config, debug bool) *http.Client {
	t.MinVersion, t.RootCAs = tls.VersionTLS12, a.roots
	base := &http.Transport{
		Proxy: func(r *http.Request) (*url.URL, error) {
			proxy, err := http.ProxyFromEnvironment(r)
			a.proxy.Store(proxy)
			return proxy, err
		},
		DialContext:         (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
		TLSHandshakeTimeout: 30 * time.Second,
		ForceAttemptHTTP2:   true,
		HTTP2:               upload.HTTP2(),
		TLSClientConfig:     t,
	}
	over := func(next http.RoundTripper) http.RoundTripper {
		if debug {
			next = &wirelog.Transport{Next: next, Log: a.log, Redact: a.stderr.Redact}
		}
		return &metered{next: next, a: a}
	}
	return &http.Client{Transport: &layered{over(base), base, over}}
}

// warnCredentials warns, once for each kind, if the connection to a request's target is weak
// (a2a-cli §6.5, §12.1).
func (a *app) warnCredentials(where string) {
	credentials := a.flags.credentials()
	if a.flags.insecure && !a.warned.insecure {
		a.warned.insecure = true
		a.stderr.Note("Warning", "--insecure: TLS certificates are not verified; anybody on the way can read and change what is exchanged")
		if credentials {
			a.stderr.Note("Warning", "--insecure: your credentials go to whoever answers")
		}
	}
	u, err := url.Parse(where)
	if credentials && err == nil && strings.EqualFold(u.Scheme, "http") && !a2a.IsLoopback(u.Hostname()) && !a.warned.plain {
		a.warned.plain = true
		a.stderr.Note("Warning", "credentials go to %s without encryption", u.Host)
	}
}
