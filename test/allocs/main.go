// Command allocs runs the benchmarks of this module, each a fixed number of
// times, and compares what they allocate with the figures in allocs.txt. Unlike
// times, allocations do not depend on the machine.
//
//	go run ./test/allocs           # in the module's root; fails if something grew
//	go run ./test/allocs -update   # writes the figures as they are
//
// It fails where a benchmark allocates more than 10 % more often than it did, or
// more than 10 % more bytes, where one has gone and where one has no figures yet.
// plan.go says how often each is run, and which are not watched.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
)

func main() {
	update := flag.Bool("update", false, "write the figures instead of comparing with them")
	only := flag.String("package", "", "the only `package` to run, such as store/sqlite")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Stdout, *only, *update); err != nil {
		fmt.Fprintln(os.Stderr, "allocs:", err)
		os.Exit(1)
	}
}

// path of the figures, from the module's root.
const path = "test/allocs/allocs.txt"

func run(ctx context.Context, out io.Writer, only string, update bool) error {
	text, err := os.ReadFile(path)
	if err != nil && !(update && errors.Is(err, os.ErrNotExist)) {
		return fmt.Errorf("%w: run it in the root of the module", err)
	}
	was, err := parse(string(text))
	if err != nil {
		return err
	}
	found, err := find(".")
	if err != nil {
		return err
	}
	is := table{}
	for _, p := range plan(found) {
		if only != "" && p.pkg != only {
			continue
		}
		if err := p.measure(ctx, is); err != nil {
			return err
		}
	}
	if only != "" {
		was.keep(only)
	}
	report := compare(was, is)
	report.print(out)
	switch {
	case update && only != "":
		return errors.New("-update is for all packages at once")
	case update:
		return os.WriteFile(path, []byte(is.String()), 0o644)
	case len(report.wrong) > 0:
		if v := goVersion(string(text)); v != runtime.Version() {
			fmt.Fprintf(out, "The figures are of %s, and this is %s.\n", v, runtime.Version())
		}
		return fmt.Errorf("%d benchmarks are not as %s has them; if they should be so: make allocs ALLOCS=-update", len(report.wrong), path)
	}
	fmt.Fprintf(out, "%d benchmarks allocate what they did.\n", len(is))
	return nil
}

// measure runs a package's benchmarks into t.
func (p *pkgPlan) measure(ctx context.Context, t table) error {
	dir, err := os.MkdirTemp("", "allocs")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	exe := filepath.Join(dir, "bench.test")
	if out, err := exec.CommandContext(ctx, "go", "test", "-c", "-ldflags=-s", "-o", exe, "./"+p.pkg).CombinedOutput(); err != nil {
		return fmt.Errorf("build the tests of %s: %w\n%s", p.pkg, err, out)
	}
	for _, r := range p.runs {
		args := []string{
			"-test.run=^$", "-test.benchmem", "-test.timeout=5m",
			"-test.bench=^(" + strings.Join(r.names, "|") + ")$", fmt.Sprintf("-test.benchtime=%dx", r.times),
		}
		if r.skip != "" {
			args = append(args, "-test.skip="+r.skip)
		}
		cmd := exec.CommandContext(ctx, exe, args...)
		cmd.Dir = p.pkg
		// A collection empties pools, and when one comes is chance.
		cmd.Env = append(os.Environ(), "GOMAXPROCS=2", "GOGC=off", "GOMEMLIMIT=512MiB")
		out, err := cmd.CombinedOutput()
		if err != nil {
			return fmt.Errorf("%s: %w\n%s", p.pkg, err, out)
		}
		if err := t.read(p.pkg, string(out)); err != nil {
			return err
		}
	}
	return nil
}
