package export

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// outlet is an exporter that can be abandoned, and whose errors go to the log.
type outlet struct {
	to     sdktrace.SpanExporter
	report *reporter
	over   context.Context
	end    context.CancelFunc // ends what is being sent; nothing is sent afterwards
}

func newOutlet(to sdktrace.SpanExporter, report *reporter) *outlet {
	o := &outlet{to: to, report: report}
	o.over, o.end = context.WithCancel(context.Background()) // end ends it
	return o
}

func (o *outlet) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	if o.over.Err() != nil {
		return nil // the process is about to end, and has said so
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(o.over, cancel)()
	if err := o.to.ExportSpans(ctx, spans); err != nil {
		o.report.lost(err, len(spans))
	}
	return nil
}

func (o *outlet) Shutdown(ctx context.Context) error {
	defer o.end()
	return o.to.Shutdown(ctx)
}

// quiet is the least time between two log lines about telemetry.
const quiet = time.Minute

// reporter logs failures of telemetry, with a line from time to time.
type reporter struct {
	log *slog.Logger

	mu    sync.Mutex
	next  time.Time // when the next line may be written
	items int       // that were lost since the last one
	more  int       // reports without a line since then
}

func newReporter(log *slog.Logger) *reporter {
	return &reporter{log: cmp.Or(log, slog.New(slog.DiscardHandler))}
}

// Handle implements otel.ErrorHandler.
func (r *reporter) Handle(err error) { r.lost(err, 0) }

// lost reports that some spans, or measurements, could not be sent.
func (r *reporter) lost(err error, items int) {
	r.mu.Lock()
	r.items += items
	r.more++
	if time.Now().Before(r.next) {
		r.mu.Unlock()
		return
	}
	r.next = time.Now().Add(quiet)
	lost, reports := r.items, r.more
	r.items, r.more = 0, 0
	r.mu.Unlock()
	r.log.Warn("telemetry cannot be sent; tasks continue without it", "error", short(err), "lost", lost, "failures", reports)
}

// short returns the beginning of an error's text, because a collector chooses how long
// it is.
func short(err error) string {
	const most = 500
	s := err.Error()
	if len(s) > most {
		s = s[:most] + "…"
	}
	return s
}
