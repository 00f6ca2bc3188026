package metrics

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// scope names the program that measures, for collectors of many programs.
const scope = "github.com/parley-a2a/parley"

// Meter makes instruments. Nil makes nil ones.
type Meter struct {
	m     metric.Meter
	local *Local // nil: the provider counts
}

// New returns a Meter over a provider; nil if that is nil.
func New(p metric.MeterProvider) *Meter {
	if p == nil {
		return nil
	}
	local, _ := p.(*Local)
	return &Meter{p.Meter(scope), local}
}

// maxLabels is how many labels a metric may have.
const maxLabels = 4

// values are the values of a metric's labels, in their order.
type values [maxLabels]string

// series are the attribute sets of one metric, each made once. The map is copied when
// one is added, so that finding one takes no lock.
type series struct {
	metric *Metric
	mu     sync.Mutex // held to add one
	all    atomic.Pointer[map[values]*labeled]

	newest atomic.Pointer[labeled] // the one found last: the next one is mostly the same
}

// labeled is one series, ready for each kind of instrument.
type labeled struct {
	values values

	// used by a Local; next to values because both are needed at once
	n     atomic.Int64
	cells cells // of a histogram

	labels  attribute.Set
	set     metric.MeasurementOption
	adds    []metric.AddOption
	records []metric.RecordOption
}

// is reports whether these are the values of the series' labels.
func (l *labeled) is(given []string) bool {
	for i, v := range given {
		if l.values[i] != v {
			return false
		}
	}
	return true
}

func (s *series) of(given []string) *labeled {
	if one := s.newest.Load(); one != nil && one.is(given) {
		return one
	}
	var v values
	copy(v[:], given)
	if all := s.all.Load(); all != nil {
		if one := (*all)[v]; one != nil {
			s.newest.Store(one)
			return one
		}
	}
	return s.add(v)
}

func (s *series) add(v values) *labeled {
	for i, l := range s.metric.Labels {
		if l.Values != nil && !slices.Contains(l.Values, v[i]) {
			v[i] = Other
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	next := map[values]*labeled{}
	if all := s.all.Load(); all != nil {
		if one := (*all)[v]; one != nil {
			return one
		}
		maps.Copy(next, *all)
	}
	var list []attribute.KeyValue
	for i, l := range s.metric.Labels {
		list = append(list, attribute.String(l.Name, v[i]))
	}
	labels := attribute.NewSet(list...)
	set := metric.WithAttributeSet(labels)
	one := &labeled{values: v, labels: labels, set: set, adds: []metric.AddOption{set}, records: []metric.RecordOption{set}}
	if s.metric.Kind == Histogram {
		one.cells.buckets = make([]cell, len(s.metric.Buckets)+1)
	}
	next[v] = one
	s.all.Store(&next)
	return one
}

// series returns the series of a metric for an instrument: the instruments of a Local share
// them.
func (m *Meter) series(of *Metric) *series {
	if m.local == nil {
		return &series{metric: of}
	}
	m.local.mu.Lock()
	defer m.local.mu.Unlock()
	s := m.local.all[of]
	if s == nil {
		s = &series{metric: of}
		m.local.all[of] = s
	}
	return s
}

// Count is a counter, or an up-down counter.
type Count struct {
	*series
	up interface { // nil: a Local counts
		Add(context.Context, int64, ...metric.AddOption)
	}
}

// Counter makes the counter of a row.
func (m *Meter) Counter(row *Metric) *Count {
	if m == nil {
		return nil
	}
	c := &Count{series: m.series(row)}
	// The names are valid, as a test checks, and a provider that fails nevertheless
	// returns an instrument that does nothing.
	switch {
	case m.local != nil:
	case row.Kind == UpDown:
		c.up, _ = m.m.Int64UpDownCounter(row.Name, metric.WithUnit(row.Unit), metric.WithDescription(row.Help))
	default:
		c.up, _ = m.m.Int64Counter(row.Name, metric.WithUnit(row.Unit), metric.WithDescription(row.Help))
	}
	// Every known series exists from the start: a rate over one that begins with its
	// first event would miss that event.
	switch {
	case len(row.Labels) == 0:
		c.Add(context.Background(), 0)
	case len(row.Labels) == 1:
		for _, v := range row.Labels[0].Values {
			c.Add(context.Background(), 0, v)
		}
	}
	return c
}

// Add counts n. labels are the values of the row's labels, in their order.
func (c *Count) Add(ctx context.Context, n int64, labels ...string) {
	switch {
	case c == nil:
	case c.up == nil:
		c.of(labels).n.Add(n)
	default:
		c.up.Add(ctx, n, c.of(labels).adds...)
	}
}

// Spread is a histogram.
type Spread struct {
	*series
	h metric.Float64Histogram // nil: a Local counts
}

// Histogram makes the histogram of a row.
func (m *Meter) Histogram(row *Metric) *Spread {
	if m == nil {
		return nil
	}
	s := &Spread{series: m.series(row)}
	if m.local == nil {
		s.h, _ = m.m.Float64Histogram(row.Name, metric.WithUnit(row.Unit), metric.WithDescription(row.Help), metric.WithExplicitBucketBoundaries(row.Buckets...))
	}
	return s
}

// Record adds one value. labels are as for Count.Add.
func (s *Spread) Record(ctx context.Context, value float64, labels ...string) {
	switch {
	case s == nil:
	case s.h == nil:
		s.of(labels).cells.record(ctx, s.metric.Buckets, value)
	default:
		s.h.Record(ctx, value, s.of(labels).records...)
	}
}

// Reading takes the values of gauges from a function of Observe.
type Reading struct {
	to     metric.Observer
	gauges map[*Metric]*gauge
}

type gauge struct {
	series
	is metric.Float64ObservableGauge
}

// Set sets a gauge. labels are as for Count.Add.
func (r Reading) Set(row *Metric, value float64, labels ...string) {
	g := r.gauges[row]
	r.to.ObserveFloat64(g.is, value, g.of(labels).set)
}

// Observe calls read for the values of some gauges each time metrics are collected,
// until stop is called. read must not wait for anything.
func (m *Meter) Observe(read func(context.Context, Reading), rows ...*Metric) (stop func()) {
	if m == nil {
		return func() {}
	}
	gauges := make(map[*Metric]*gauge, len(rows))
	var all []metric.Observable
	for _, row := range rows {
		g := &gauge{series: series{metric: row}}
		g.is, _ = m.m.Float64ObservableGauge(row.Name, metric.WithUnit(row.Unit), metric.WithDescription(row.Help))
		gauges[row], all = g, append(all, g.is)
	}
	reg, err := m.m.RegisterCallback(func(ctx context.Context, o metric.Observer) error {
		read(ctx, Reading{o, gauges})
		return nil
	}, all...)
	if err != nil {
		return func() {}
	}
	return func() { _ = reg.Unregister() } // nothing can be done about an error
}
