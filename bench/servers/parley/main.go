// Command parley is Parley with the agent of the bench: the options are those
// that parley serve has for its own machine.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"syscall"
	"time"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/bench/script"
	"github.com/parley-a2a/parley/internal/telemetry/export"
	"github.com/parley-a2a/parley/store/postgres"
	"github.com/parley-a2a/parley/store/sqlite"
)

func main() {
	url := flag.String("store", "", "address of a PostgreSQL database")
	data := flag.String("data", "", "directory of the database; empty keeps tasks in memory")
	cache := flag.Int64("cache", 0, "bytes of finished tasks that are kept in memory: 0 is the default of parley serve, -1 keeps none")
	collector := flag.String("collector", "", "URL of an OTLP collector: metrics are on, and one trace in a hundred is kept")
	profiles := flag.String("profile", "", "directory for a profile of the processor's time, from start to end")
	flag.Parse()
	stop, err := profile(*profiles)
	if err == nil {
		err = errors.Join(serve(*data, *url, *cache, *collector), stop())
	}
	if err != nil {
		log.Fatal(err)
	}
}

// profile writes to a file of its own in dir, if it is not empty, until stop.
func profile(dir string) (stop func() error, err error) {
	if dir == "" {
		return func() error { return nil }, nil
	}
	f, err := os.Create(filepath.Join(dir, fmt.Sprintf("parley-%d.pprof", os.Getpid())))
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() error { pprof.StopCPUProfile(); return f.Close() }, nil
}

func serve(data, url string, cache int64, collector string) error {
	if runtime.GOMAXPROCS(0) < 2 {
		runtime.GOMAXPROCS(2) // as parley serve does
	}
	logger := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	o := &parley.Options{Logger: logger, DrainWait: -1, Hosts: []string{"localhost", "127.0.0.1", "::1"}}
	switch {
	case url != "":
		db, err := postgres.Open(context.Background(), url, &postgres.Options{Logger: logger})
		if err != nil {
			return err
		}
		defer db.Close()
		o.Store, o.DeadAfter = db, 10*time.Second
	case data != "":
		db, err := sqlite.Open(filepath.Join(data, "parley.db"), &sqlite.Options{Logger: logger})
		if err != nil {
			return err
		}
		defer db.Close()
		o.Store, o.Cache = db, cache
	}
	if collector != "" {
		sample := 0.01
		tel, err := export.Start(context.Background(), export.Settings{Endpoint: collector, Sample: &sample, Service: "parley", Scrape: true, Logger: logger})
		if err != nil {
			return err
		}
		defer func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			_ = tel.Shutdown(ctx) // the logger has told
		}()
		o.TracerProvider, o.MeterProvider = tel.TracerProvider, tel.MeterProvider
	}
	card := agent.DemoCard()
	s, err := parley.New(card, agent.OnLost(agent.Func(run), agent.Lost{Runs: 3}), o)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	fmt.Println("READY", l.Addr())
	return s.Serve(ctx, l)
}

func run(ctx context.Context, t *agent.Turn) error {
	c := script.Parse(t.Text())
	switch c.Word {
	case "stream":
		if err := t.Status(""); err != nil {
			return err
		}
		w := t.Artifact("stream")
		for i := 1; i < c.N; i++ {
			if _, err := w.WriteString(script.Chunk(i, c.Size)); err != nil {
				return err
			}
		}
		return w.Last(a2a.TextPart(script.Chunk(c.N, c.Size)))
	case "pulse":
		if err := t.Status(""); err != nil {
			return err
		}
		w := t.Artifact("stream")
		tick := time.NewTicker(c.Every)
		defer tick.Stop()
		for i := 1; ; i++ {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
			if _, err := w.WriteString(script.Chunk(i, c.Size)); err != nil {
				return err
			}
		}
	case "hold":
		if err := t.Status(""); err != nil {
			return err
		}
		<-ctx.Done()
		return context.Cause(ctx)
	case "file":
		for _, p := range t.Message().Parts {
			if p.Kind == a2a.PartRaw {
				return t.Artifact("file").Last(p)
			}
		}
		return t.Fail("there is no file")
	default:
		return t.Artifact("echo").Last(a2a.TextPart(c.Text))
	}
}
