package console

import (
	"fmt"
	"strings"
	"time"
)

// Sample is a server's metrics at a time, and since the sample before it.
type Sample struct {
	Time             time.Time
	Calls, Failed    float64       // per second
	Entries, Commits float64       // per second
	Median, Slow     time.Duration // of calls; Slow is the 99th percentile
	Sync             time.Duration // of commits, at the 99th percentile
	Streams          float64       // open
	Running, Queue   float64       // runs of agents, and tasks that wait for a run
	Webhooks         float64       // with deliveries to make
	Bytes, Free      int64         // of the database, and on its disk
}

// chart is a small chart of a metric, with its present value in words.
type chart struct {
	Title string
	Now   string
	Note  string   // more about the present value
	Most  string   // the top of the chart
	Area  string   // the points of a polygon
	Lines []string // the points of polylines, the most important first
}

// The chart's size, in its own units.
const (
	chartWidth  = 300
	chartHeight = 60
)

// charts draws two or more samples.
func charts(list []Sample) []chart {
	now := list[len(list)-1]
	pick := func(f func(*Sample) float64) []float64 {
		values := make([]float64, len(list))
		for i := range list {
			values[i] = f(&list[i])
		}
		return values
	}
	ms := func(f func(*Sample) time.Duration) []float64 {
		return pick(func(s *Sample) float64 { return float64(f(s)) / float64(time.Millisecond) })
	}
	all := []chart{
		draw("Calls per second", rate(now.Calls), failing(now.Failed), rate, pick(func(s *Sample) float64 { return s.Calls }), pick(func(s *Sample) float64 { return s.Failed })),
		draw("Latency, 99th percentile", below(now.Slow), half(now.Median), millis, ms(func(s *Sample) time.Duration { return s.Slow }), ms(func(s *Sample) time.Duration { return s.Median })),
		draw("Runs of agents", count(now.Running), waits(now.Queue), count, pick(func(s *Sample) float64 { return s.Running }), pick(func(s *Sample) float64 { return s.Queue })),
		draw("Streams open", count(now.Streams), "", count, pick(func(s *Sample) float64 { return s.Streams })),
		draw("Log entries per second", rate(now.Entries), "in "+rate(now.Commits)+" commits", rate, pick(func(s *Sample) float64 { return s.Entries }), pick(func(s *Sample) float64 { return s.Commits })),
		draw("Waiting for the disk, 99th percentile", below(now.Sync), "", millis, ms(func(s *Sample) time.Duration { return s.Sync })),
		draw("Webhooks pending", count(now.Webhooks), "", count, pick(func(s *Sample) float64 { return s.Webhooks })),
	}
	if now.Bytes > 0 {
		note := ""
		if now.Free > 0 {
			note = size(int(now.Free)) + " free on the disk"
		}
		all = append(all, draw("Database", size(int(now.Bytes)), note, func(v float64) string { return size(int(v)) }, pick(func(s *Sample) float64 { return float64(s.Bytes) })))
	}
	return all
}

func draw(title, now, note string, say func(float64) string, lines ...[]float64) chart {
	c := chart{Title: title, Now: now, Note: note}
	most := 0.0
	for _, line := range lines {
		for _, v := range line {
			most = max(most, v)
		}
	}
	if most > 0 {
		c.Most = say(most)
	}
	for i, line := range lines {
		var b strings.Builder
		for j, v := range line {
			x := float64(j) * chartWidth / float64(len(line)-1)
			y := float64(chartHeight - 1)
			if most > 0 {
				y -= v / most * (chartHeight - 4)
			}
			fmt.Fprintf(&b, "%.1f,%.1f ", x, y)
		}
		c.Lines = append(c.Lines, strings.TrimSpace(b.String()))
		if i == 0 {
			c.Area = fmt.Sprintf("0,%d %s %d,%d", chartHeight, strings.TrimSpace(b.String()), chartWidth, chartHeight)
		}
	}
	return c
}

func count(v float64) string { return fmt.Sprintf("%.0f", v) }

func rate(v float64) string {
	if v < 10 {
		return strings.TrimSuffix(fmt.Sprintf("%.1f", v), ".0")
	}
	return fmt.Sprintf("%.0f", v)
}

func millis(v float64) string {
	switch {
	case v < 10:
		return strings.TrimSuffix(fmt.Sprintf("%.1f", v), ".0") + " ms"
	case v < 1000:
		return fmt.Sprintf("%.0f ms", v)
	}
	return span(time.Duration(v * float64(time.Millisecond)))
}

// below formats a quantile of which only an upper bound is known.
func below(d time.Duration) string {
	if d <= 0 {
		return "–"
	}
	return "≤ " + millis(float64(d)/float64(time.Millisecond))
}

func half(d time.Duration) string {
	if d <= 0 {
		return "no calls"
	}
	return "half of them " + below(d)
}

func failing(v float64) string {
	if v == 0 {
		return "none fails"
	}
	return rate(v) + " fail"
}

func waits(v float64) string {
	if v == 0 {
		return "none waits for capacity"
	}
	return count(v) + " wait for capacity"
}
