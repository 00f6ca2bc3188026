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
	// Client performs all requests, so it decides which addresses are allowed. Its
	// Timeout must be 0, or streams are cut. Nil means a client with time limits for
	// connecting and none for answers, which may take as long as the task does.
	Client *http.Client
	// Version forces a version of the protocol, and Bindings prefers some of the
	// agent's: see a2aclient.Options.
	Version  string
	Bindings []string
	// Bearer, APIKey, and User with Password are this server's credentials for the
	// agent. Its callers' credentials are never passed on.
	Bearer, APIKey a2a.Secret
	User           string
	Password       a2a.Secret
	// Headers are sent with every request to the agent; values may be secrets.
	Headers map[string]a2a.Secret
	// Extensions are the URIs of extensions that every message declares as supported,
	// for an agent that requires one.
	Extensions []string
	// CheckCard checks the agent's card: see a2aclient.Options.
	CheckCard func(ctx context.Context, doc []byte) ([]byte, error)

	// AnyAddress lets the agent's card and its redirects name any address: see
	// a2aclient.Options. Set it if Client already decides which addresses are allowed.
	AnyAddress bool

	// Metadata names the members of a request's metadata that are passed on to the
	// agent. Nil means all of them, empty means none. (A message's own metadata is part
	// of the message and always passed on; headers of the caller's request never are,
	// except traceparent and tracestate.)
	Metadata []string

	// Patience is how long the agent may be unreachable, at the beginning of a task or
	// within it, before the task fails. Zero means 2 minutes; negative means that one
	// failure is enough.
	Patience time.Duration
	// Poll is how often an agent that does not stream is asked for its progress at
	// first. The interval grows, up to eight times this. Zero means 2 s.
	Poll time.Duration
	// MaxBytes and MaxEvents limit what is accepted from the agent in one run of a
	// task: the bytes of parts and metadata, and the number of stream elements. A
	// twentieth of MaxEvents, at least one, limits the number of artifacts. Beyond a
	// limit the task fails, and is cancelled at the agent. Zero means 64 MiB and
	// 200,000.
	MaxBytes  int64
	MaxEvents int

	// Push asks the agent to post to PushURL when its task changes; serve Handler
	// there. It is for agents that do not stream: they are then polled a tenth as
	// often. PushURL is an absolute URL without a query. PushSecret makes the addresses
	// and tokens of tasks; it must be the same after a restart, and not empty.
	Push       bool
	PushURL    string
	PushSecret a2a.Secret

	// Logger gets details that callers are not told, such as why tasks failed, and
	// retries. Nil discards.
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

// client returns the options of the client for the agent.
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
