package metrics

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
)

// Local is a provider that keeps the counters and histograms of Table itself, for Read
// to return when metrics are collected. A value costs a few atomic additions; an
// instrument of OpenTelemetry's SDK costs five to eight times that (BenchmarkRecord),
// and a task has seven values. Everything else, gauges included, is left to the
// provider within.
type Local struct {
	metric.MeterProvider
	Began time.Time

	mu  sync.Mutex // protects the field below
	all map[*Metric]*series
}

// NewLocal returns a Local around a provider.
func NewLocal(p metric.MeterProvider) *Local {
	return &Local{MeterProvider: p, Began: time.Now(), all: map[*Metric]*series{}}
}

// Point is what a Local has of one series: the value of a counter, or the buckets of a
// histogram, the last of which has no bound.
type Point struct {
	Labels    attribute.Set
	Value     int64
	Buckets   []uint64
	Sum       float64
	Exemplars []*Exemplar
}

// Exemplar is a value that was measured within a sampled trace.
type Exemplar struct {
	Value float64
	Time  time.Time
	Span  trace.SpanContext
}

// Read calls each with the points of every counter and histogram that has a value.
func (l *Local) Read(each func(*Metric, []Point)) {
	for _, row := range Table {
		l.mu.Lock()
		s := l.all[row]
		l.mu.Unlock()
		if s == nil || s.all.Load() == nil {
			continue
		}
		var points []Point
		for _, one := range *s.all.Load() {
			p := Point{Labels: one.labels, Value: one.n.Load()}
			one.cells.read(&p)
			points = append(points, p)
		}
		each(row, points)
	}
}

// cells are the buckets of a histogram.
type cells struct {
	sum     atomic.Uint64 // the bits of a float64
	buckets []cell
}

type cell struct {
	n        atomic.Uint64
	exemplar atomic.Pointer[Exemplar] // the newest
}

func (c *cells) record(ctx context.Context, bounds []float64, value float64) {
	i := 0
	for i < len(bounds) && bounds[i] < value {
		i++
	}
	at := &c.buckets[i]
	at.n.Add(1)
	for {
		was := c.sum.Load()
		if c.sum.CompareAndSwap(was, math.Float64bits(math.Float64frombits(was)+value)) {
			break
		}
	}
	if ctx == context.Background() { // the usual case, without a search
		return
	}
	if span := trace.SpanContextFromContext(ctx); span.IsSampled() {
		at.exemplar.Store(&Exemplar{Value: value, Time: time.Now(), Span: span})
	}
}

func (c *cells) read(to *Point) {
	to.Sum = math.Float64frombits(c.sum.Load())
	for i := range c.buckets {
		to.Buckets = append(to.Buckets, c.buckets[i].n.Load())
		if e := c.buckets[i].exemplar.Load(); e != nil {
			to.Exemplars = append(to.Exemplars, e)
		}
	}
}
