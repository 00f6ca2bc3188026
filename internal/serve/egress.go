package serve

import (
	"log/slog"
	"net/url"

	"github.com/spf13/pflag"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/egress"
	"github.com/parley-a2a/parley/internal/failure"
	"github.com/parley-a2a/parley/internal/flagvalue"
)

// egressFlags say which addresses callers may have webhooks sent to.
type egressFlags struct {
	allow, deny []egress.Rule
	proxy       *url.URL
	noPush      bool
}

func (f *egressFlags) register(fs *pflag.FlagSet) {
	fs.Var(flagvalue.List("host", &f.allow, flagvalue.One(egress.ParseRule), nil), "egress-allow", "let webhooks go to this `host`, besides public ones over https: example.internal, *.example.internal or 10.1.0.0/16, with or without :port; put http:// in front for plain http; may be repeated")
	fs.Var(flagvalue.List("host", &f.deny, flagvalue.One(egress.ParseRule), nil), "egress-deny", "let no webhook go to this `host`, whatever else allows it; may be repeated")
	fs.Var(flagvalue.Of("URL", &f.proxy, egress.ParseProxy, nil), "egress-proxy", "`URL` of the HTTP proxy for webhooks; proxies of the environment are not used")
	fs.BoolVar(&f.noPush, "no-push", false, "offer no push notifications: webhooks are neither kept nor sent")
}

func (f *egressFlags) check() error {
	if f.noPush && (len(f.allow) > 0 || len(f.deny) > 0 || f.proxy != nil) {
		return failure.Usagef("--no-push sends no webhooks, --egress-allow, --egress-deny and --egress-proxy say where to: leave one out")
	}
	return nil
}

// policy returns the policy for webhooks. local says that only this machine's users can
// call the server; they can reach everything that listens here anyway.
func (f *egressFlags) policy(local bool, log *slog.Logger) *egress.Policy {
	return &egress.Policy{Loopback: local, Allow: f.allow, Deny: f.deny, Proxy: f.proxy, Logger: log}
}

// declare switches push notifications off on a card if they are not offered.
func (f *egressFlags) declare(card *a2a.AgentCard) {
	if f.noPush {
		card.Capabilities.PushNotifications = new(false)
	}
}

// password is the part of the proxy's URL that diagnostics must not show.
func (f *egressFlags) password() string {
	if f.proxy == nil {
		return ""
	}
	password, _ := f.proxy.User.Password()
	return password
}
