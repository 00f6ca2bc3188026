// Command allocs runs the benchmarks of this module, each a fixed number of
// times, and compares what they allocate with the figures in allocs.txt. Unlike
// times, allocations do not depend on the machine.
//
//	go run ./test/allocs           # in the module's root; fails if something grew
//	go run ./test/allocs -update   # writes the figures as they are
//
// It fails where a benchmark allocates more than 10 % more often than it did, or
// more than 10 % more bytes, in each of four runs, where one has gone and where one has
// no figures yet.
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
	"slices"
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
	plans := plan(found)
	if only != "" {
		plans = slices.DeleteFunc(plans, func(p pkgPlan) bool { return p.pkg != only })
	}
	is := table{}
	if err := measure(ctx, plans, was, is); err != nil {
		return err
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

// again is how many times benchmarks are repeated that allocated more than was. How much
// goroutines share depends on timing, so one run may have more by chance: the least of
// several counts. A benchmark that really grew has grown in each.
const again = 3

// measure builds the benchmarks of all packages at once and runs them, one after the
// other, into t.
func measure(ctx context.Context, plans []pkgPlan, was, t table) error {
	if len(plans) == 0 {
		return nil
	}
	dir, err := os.MkdirTemp("", "allocs")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	build := []string{"test", "-c", "-vet=off", "-ldflags=-s", "-o", dir + string(filepath.Separator)}
	for _, p := range plans {
		build = append(build, "./"+p.pkg)
	}
	if out, err := exec.CommandContext(ctx, "go", build...).CombinedOutput(); err != nil {
		return fmt.Errorf("build the tests: %w\n%s", err, out)
	}
	for _, p := range plans {
		exe := filepath.Join(dir, filepath.Base(p.pkg)+".test")
		for _, r := range p.runs {
			for range 1 + again {
				if err := p.run(ctx, exe, r, t); err != nil {
					return err
				}
				if r.names = t.above(was, p.pkg, r.names); len(r.names) == 0 {
					break
				}
			}
		}
	}
	return nil
}

// run runs benchmarks that are run alike, once.
func (p *pkgPlan) run(ctx context.Context, exe string, r benchRun, t table) error {
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
	return t.read(p.pkg, string(out))
}
