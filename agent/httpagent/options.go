package httpagent

import (
	"cmp"
	"log/slog"
	"math"
	"net/http"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/egress"
)

// Options adjusts an Agent. A nil *Options means all defaults.
type Options struct {
	// Client makes the requests and decides which addresses are allowed. Its Timeout is
	// ignored, because it would cut streams, and redirects are never followed, even if
	// it allows them, because the credentials in Headers are for one service. If it
	// allows fewer connections to a host than Concurrency, requests wait for one within
	// their time. Nil: a client without restrictions, with its own time limits for
	// connecting.
	Client *http.Client
	// Headers are sent with each request; their values are never shown or logged. New
	// refuses headers that this package sets itself.
	Headers map[string]a2a.Secret
	// Timeout is how long an answer in one piece may take until it has arrived in full,
	// and how long a stream may take to begin. Zero means 5 min.
	Timeout time.Duration
	// Idle is how long a stream may be silent; a comment is enough to break the
	// silence. Zero means 5 min.
	Idle time.Duration
	// Retries is how often a request is repeated that got no answer, or an answer that
	// asks to try again (408, 425, 429, and 5xx except 501 and 505). A service that is
	// still working on the request (409) is asked again for as long as Timeout. Zero
	// means 5; negative means never, not even after 409.
	Retries int
	// Concurrency is how many requests are under way at a time; more wait, and are sent
	// in the order they came. A message that waits for callbacks or for its caller does
	// not count. Zero means 256.
	Concurrency int
	// MaxAnswer caps an answer in one piece, an event and a callback, in bytes. Zero
	// means 8 MiB.
	MaxAnswer int64
	// MaxOutput caps everything that a service may send for one message, in bytes. Zero
	// means 64 MiB.
	MaxOutput int64
	// History is how many earlier messages of the context are sent along at most.
	// Zero means none.
	History int
	// Body and Answer are for services that have a format of their own. Body is the
	// template of the request's body, such as {"prompt": "${text}"} or the form
	// prompt=${text}. Answer says where the answer is in the response, such as .reply,
	// or "text" for all of it. docs/http.md has the grammar. With Body, History and
	// Callbacks cannot be used. Empty: the request and the answers of docs/http.md.
	Body, Answer string
	// Callbacks lets the service answer 202 and call back. Nil: such an answer fails
	// the task.
	Callbacks *Callbacks
	// CallbackWait is how long a service that answered 202 may be silent before the
	// task fails. Zero means 24 h. It starts over after a restart.
	CallbackWait time.Duration
	// Logger gets the service's events of the type log, and errors of requests. Nil
	// discards.
	Logger *slog.Logger
}

func (o *Options) callbackWait() time.Duration { return cmp.Or(o.CallbackWait, 24*time.Hour) }

// client returns a client that follows no redirects.
func (o *Options) client() *http.Client {
	c := http.Client{Transport: egress.Unjudged()}
	if o.Client != nil {
		c = *o.Client
	}
	c.Timeout = 0
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &c
}

func (o *Options) timeout() time.Duration { return cmp.Or(o.Timeout, 5*time.Minute) }

func (o *Options) idle() time.Duration { return cmp.Or(o.Idle, 5*time.Minute) }

func (o *Options) retries() int { return max(cmp.Or(o.Retries, 5), 0) }

func (o *Options) concurrency() int { return cmp.Or(max(o.Concurrency, 0), 256) }

// maxAnswer leaves room to add 1 without overflow.
func (o *Options) maxAnswer() int64 {
	return min(cmp.Or(max(o.MaxAnswer, 0), 8<<20), math.MaxInt32)
}

func (o *Options) maxOutput() int64 { return cmp.Or(max(o.MaxOutput, 0), 64<<20) }

func (o *Options) history() int { return max(o.History, 0) }

func (o *Options) logger() *slog.Logger { return cmp.Or(o.Logger, slog.New(slog.DiscardHandler)) }
