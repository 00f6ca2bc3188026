package openai

import (
	"cmp"
	"log/slog"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/metric"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/egress"
)

// Options adjusts an agent. A nil *Options means all defaults.
type Options struct {
	// APIKey is sent as a bearer token. Empty: none.
	APIKey a2a.Secret
	// Headers are set on each request, such as Azure's api-key.
	Headers map[string]a2a.Secret

	// System is the system prompt. SystemFile is a file that contains it, of at most 1
	// MiB. It is read for each message, so that you can edit it at any time; if both
	// are set, System comes first. Empty: none.
	System, SystemFile string
	// Temperature and MaxTokens are left to the model if they are not set.
	Temperature *float64
	MaxTokens   int
	// Extra are more members of the request, as the endpoint documents them. They
	// override the other members, except model, messages, stream and tools, which are
	// refused in Extra.
	Extra map[string]any

	// History is how many messages of the context are sent along at most, and
	// HistoryBytes how large they may be in total, in bytes of the request. Zero means
	// 20 and 256 KiB, a negative History none.
	History      int
	HistoryBytes int
	// Images and Files say what the model accepts besides text. Text files and JSON are
	// always sent as text.
	Images, Files bool

	// FlushEvery bounds how often the answer becomes durable: a chunk holds the
	// tokens of that time. Zero means 100 ms.
	FlushEvery time.Duration
	// Timeout is how long the endpoint may send nothing at all, not even a comment.
	// Zero means 2 m.
	Timeout time.Duration
	// MaxTime is how long one answer of the model may take in total. Zero means 30 m.
	MaxTime time.Duration
	// MaxAnswer is how long one answer of the model may be, in bytes, including its
	// reasoning. Zero means 4 MiB.
	MaxAnswer int
	// Retries is how often a request is made again after the statuses 408, 409, 429 and
	// 5xx, and after broken connections, as long as no part of the answer was emitted.
	// Zero means 5, a negative number none.
	Retries int
	// Concurrency is how many turns may be at the endpoint at a time; more wait,
	// first come, first served. Zero means that there is no bound.
	Concurrency int

	// Tools are the tools that the model may call. If two have the same name, a number
	// is appended to the second.
	Tools []Toolbox
	// MaxToolCalls is how many calls it may make in one turn. Zero means 20.
	MaxToolCalls int

	// Client makes the requests; control egress in it. Its Timeout is ignored, because
	// it would cut streams, and redirects are never followed, even if it allows them.
	// Nil: the agent makes its own client.
	Client *http.Client
	// Logger gets details that callers are not told. Nil discards.
	Logger *slog.Logger
	// MeterProvider counts the tokens of requests and answers, as
	// gen_ai.client.token.usage. Nil is off.
	MeterProvider metric.MeterProvider
}

// Bounds that cannot be configured.
const (
	maxSystem = 1 << 20   // a file with a system prompt, in bytes
	maxChunk  = 64 << 10  // how much of the answer is gathered before it is emitted, in bytes
	maxResult = 128 << 10 // of a tool's result that the model is told, in bytes
	maxSchema = 64 << 10  // of a caller, in bytes
	maxError  = 64 << 10  // of an error body that is read, in bytes
	maxTools  = 128       // that the API allows in a request
	maxCalls  = 128       // in one answer
	maxLooked = 200       // tasks of a context that are searched for exchanges
	maxWait   = time.Minute
)

func (o *Options) history() int { return max(cmp.Or(o.History, 20), 0) }

func (o *Options) historyBytes() int { return cmp.Or(max(o.HistoryBytes, 0), 256<<10) }

func (o *Options) flushEvery() time.Duration {
	return cmp.Or(max(o.FlushEvery, 0), 100*time.Millisecond)
}

func (o *Options) timeout() time.Duration { return cmp.Or(max(o.Timeout, 0), 2*time.Minute) }

func (o *Options) maxTime() time.Duration { return cmp.Or(max(o.MaxTime, 0), 30*time.Minute) }

func (o *Options) maxAnswer() int { return cmp.Or(max(o.MaxAnswer, 0), 4<<20) }

func (o *Options) retries() int { return max(cmp.Or(o.Retries, 5), 0) }

func (o *Options) maxToolCalls() int { return cmp.Or(max(o.MaxToolCalls, 0), 20) }

func (o *Options) logger() *slog.Logger { return cmp.Or(o.Logger, slog.New(slog.DiscardHandler)) }

// newClient returns the default client. Options.Timeout bounds the silence within a
// body, so the client bounds only the time before the body.
func newClient() *http.Client {
	t := egress.Unjudged()
	t.Proxy = http.ProxyFromEnvironment
	return &http.Client{Transport: t}
}
