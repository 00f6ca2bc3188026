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
	// APIKey goes out as a bearer token. Empty: none.
	APIKey a2a.Secret
	// Headers are set on each request, such as Azure's api-key.
	Headers map[string]a2a.Secret

	// System is the system prompt. SystemFile is a file with it, of at most 1 MiB,
	// read for each message, so that it may be edited meanwhile; with both System
	// comes first. Empty: none.
	System, SystemFile string
	// Temperature and MaxTokens are the model's own if they are not set.
	Temperature *float64
	MaxTokens   int
	// Extra are more members of the request, as the endpoint documents them. They
	// win over what is sent otherwise, but for model, messages, stream and tools,
	// which are refused.
	Extra map[string]any

	// History is how many messages of the context are sent along at most, and
	// HistoryBytes how large they may be in sum, in bytes of the request. Zero means
	// 20 and 256 KiB, a negative History none.
	History      int
	HistoryBytes int
	// Images and Files say what the model takes besides text. Text files and JSON
	// are sent as text in any case.
	Images, Files bool

	// FlushEvery bounds how often the answer becomes durable: a chunk holds the
	// tokens of that time. Zero means 100 ms.
	FlushEvery time.Duration
	// Timeout is how long the endpoint may send nothing at all, not even a comment.
	// Zero means 2 m.
	Timeout time.Duration
	// MaxTime is how long one answer of the model may take as a whole. Zero means
	// 30 m.
	MaxTime time.Duration
	// MaxAnswer is how long one answer of the model may be, in bytes, with what it
	// thinks aloud. Zero means 4 MiB.
	MaxAnswer int
	// Retries is how often a request is made again after answers 408, 409, 429 and
	// 5xx, and after broken connections, as long as nothing of the answer is out.
	// Zero means 5, a negative one none.
	Retries int
	// Concurrency is how many turns may be at the endpoint at a time; more wait,
	// first come, first served. Zero means that there is no bound.
	Concurrency int

	// Tools are what the model may call. Where two have a tool of one name, the
	// second gets a number behind it.
	Tools []Toolbox
	// MaxToolCalls is how many calls it may make in one turn. Zero means 20.
	MaxToolCalls int

	// Client makes the requests; it is where egress is controlled. Its Timeout does not
	// count, for it would cut streams, and redirects are not followed whatever it says.
	// Nil: one of the agent's own.
	Client *http.Client
	// Logger gets what callers are not told. Nil discards.
	Logger *slog.Logger
	// MeterProvider counts the tokens that answers took and gave, as
	// gen_ai.client.token.usage. Nil is off.
	MeterProvider metric.MeterProvider
}

// Bounds that are nobody's to set.
const (
	maxSystem = 1 << 20   // a file with a system prompt, in bytes
	maxChunk  = 64 << 10  // what is gathered of the answer before it goes out, in bytes
	maxResult = 128 << 10 // of a tool's call that the model is told, in bytes
	maxSchema = 64 << 10  // of a caller, in bytes
	maxError  = 64 << 10  // of an answer that says what is wrong, in bytes
	maxTools  = 128       // that a model is told of, as the API has it
	maxCalls  = 128       // in one answer
	maxLooked = 200       // tasks of a context in which exchanges are looked for
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

// newClient is the default client. The reader of a body notices that nothing comes
// (Options.Timeout), so the client bounds only what comes before the body.
func newClient() *http.Client {
	t := egress.Unjudged()
	t.Proxy = http.ProxyFromEnvironment
	return &http.Client{Transport: t}
}
