package serve

import (
	"context"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	web "github.com/parley-a2a/parley/internal/console"
	"github.com/parley-a2a/parley/internal/telemetry/metrics"
)

// recent keeps the last minutes of a few metrics in memory, for the charts of the
// console.
type recent struct {
	mu   sync.Mutex // protects list
	list []web.Sample

	// owned by run
	before totals
}

const (
	sampleEvery = 5 * time.Second
	maxSamples  = 180 // 15 minutes
)

// totals are metrics that only grow: the change between two readings is what happened.
type totals struct {
	at                              time.Time
	calls, failed, entries, commits float64
	latency, sync                   buckets
}

// buckets is a histogram.
type buckets struct {
	bounds []float64
	counts []uint64
}

// samples returns the samples, oldest first. The slice does not change afterwards.
func (r *recent) samples() []web.Sample {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.list)
}

// sample samples until ctx ends. Without a console it does nothing.
func (p *pages) sample(ctx context.Context) {
	if p == nil || p.h.telemetry.Collect == nil {
		return
	}
	t := time.NewTicker(sampleEvery)
	defer t.Stop()
	for {
		p.recent.take(ctx, p.h)
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
	}
}

func (r *recent) take(ctx context.Context, h *Host) {
	var all metricdata.ResourceMetrics
	if err := h.telemetry.Collect(ctx, &all); err != nil {
		return // the server ends, or a part failed: the next sample counts
	}
	now := totals{at: time.Now()}
	s := web.Sample{Time: now.at.UTC()}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			now.read(&s, &m)
		}
	}
	l := h.location
	s.Bytes = l.Size()
	if free, ok := freeSpace(l.Data); ok && !l.Memory() {
		s.Free = free
	}
	first := r.before.at.IsZero()
	if took := now.at.Sub(r.before.at).Seconds(); !first && took > 0 {
		s.Calls = max(now.calls-r.before.calls, 0) / took
		s.Failed = max(now.failed-r.before.failed, 0) / took
		s.Entries = max(now.entries-r.before.entries, 0) / took
		s.Commits = max(now.commits-r.before.commits, 0) / took
		s.Median, s.Slow = now.latency.since(&r.before.latency, .5), now.latency.since(&r.before.latency, .99)
		s.Sync = now.sync.since(&r.before.sync, .99)
	}
	r.before = now
	if first {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.list = append(r.list, s); len(r.list) > maxSamples {
		r.list = slices.Delete(r.list, 0, len(r.list)-maxSamples)
	}
}

// read adds one metric to the sample.
func (t *totals) read(s *web.Sample, m *metricdata.Metrics) {
	switch m.Name {
	case metrics.OperationDuration.Name:
		for _, p := range points(m) {
			t.calls += float64(p.Count)
			if code, ok := p.Attributes.Value("code"); ok && code.AsString() != "ok" && code.AsString() != "left" {
				t.failed += float64(p.Count)
			}
			t.latency.add(p.Bounds, p.BucketCounts)
		}
	case metrics.CommitEntries.Name:
		for _, p := range points(m) {
			t.entries += p.Sum
			t.commits += float64(p.Count)
		}
	case metrics.CommitSync.Name:
		for _, p := range points(m) {
			t.sync.add(p.Bounds, p.BucketCounts)
		}
	case metrics.StreamsActive.Name:
		s.Streams = total(m)
	case metrics.RunsActive.Name:
		s.Running = total(m)
	case metrics.QueueLength.Name:
		s.Queue = total(m)
	case metrics.WebhookPending.Name:
		s.Webhooks = total(m)
	}
}

func points(m *metricdata.Metrics) []metricdata.HistogramDataPoint[float64] {
	h, _ := m.Data.(metricdata.Histogram[float64])
	return h.DataPoints
}

// total returns the sum of a metric over its labels.
func total(m *metricdata.Metrics) (n float64) {
	switch data := m.Data.(type) {
	case metricdata.Sum[int64]:
		for _, p := range data.DataPoints {
			n += float64(p.Value)
		}
	case metricdata.Gauge[float64]:
		for _, p := range data.DataPoints {
			n += p.Value
		}
	}
	return n
}

func (b *buckets) add(bounds []float64, counts []uint64) {
	if b.counts == nil {
		b.bounds, b.counts = bounds, make([]uint64, len(counts))
	}
	for i := range min(len(counts), len(b.counts)) {
		b.counts[i] += counts[i]
	}
}

// since returns a quantile of the values after an earlier reading: the upper bound of
// its bucket.
func (b *buckets) since(before *buckets, q float64) time.Duration {
	list := slices.Clone(b.counts)
	all := uint64(0)
	for i := range list {
		if i < len(before.counts) {
			list[i] -= min(before.counts[i], list[i])
		}
		all += list[i]
	}
	seen := uint64(0)
	for i, n := range list {
		if seen += n; all > 0 && float64(seen) >= q*float64(all) {
			return time.Duration(b.bounds[min(i, len(b.bounds)-1)] * float64(time.Second))
		}
	}
	return 0
}
