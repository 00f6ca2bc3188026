package httpagent

import (
	"log/slog"
	"math"
	"net"
	"net/http"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/scarce"
)

// Options adjusts an Agent. A nil *Options means all defaults.
type Options struct {
	// Client makes the requests; where they may go is its business. Its Timeout does
	// not count, for it would cut streams, and redirects are not followed, whatever it
	// says about them: the credentials in Headers are for one service. If it has fewer
	// connections to a host than Concurrency, requests wait for one within their time.
	// Nil: a client that goes anywhere, with time limits of its own for connecting.
	Client *http.Client
	// Headers go with each request; their values are never shown or logged. Those
	// that this package sets itself are refused: see New.
	Headers map[string]a2a.Secret
	// Timeout is how long an answer in one piece may take, until it has come in
	// full, and how long a stream may take to begin. Zero means 5 min.
	Timeout time.Duration
	// Idle is how long a stream may be silent; a comment is enough to break the
	// silence. Zero means 5 min.
	Idle time.Duration
	// Retries is how often a request is made again that got no answer, or one that
	// says to come again (408, 409, 425, 429, 5xx). Zero means 5; negative, never.
	Retries int
	// Concurrency is how many requests are under way at a time; more wait, and go
	// in the order they came. A message that waits for callbacks or for its caller is
	// none. Zero means 256.
	Concurrency int
	// MaxAnswer caps an answer in one piece, an event and a callback, in bytes. Zero
	// means 8 MiB.
	MaxAnswer int64
	// MaxOutput caps all that a service may say to one message, in bytes. Zero means
	// 64 MiB.
	MaxOutput int64
	// History is how many earlier messages of the context are sent along at most.
	// Zero means none.
	History int
	// Body and Answer are for services that have a format of their own: the template of
	// the request's body, such as {"prompt": "${text}"} or the form prompt=${text}, and
	// where the answer is in theirs, such as .reply, or "text" for all of it. docs/http.md
	// has the grammar. A Body has no History. Empty: the request and the answers of
	// docs/http.md.
	Body, Answer string
	// Callbacks lets the service answer 202 and call back. Nil: such an answer fails
	// the task.
	Callbacks *Callbacks
	// CallbackWait is how long a service that answered 202 may be silent before the
	// task fails. Zero means 24 h. A restart begins it anew.
	CallbackWait time.Duration
	// Logger gets what the service says in events of the type log, and what goes
	// wrong with requests. Nil discards.
	Logger *slog.Logger
}

func (o *Options) callbackWait() time.Duration {
	if o == nil || o.CallbackWait == 0 {
		return 24 * time.Hour
	}
	return o.CallbackWait
}

// client returns a client that follows no redirects.
func (o *Options) client() *http.Client {
	var c http.Client
	if o != nil && o.Client != nil {
		c = *o.Client
	} else {
		c.Transport = &http.Transport{
			DialContext:            scarce.Dial((&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext),
			ForceAttemptHTTP2:      true,
			TLSHandshakeTimeout:    10 * time.Second,
			ExpectContinueTimeout:  time.Second,
			MaxIdleConns:           256,
			MaxIdleConnsPerHost:    64,
			IdleConnTimeout:        90 * time.Second,
			MaxResponseHeaderBytes: 64 << 10,
		}
	}
	c.Timeout = 0
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &c
}

func (o *Options) timeout() time.Duration {
	if o == nil || o.Timeout == 0 {
		return 5 * time.Minute
	}
	return o.Timeout
}

func (o *Options) idle() time.Duration {
	if o == nil || o.Idle == 0 {
		return 5 * time.Minute
	}
	return o.Idle
}

func (o *Options) retries() int {
	if o == nil || o.Retries == 0 {
		return 5
	}
	return max(o.Retries, 0)
}

func (o *Options) concurrency() int {
	if o == nil || o.Concurrency <= 0 {
		return 256
	}
	return o.Concurrency
}

func (o *Options) maxAnswer() int64 {
	if o == nil || o.MaxAnswer <= 0 {
		return 8 << 20
	}
	return min(o.MaxAnswer, math.MaxInt32) // one more can be counted
}

func (o *Options) maxOutput() int64 {
	if o == nil || o.MaxOutput <= 0 {
		return 64 << 20
	}
	return o.MaxOutput
}

func (o *Options) history() int {
	if o == nil {
		return 0
	}
	return max(o.History, 0)
}

func (o *Options) body() string {
	if o == nil {
		return ""
	}
	return o.Body
}

func (o *Options) answer() string {
	if o == nil {
		return ""
	}
	return o.Answer
}

func (o *Options) headers() map[string]a2a.Secret {
	if o == nil {
		return nil
	}
	return o.Headers
}

func (o *Options) callbacks() *Callbacks {
	if o == nil {
		return nil
	}
	return o.Callbacks
}

func (o *Options) logger() *slog.Logger {
	if o == nil || o.Logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return o.Logger
}
