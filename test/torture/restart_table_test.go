package torture

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// sample is what is measured of one start. Figures that were not taken are
// negative.
type sample struct {
	open                    float64 // active tasks before the start
	wal                     float64 // length of the write-ahead log before it, MiB
	banner, ready, answered float64 // seconds since the start
	taken, ended            float64 // seconds until no task was a dead node's, or active
	atReady, after, peak    float64 // MiB
}

// startNames are in the order in which each copy of a database goes through the
// starts.
var startNames = []string{"first start, nothing cached", "after kill -9", "after SIGTERM", "when all have ended"}

func median(samples []sample, of func(sample) float64) float64 {
	values := make([]float64, len(samples))
	for i, s := range samples {
		values[i] = of(s)
	}
	slices.Sort(values)
	return values[len(values)/2]
}

func startTable(samples [][]sample) string {
	var b strings.Builder
	b.WriteString("| start | to take up | log, MiB | banner, s | ready, s | first answer, s | all taken, s | all ended, s | at ready, MiB | 5 s later, MiB | peak, MiB |\n")
	b.WriteString("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	for i, name := range startNames {
		b.WriteString("| " + name)
		for _, c := range []struct {
			digits int
			of     func(sample) float64
		}{
			{0, func(s sample) float64 { return s.open }}, {0, func(s sample) float64 { return s.wal }},
			{2, func(s sample) float64 { return s.banner }}, {2, func(s sample) float64 { return s.ready }},
			{2, func(s sample) float64 { return s.answered }}, {1, func(s sample) float64 { return s.taken }},
			{1, func(s sample) float64 { return s.ended }}, {0, func(s sample) float64 { return s.atReady }},
			{0, func(s sample) float64 { return s.after }}, {0, func(s sample) float64 { return s.peak }},
		} {
			if v := median(samples[i], c.of); v < 0 {
				b.WriteString(" | –")
			} else {
				fmt.Fprintf(&b, " | %.*f", c.digits, v)
			}
		}
		b.WriteString(" |\n")
	}
	return b.String()
}

func delayTable(delays map[string][]time.Duration) string {
	var lines []string
	for what, took := range delays {
		slices.Sort(took)
		lines = append(lines, fmt.Sprintf("| %s | %.1f |\n", what, took[len(took)/2].Seconds()*1000))
	}
	slices.Sort(lines)
	return "| call | median, ms |\n|---|--:|\n" + strings.Join(lines, "")
}
