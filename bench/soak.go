package main

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// A soak puts one server under half of the load that it bears, for a long time, and
// looks at what should not change: memory, the bytes of a task, and how long calls take.
const (
	soakSenders   = 48 // connections that send "echo", as in (a)
	soakStreamers = 16 // connections that stream ten chunks, as in (c)
	soakPieces    = 60 // that the time is divided into, each with figures of its own
)

// piece is what one piece of a soak came to.
type piece struct {
	minutes  float64 // since the start, at its end
	tasks    int     // in it
	p50, p99 float64 // from the moment that a call was due, in milliseconds
	cpu      float64 // of the server, in microseconds per task
	memory   float64 // resident, in MB
	disk     float64 // all files of the database, in MB
}

// soak runs one, writes a line for each piece to out, and the picture to path.
func (b *bench) soak(ctx context.Context, out io.Writer, of *contender, d time.Duration, path string) error {
	srv, err := of.start(ctx, b)
	if err != nil {
		return err
	}
	defer srv.stop()
	full := srv.soaking(nil, nil)
	full.warm, full.last = min(5*time.Second, d/20), min(20*time.Second, d/10)
	most, err := full.run(ctx, srv)
	if err != nil {
		return err
	}
	rate := float64(most.calls) / most.elapsed.Seconds()
	fmt.Fprintf(out, "%s, %d processors (%s), commit %s\n%.0f tasks/s at full load; %v at half of it\n\n", today(), processors, machineModel(), of.version, rate, d)
	fmt.Fprintf(out, "%8s %10s %8s %8s %9s %7s %9s\n", "minutes", "tasks", "p50 ms", "p99 ms", "CPU µs", "MB", "disk MB")
	before, began := srv.disk(), time.Now()
	turns := &pace{began: began, every: time.Duration(2 * float64(time.Second) / rate)}
	var all []piece
	for range soakPieces {
		delays := make([][]time.Duration, soakSenders+soakStreamers)
		l := srv.soaking(turns, delays)
		l.last = d / soakPieces
		t, err := l.run(ctx, srv)
		if err != nil {
			return err
		}
		t.delays = slices.Concat(delays...)
		slices.Sort(t.delays)
		p := piece{
			minutes: time.Since(began).Minutes(), tasks: len(t.delays), p50: t.quantile(0.5), p99: t.quantile(0.99),
			cpu: t.used.per(t.done), memory: megabytes(t.used.memory), disk: megabytes(srv.disk()),
		}
		fmt.Fprintf(out, "%8.1f %10d %8.2f %8.2f %9.0f %7.0f %9.0f\n", p.minutes, p.tasks, p.p50, p.p99, p.cpu, p.memory, p.disk)
		all = append(all, p)
	}
	fmt.Fprintf(out, "\n%s", verdictOf(all, megabytes(before)))
	return os.WriteFile(path, picture(all), 0o644)
}

// soaking is the load of a soak: as much as the server bears, or in turns, with the time
// since each turn in the delays of its worker.
func (s *server) soaking(turns *pace, delays [][]time.Duration) *load {
	return &load{workers: soakSenders + soakStreamers, open: func(ctx context.Context, i int, until time.Time) (worker, error) {
		var w worker
		var err error
		if i < soakSenders {
			w, err = newSender(ctx, s.addr, s.of.dialect, i, until)
		} else {
			w, err = newStreamer(ctx, s.addr, s.of.dialect, i, 10, until)
		}
		if err != nil || turns == nil {
			return w, err
		}
		return &paced{w, turns, &delays[i]}, nil
	}}
}

// disk is how many bytes the files of the server's database have.
func (s *server) disk() (n int64) {
	_ = filepath.WalkDir(s.data, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			if info, err := e.Info(); err == nil { // else it has just gone
				n += info.Size()
			}
		}
		return nil
	})
	return n
}

// verdictOf compares the last third of a soak with the second: the first one fills caches.
func verdictOf(all []piece, before float64) string {
	third := len(all) / 3
	middle, last := all[third:2*third], all[len(all)-third:]
	of := func(list []piece, f func(piece) float64) float64 {
		values := make([]float64, 0, len(list))
		for _, p := range list {
			values = append(values, f(p))
		}
		slices.Sort(values)
		return values[len(values)/2]
	}
	tasks, early := 0, 0
	for i, p := range all {
		if tasks += p.tasks; i < third {
			early = tasks
		}
	}
	perTask := func(disk float64, tasks int) float64 { return (disk - before) * (1 << 20) / float64(max(tasks, 1)) }
	text := fmt.Sprintf("%d tasks\n", tasks)
	for _, what := range []struct {
		name string
		of   func(piece) float64
	}{
		{"memory, MB", func(p piece) float64 { return p.memory }},
		{"p99, ms", func(p piece) float64 { return p.p99 }},
		{"CPU, µs/task", func(p piece) float64 { return p.cpu }},
	} {
		m, l := of(middle, what.of), of(last, what.of)
		text += fmt.Sprintf("%-14s %8.2f in the middle third, %8.2f in the last: × %.2f\n", what.name, m, l, l/m)
	}
	first, whole := perTask(all[third-1].disk, early), perTask(all[len(all)-1].disk, tasks)
	return text + fmt.Sprintf("%-14s %8.0f in the first third,  %8.0f in all:      × %.2f\n", "bytes/task", first, whole, whole/first)
}
