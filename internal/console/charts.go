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
	all := []chart{
		draw(list, "Calls per second", rate(now.Calls), failing(now.Failed), rate, func(s *Sample) float64 { return s.Calls }, func(s *Sample) float64 { return s.Failed }),
		draw(list, "Latency, 99th percentile", below(now.Slow), half(now.Median), millis, func(s *Sample) float64 { return inMillis(s.Slow) }, func(s *Sample) float64 { return inMillis(s.Median) }),
		draw(list, "Runs of agents", count(now.Running), waits(now.Queue), count, func(s *Sample) float64 { return s.Running }, func(s *Sample) float64 { return s.Queue }),
		draw(list, "Streams open", count(now.Streams), "", count, func(s *Sample) float64 { return s.Streams }),
		draw(list, "Log entries per second", rate(now.Entries), "in "+rate(now.Commits)+" commits", rate, func(s *Sample) float64 { return s.Entries }, func(s *Sample) float64 { return s.Commits }),
		draw(list, "Waiting for the disk, 99th percentile", below(now.Sync), "", millis, func(s *Sample) float64 { return inMillis(s.Sync) }),
		draw(list, "Webhooks pending", count(now.Webhooks), "", count, func(s *Sample) float64 { return s.Webhooks }),
	}
	if now.Bytes > 0 {
		note := ""
		if now.Free > 0 {
			note = size(int(now.Free)) + " free on the disk"
		}
		all = append(all, draw(list, "Database", size(int(now.Bytes)), note, func(v float64) string { return size(int(v)) }, func(s *Sample) float64 { return float64(s.Bytes) }))
	}
	return all
}

// draw draws a line for each value of the samples.
func draw(list []Sample, title, now, note string, say func(float64) string, lines ...func(*Sample) float64) chart {
	c := chart{Title: title, Now: now, Note: note}
	most := 0.0
	for _, value := range lines {
		for i := range list {
			most = max(most, value(&list[i]))
		}
	}
	if most > 0 {
		c.Most = say(most)
	}
	for _, value := range lines {
		var b strings.Builder
		for i := range list {
			x := float64(i) * chartWidth / float64(len(list)-1)
			y := float64(chartHeight - 1)
			if most > 0 {
				y -= value(&list[i]) / most * (chartHeight - 4)
			}
			fmt.Fprintf(&b, "%.1f,%.1f ", x, y)
		}
		c.Lines = append(c.Lines, strings.TrimSpace(b.String()))
	}
	c.Area = fmt.Sprintf("0,%d %s %d,%d", chartHeight, c.Lines[0], chartWidth, chartHeight)
	return c
}

func inMillis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

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
	return "≤ " + millis(inMillis(d))
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
