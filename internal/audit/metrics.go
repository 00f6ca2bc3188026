package audit

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/metric"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/telemetry/metrics"
)

// meters are the measurements of calls. A Record sees each call of every binding from
// beginning to end, so no other part of a server counts calls.
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

// unknown stands for the operation and the version of a call that was refused before they
// were known.
const unknown = "unknown"

// names returns the values of the labels method and version.
func (c *Record) names() (method, version string) {
	if c.op == 0 {
		return unknown, unknown
	}
	return c.op.String(), c.dialect.Version()
}

// measured returns the context for measurements. Without a span, it avoids a search through
// the call's long chain of contexts.
func (c *Record) measured(ctx context.Context) context.Context {
	if c.Traced {
		return ctx
	}
	return context.Background()
}

// begins counts a stream whose first event is ready.
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

// ends counts a call that was answered or, with e, refused, or a stream that has ended.
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

// refused counts a refused call by its reason, if operators need to know it.
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
	case e.Code == a2a.CodeRateLimited && e.Cause != nil: // from auth.Guard
		m.auth.Add(ctx, 1, "blocked")
	case e.Code == a2a.CodeRateLimited:
		m.full.Add(ctx, 1, metrics.Other)
	}
	if c.resumes {
		m.resumes.Add(ctx, 1, "refused")
	}
}
