// Command parley is parley serve with the agent of the bench in place of the demo
// agent. It takes the options of parley serve, and --profile.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/pprof"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/bench/script"
	"github.com/parley-a2a/parley/internal/plain"
	"github.com/parley-a2a/parley/internal/serve"
)

func main() {
	flags := serve.NewFlags()
	line := serve.Record(flags)
	profiles := flags.String("profile", "", "directory for a profile of the processor's time, from start to end")
	given := os.Args[1:]
	if !slices.Contains(given, "--data") && !slices.Contains(given, "--store") {
		given = append(given, "--ephemeral")
	}
	if err := flags.Parse(append([]string{"--file", "", "--listen", "127.0.0.1:0", "--drain-timeout", "0", "--log-level", "warn"}, given...)); err != nil {
		log.Fatal(err)
	}
	stop, err := profile(*profiles)
	if err == nil {
		err = errors.Join(host(*line), stop())
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

func host(line serve.Line) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	env := &serve.Env{Lookup: os.LookupEnv, Stderr: plain.NewWriter(os.Stderr), Program: "parley", Version: "bench", Demo: agent.Func(run)}
	h, err := serve.Open(ctx, env, line, nil)
	if err != nil {
		return err
	}
	defer h.Close()
	fmt.Println("READY", strings.TrimPrefix(h.URL(), "http://"))
	return h.Run(ctx)
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
