package proxy

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
	"github.com/parley-a2a/parley/internal/egress"
)

// Options adjusts an Agent. A nil *Options means all defaults.
type Options struct {
	// Client performs all requests, so that who makes it says where they may go.
	// Its Timeout must be 0, or streams are cut. Nil means one with time limits for
	// connecting and none for answers, which may take as long as the task does.
	Client *http.Client
	// Version forces a version of the protocol, and Bindings prefers some of the
	// agent's: see a2aclient.Options.
	Version  string
	Bindings []string
	// Bearer, APIKey, and User with Password are what this server shows to the
	// agent. What its callers show is never passed on.
	Bearer, APIKey a2a.Secret
	User           string
	Password       a2a.Secret
	// Headers go with every request to the agent; values may be secrets.
	Headers map[string]a2a.Secret
	// Extensions are the URIs of extensions that every message declares to be
	// supported: for an agent that requires one.
	Extensions []string
	// CheckCard judges the agent's card: see a2aclient.Options.
	CheckCard func(ctx context.Context, doc []byte) ([]byte, error)

	// AnyAddress lets the agent's card and its redirects name any address: see
	// a2aclient.Options. Where Client already says which addresses are meant, there
	// is nothing left to judge.
	AnyAddress bool

	// Metadata names the members of a request's metadata that go to the agent with
	// it. Nil means all of them, empty means none. (A message's own metadata is part
	// of what it says and always goes along; headers of the caller's request
	// never do, but for traceparent and tracestate.)
	Metadata []string

	// Patience is for how long the agent may be out of reach, at the beginning of
	// a task or within it, before the task fails. Zero means 2 minutes; negative
	// means that one failure is enough.
	Patience time.Duration
	// Poll is how often an agent that does not stream is asked how far it is: at
	// first, and less and less often down to an eighth of that. Zero means 2 s.
	Poll time.Duration
	// MaxBytes and MaxEvents bound what is taken from the agent in one run of a
	// task: what its parts and metadata hold, and how many elements of streams; a
	// twentieth as many artifacts, at least one. Beyond it the task fails, and is
	// cancelled there. Zero means 64 MiB and 200,000.
	MaxBytes  int64
	MaxEvents int

	// Push asks the agent to post to PushURL when a task of its changes; Handler
	// takes what it posts and has to be served there. It is for agents that do not
	// stream: they are then polled a tenth as often. PushURL is an absolute URL
	// without a query. PushSecret makes the addresses and tokens of tasks; the same
	// one has to be given after a restart, and it must not be empty.
	Push       bool
	PushURL    string
	PushSecret a2a.Secret

	// Logger gets what callers are not told: why tasks failed, what was tried
	// again. Nil discards.
	Logger *slog.Logger
}

func (o *Options) patience() time.Duration {
	return max(cmp.Or(o.Patience, 2*time.Minute), 0)
}

func (o *Options) poll() time.Duration { return cmp.Or(max(o.Poll, 0), 2*time.Second) }

func (o *Options) maxBytes() int64 { return cmp.Or(o.MaxBytes, 64<<20) }

func (o *Options) maxEvents() int { return cmp.Or(o.MaxEvents, 200_000) }

func (o *Options) maxArtifacts() int { return max(o.maxEvents()/20, 1) }

func (o *Options) logger() *slog.Logger { return cmp.Or(o.Logger, slog.New(slog.DiscardHandler)) }

// client returns the options of the client that speaks to the agent.
func (o *Options) client() *a2aclient.Options {
	co := &a2aclient.Options{
		HTTPClient: o.Client, Version: o.Version, Bindings: o.Bindings,
		Bearer: o.Bearer.Reveal(), APIKey: o.APIKey.Reveal(), User: o.User, Password: o.Password.Reveal(),
		Extensions: o.Extensions, CheckCard: o.CheckCard, AnyAddress: o.AnyAddress, Logger: o.Logger,
		Retries: clientRetries,
	}
	if co.HTTPClient == nil {
		co.HTTPClient = &http.Client{Transport: egress.Unjudged()}
	}
	for name, value := range o.Headers {
		if co.Header == nil {
			co.Header = http.Header{}
		}
		co.Header.Set(name, value.Reveal())
	}
	return co
}

// clientRetries is how often the client resumes a stream in a row before the
// proxy looks at the task itself, and at the agent's card.
const clientRetries = 3
