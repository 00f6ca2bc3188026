package torture

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/engine"
	"github.com/parley-a2a/parley/store"
	"github.com/parley-a2a/parley/store/sqlite"
	"github.com/parley-a2a/parley/store/storetest"
)

// serveArg makes the test binary a server: what follows are the address, the
// database, the file of effects and the seed of this life's faults.
const serveArg = "-torture-serve="

// In each life some of the first writes fail, before or after they took effect.
const (
	faults      = 40
	faultWithin = 1200
)

func serveFaulty(arg string) error {
	args := strings.Split(arg, ",")
	if len(args) != 4 {
		return fmt.Errorf("%q is not address,database,effects,seed", arg)
	}
	n, err := strconv.ParseUint(args[3], 10, 64)
	if err != nil {
		return err
	}
	return standIn(args[0], func(ctx context.Context, l net.Listener, log *slog.Logger) error {
		db, err := sqlite.Open(args[1], &sqlite.Options{Logger: log})
		if err != nil {
			return err
		}
		defer db.Close()
		var st store.Store = db
		rng := rand.New(rand.NewPCG(n, 0))
		for range faults {
			st = storetest.Faulty(st, rng.IntN(faultWithin), storetest.Fault(rng.IntN(2)))
		}
		effects, err := os.OpenFile(args[2], os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		defer effects.Close()
		s, err := parley.New(agent.DemoCard(), withSteps(effects), &parley.Options{Store: st, Logger: log, Retries: engine.Retries{Anonymous: true}})
		if err != nil {
			return err
		}
		return s.Serve(ctx, l)
	})
}

// standIn makes this process a server that listens on an address and ends when it is told to.
func standIn(addr string, serve func(context.Context, net.Listener, *slog.Logger) error) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	defer l.Close()
	return serve(ctx, l, slog.New(slog.NewTextHandler(os.Stderr, nil)))
}

// withSteps is the demo agent with one more command: "steps N" takes N steps,
// whose effects are lines of a file, and shows what each of them gave.
func withSteps(effects *os.File) agent.Agent {
	demo := agent.Demo()
	return agent.Func(func(ctx context.Context, t *agent.Turn) error {
		arg, ok := strings.CutPrefix(t.Text(), "steps ")
		n, err := strconv.Atoi(arg)
		if !ok || err != nil {
			return demo.Run(ctx, t)
		}
		if err := t.Status(""); err != nil {
			return err
		}
		w := t.Artifact("steps")
		for i := 1; i <= n; i++ {
			result, err := agent.Step(ctx, t, fmt.Sprintf("step %d", i), func(ctx context.Context) (string, error) {
				result := fmt.Sprintf("%x", rand.Uint64())
				_, err := fmt.Fprintf(effects, "%s %d %s\n", t.Task().ID, i, result)
				return result, err
			})
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintf(w, "%d=%s\n", i, result); err != nil {
				return err
			}
			if err := wait(ctx, time.Duration(rand.IntN(30))*time.Millisecond); err != nil {
				return err
			}
		}
		return nil
	})
}

// wait lets work take its time.
func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
