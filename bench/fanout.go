package main

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"
)

// fanOut is scenario (f): one task at which something happens all the time, and
// its subscribers. The figure is the server's processor time for one event to
// one reader. The pace is fixed, far below what any server can do: at full speed
// events are written together, and the figure says more about how many of them
// than about what one costs.
type fanOut struct{}

func (fanOut) about() about {
	return about{
		key: "f", title: "One task's events to many subscribers: processor time of the server", unit: "µs/event and reader", lessBetter: true, done: "event and reader",
		bars: []bar{{
			text: "µs beyond bare at 1,000 subscribers", atMost: 3,
			needs: []need{{parleyDisk, fanLabel(1000)}, {"bare", fanLabel(1000)}},
			value: func(m medians) (float64, bool) {
				own, limit := m.of(parleyDisk, fanLabel(1000)), m.of("bare", fanLabel(1000))
				if own == nil || limit == nil {
					return 0, false
				}
				return own.Main - limit.Main, true
			},
		}},
	}
}

// paces are the milliseconds between two events: some 10,000 to 20,000 writes a
// second, but for one subscriber.
var paces = map[int]int{1: 1, 100: 10, 1000: 50}

func (fanOut) cases(p *plan) []setting {
	counts := []int{1, 100, 1000}
	if p.short {
		counts = counts[:2]
	}
	var list []setting
	for _, n := range counts {
		list = append(list, setting{label: fanLabel(n), conns: n, n: n})
	}
	return list
}

func fanLabel(n int) string {
	label := thousands(n) + " subscribers"
	if n == 1 {
		label = "1 subscriber"
	}
	return fmt.Sprintf("%s, an event every %d ms", label, paces[n])
}

func (fanOut) open(ctx context.Context, b *bench, of *contender, k setting) (bout, error) {
	return &fanBout{b: b, of: of, n: k.n}, nil
}

type fanBout struct {
	b  *bench
	of *contender
	n  int
}

func (f *fanBout) close() {}

// reader checks that no chunk is missing and none comes twice.
type reader struct {
	last int          // owned by the subscriber's goroutine
	seen atomic.Int64 // chunks
}

func (r *reader) event(data []byte) error {
	if !has(data, `"artifactUpdate"`) && !has(data, `"artifact-update"`) {
		return nil // the task as it was when the subscriber came
	}
	_, rest, is := bytes.Cut(data, []byte(`"text":"chunk `))
	if !is {
		return fmt.Errorf("an artifact without a chunk: %.400q", data)
	}
	number, _, _ := bytes.Cut(rest, []byte(" "))
	n, err := strconv.Atoi(string(number))
	if err != nil || r.last != 0 && n != r.last+1 {
		return fmt.Errorf("after chunk %d came %.400q", r.last, data)
	}
	r.last = n
	r.seen.Add(1)
	return nil
}

func (f *fanBout) measure(ctx context.Context) (figures, error) {
	srv, err := f.of.start(ctx, f.b)
	if err != nil {
		return figures{}, err
	}
	defer srv.stop()
	if !srv.usage().known {
		return figures{}, lacks("its processor time is not ours to read")
	}
	p := f.b.plan
	until := time.Now().Add(p.limit)
	id, err := begin(ctx, srv, fmt.Sprintf("pulse %d %d", chunkSize, paces[f.n]), until)
	if err != nil {
		return figures{}, srv.blame(err)
	}
	readers := make([]reader, f.n)
	crowd := &audience{srv: srv, task: id, until: until.Add(p.warm + p.time + patience), each: func(i int, data []byte) error { return readers[i].event(data) }}
	defer crowd.leave()
	if err := crowd.join(ctx, f.n); err != nil {
		return figures{}, srv.blame(err)
	}
	count := func() (all, least int64) {
		least = 1 << 62
		for i := range readers {
			n := readers[i].seen.Load()
			all += n
			least = min(least, n)
		}
		return all, least
	}
	if err := pause(ctx, p.warm); err != nil {
		return figures{}, err
	}
	for _, least := count(); least == 0; _, least = count() {
		if err := crowd.whole(); err != nil {
			return figures{}, srv.blame(err)
		}
		if time.Now().After(until) {
			return figures{}, srv.blame(fmt.Errorf("a subscriber got no event in %v", p.limit))
		}
		if err := pause(ctx, 10*time.Millisecond); err != nil {
			return figures{}, err
		}
	}
	used := srv.usage()
	before, _ := count()
	began := time.Now()
	if err := pause(ctx, p.time); err != nil {
		return figures{}, err
	}
	now := srv.usage().since(used)
	after, _ := count()
	seconds := time.Since(began).Seconds()
	if err := crowd.whole(); err != nil {
		return figures{}, srv.blame(err)
	}
	events := int(after - before)
	if events == 0 {
		return figures{}, srv.blame(fmt.Errorf("no subscriber got an event in %.1f s", seconds))
	}
	out := figures{Main: now.per(events), CPU: now.per(events), Memory: megabytes(now.memory), Calls: events}
	if kept := float64(events) / (float64(f.n) * seconds * 1000 / float64(paces[f.n])); kept < 0.9 {
		out.Note = fmt.Sprintf("kept only %.0f %% of the pace", 100*kept)
	}
	return out, nil
}
