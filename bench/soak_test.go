package main

import (
	"context"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A call that is late because the one before was slow has waited since its turn.
func TestPacedWaitsSinceTheTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var closed atomic.Int32
		var delays []time.Duration
		turns := &pace{began: time.Now(), every: 10 * time.Millisecond}
		l := &load{workers: 1, last: 95 * time.Millisecond, open: func(context.Context, int, time.Time) (worker, error) {
			return &paced{&slow{takes: 30 * time.Millisecond, closed: &closed}, turns, &delays}, nil
		}}
		if _, err := l.run(t.Context(), nobody); err != nil {
			t.Fatal(err)
		}
		want := []time.Duration{30, 50, 70} // of calls that were due after 10, 20 and 30 ms
		if len(delays) != len(want) {
			t.Fatalf("%v, want %d calls", delays, len(want))
		}
		for i, d := range delays {
			if d != want[i]*time.Millisecond {
				t.Errorf("call %d took %v since its turn, want %v ms", i, d, int64(want[i]))
			}
		}
	})
}

func soaked(memory, disk func(i int) float64) (all []piece) {
	for i := range soakPieces {
		all = append(all, piece{minutes: float64(i + 1), tasks: 1000, p50: 1, p99: 4, cpu: 100, memory: memory(i), disk: disk(i)})
	}
	return all
}

func TestSoakTellsGrowth(t *testing.T) {
	flat := func(int) float64 { return 200 }
	grows := func(i int) float64 { return 10 + float64(i+1) }
	text := verdictOf(soaked(flat, grows), 10)
	for _, want := range []string{"60000 tasks\n", "200.00 in the middle third,   200.00 in the last: × 1.00", "1049 in the first third,      1049 in all:      × 1.00"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	leaks := verdictOf(soaked(grows, func(i int) float64 { return 10 + grows(i)*grows(i) }), 10)
	for _, want := range []string{"41.00 in the middle third,    61.00 in the last: × 1.49", "× 1.81\n"} {
		if !strings.Contains(leaks, want) {
			t.Errorf("%q is not in\n%s", want, leaks)
		}
	}
}

func TestSoakPicture(t *testing.T) {
	d := xml.NewDecoder(strings.NewReader(string(picture(soaked(func(i int) float64 { return float64(i) }, func(int) float64 { return 0 })))))
	curves := 0
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if e, ok := token.(xml.StartElement); ok && e.Name.Local == "polyline" {
			curves++
			for _, a := range e.Attr {
				if a.Name.Local == "points" && len(strings.Fields(a.Value)) != soakPieces {
					t.Errorf("a curve has the points %q", a.Value)
				}
				if strings.Contains(a.Value, "NaN") || strings.Contains(a.Value, "Inf") {
					t.Errorf("%s is %q", a.Name.Local, a.Value)
				}
			}
		}
	}
	if curves != 3 {
		t.Errorf("%d curves, want 3", curves)
	}
}
