package audit

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/metric"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/telemetry/metrics"
)

// meters are what is counted of calls. A Record sees each call of every binding from
// its beginning to its end, so nothing else of a server counts any.
type meters struct {
	streams, events, resumes, auth, full *metrics.Count
	duration, first                      *metrics.Spread
}

func newMeters(p metric.MeterProvider) *meters {
	m := metrics.New(p)
	if m == nil {
		return nil
	}
	return &meters{
		duration: m.Histogram(metrics.OperationDuration), first: m.Histogram(metrics.FirstEvent),
		streams: m.Counter(metrics.StreamsActive), events: m.Counter(metrics.StreamEvents), resumes: m.Counter(metrics.StreamResumes),
		auth: m.Counter(metrics.AuthFailures), full: m.Counter(metrics.Limited),
	}
}

// unknown stands for the operation and the version of a call that was refused before
// they were known.
const unknown = "unknown"

// names are the values of the labels method and version.
func (c *Record) names() (method, version string) {
	if c.op == 0 {
		return unknown, unknown
	}
	return c.op.String(), c.dialect.Version()
}

// measured is the context that measurements are made in. A call's is long to search for a
// span that is not there.
func (c *Record) measured(ctx context.Context) context.Context {
	if c.Traced {
		return ctx
	}
	return context.Background()
}

// begins counts a stream whose first event is there.
func (m *meters) begins(ctx context.Context, c *Record) {
	if m == nil {
		return
	}
	ctx = c.measured(ctx)
	method, version := c.names()
	m.first.Record(ctx, c.seconds(), method, c.binding, version)
	m.streams.Add(ctx, 1, c.binding)
	if c.resumes {
		m.resumes.Add(ctx, 1, "resumed")
	}
}

// ends counts a call that has its answer or, with e, its error, or a stream that is
// over.
func (m *meters) ends(ctx context.Context, c *Record, outcome string, e *a2a.Error) {
	if m == nil {
		return
	}
	ctx = c.measured(ctx)
	method, version := c.names()
	m.duration.Record(ctx, c.seconds(), method, c.binding, version, outcome)
	switch {
	case c.open:
		m.streams.Add(ctx, -1, c.binding)
	case e != nil:
		m.refused(ctx, c, e)
	}
}

// refused counts why a call was refused, where operators want to know.
func (m *meters) refused(ctx context.Context, c *Record, e *a2a.Error) {
	limit, limited := errors.AsType[*metrics.Limit](e.Cause)
	switch {
	case limited:
		m.full.Add(ctx, 1, limit.Name())
	case e.Code == a2a.CodeTooLarge:
		m.full.Add(ctx, 1, "size")
	case e.Code == a2a.CodeUnauthenticated && e.Cause == nil:
		m.auth.Add(ctx, 1, "missing")
	case e.Code == a2a.CodeUnauthenticated:
		m.auth.Add(ctx, 1, "invalid")
	case e.Code == a2a.CodePermissionDenied:
		m.auth.Add(ctx, 1, "forbidden")
	case e.Code == a2a.CodeRateLimited && e.Cause != nil: // of auth.Guard
		m.auth.Add(ctx, 1, "blocked")
	case e.Code == a2a.CodeRateLimited:
		m.full.Add(ctx, 1, metrics.Other)
	}
	if c.resumes {
		m.resumes.Add(ctx, 1, "refused")
	}
}
