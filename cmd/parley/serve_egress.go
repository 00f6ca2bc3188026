package main

import (
	"errors"
	"log/slog"
	"net/url"

	"github.com/spf13/pflag"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/egress"
)

// egressFlags say where callers may have webhooks sent.
type egressFlags struct {
	allow, deny egressRules
	proxy       proxyURL
	noPush      bool
}

func (f *egressFlags) register(fs *pflag.FlagSet) {
	fs.Var(&f.allow, "egress-allow", "let webhooks go to a `host` besides public ones by https: example.internal, *.example.internal, 10.1.0.0/16, each with a :port or without, http:// in front for plain http; may be repeated")
	fs.Var(&f.deny, "egress-deny", "let no webhook go to a `host`, whatever else allows it; may be repeated")
	fs.Var(&f.proxy, "egress-proxy", "`URL` of the HTTP proxy that webhooks go through; those of the environment are not used")
	fs.BoolVar(&f.noPush, "no-push", false, "offer no push notifications: no webhook is kept or sent")
}

func (f *egressFlags) check() error {
	if f.noPush && (len(f.allow) > 0 || len(f.deny) > 0 || f.proxy.URL != nil) {
		return usagef("--no-push sends no webhooks, --egress-allow, --egress-deny and --egress-proxy say where to: leave one out")
	}
	return nil
}

// policy makes the policy of a server. local says that only this machine can
// call it, and nobody else through something in front: who could anyhow reach
// what else listens here.
func (f *egressFlags) policy(local bool, log *slog.Logger) *egress.Policy {
	return &egress.Policy{Loopback: local, Allow: f.allow, Deny: f.deny, Proxy: f.proxy.URL, Logger: log}
}

// declare switches push notifications off on a card that they are to be off on.
func (f *egressFlags) declare(card *a2a.AgentCard) {
	if f.noPush {
		card.Capabilities.PushNotifications = new(false)
	}
}

// egressRules is a repeatable flag of hosts.
type egressRules []egress.Rule

func (r *egressRules) String() string { return "" }
func (r *egressRules) Type() string   { return "host" }
func (r *egressRules) Set(s string) error {
	rule, err := egress.ParseRule(s)
	if err != nil {
		return err
	}
	*r = append(*r, rule)
	return nil
}

var errProxy = errors.New("must be an http or https URL such as http://proxy.example.org:3128")

// proxyURL is the URL of a proxy, which may have a password in it.
type proxyURL struct{ *url.URL }

func (p *proxyURL) String() string { return "" }
func (p *proxyURL) Type() string   { return "URL" }
func (p *proxyURL) Set(s string) error {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "" {
		return errProxy
	}
	p.URL = u
	return nil
}

// password is what diagnostics must not show of it.
func (p *proxyURL) password() string {
	if p.URL == nil {
		return ""
	}
	password, _ := p.User.Password()
	return password
}
