package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "bench:", err)
		}
		os.Exit(1)
	}
}

// options are the flags.
type options struct {
	short, bar, keep   bool
	rounds             int
	time               time.Duration
	conns, only, with  string
	cases              string
	peers              []string
	dir, stock, asJSON string
	markdown           string
	before             string
	profile            string
	limit              time.Duration
	pin                bool
	soak               time.Duration
	picture            string
}

func parse(argv []string, stderr io.Writer) (*options, error) {
	var o options
	fs := flag.NewFlagSet("bench", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.BoolVar(&o.short, "short", false, "the short form: minutes rather than hours, smaller sizes, figures not to be quoted")
	fs.BoolVar(&o.bar, "bar", false, "only what the bar asks for: its sizes, its connections and whom it compares with; some three quarters of an hour")
	fs.BoolVar(&o.keep, "keep", false, "servers under a load run over all rounds, which are many and short then: what differs by a few percent is seen so")
	fs.IntVar(&o.rounds, "rounds", 0, "interleaved `rounds` (default 5; -keep 100; short form 1)")
	fs.DurationVar(&o.time, "time", 0, "how `long` one measurement is, after two fifths of it to warm up (default 5s; -keep 300ms; -bar 3s, after 2s; short form 300ms)")
	fs.StringVar(&o.conns, "conns", "", "`connections` (default 1,16,64,256; short form 1,16)")
	fs.StringVar(&o.only, "scenarios", "abcdefghijk", "`letters` of the scenarios to measure")
	fs.StringVar(&o.cases, "cases", "", "a `part` of the names of the cases to measure (default all)")
	fs.StringVar(&o.with, "contenders", "", "`names` of the contenders, with commas (default all)")
	fs.Func("peer", "one more contender, that runs already: `name=host:port`, or name=host:port/0.3 if it speaks 0.3; may be repeated", func(s string) error {
		o.peers = append(o.peers, s)
		return nil
	})
	fs.StringVar(&o.before, "before", "", "one more contender: Parley as another `checkout` of this repository has it")
	fs.StringVar(&o.dir, "dir", "", "`directory` for programs and databases, on the disk that is to be measured (default: the system's for temporary files)")
	fs.StringVar(&o.stock, "stock", "", "`directory` that keeps the databases of scenarios g and h, which take minutes to make (default: none is kept)")
	fs.StringVar(&o.asJSON, "json", "", "`file` to write all figures to, as JSON")
	fs.StringVar(&o.markdown, "markdown", "", "measure nothing, but print the figures of a `file` that -json wrote as tables in Markdown")
	fs.StringVar(&o.profile, "profile", "", "`directory` for a processor profile of each run of Parley's server, which costs a little")
	fs.DurationVar(&o.limit, "limit", time.Minute, "how `long` one piece of fixed work, such as a task of 100,000 chunks, may take; beyond it is reported how far it came")
	fs.BoolVar(&o.pin, "pin", true, "servers on the first processor, the generator on the others, where the system can do that")
	fs.DurationVar(&o.soak, "soak", 0, "no scenarios, but Parley (or the first of -contenders) for so `long` under half of the load that it bears")
	fs.StringVar(&o.picture, "picture", "soak.svg", "`file` for the picture of -soak")
	if err := fs.Parse(argv); err != nil {
		return nil, err
	}
	if o.soak > 0 && o.with == "" {
		o.with = parleyDisk
	}
	if fs.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q", fs.Arg(0))
	}
	return &o, nil
}

func (o *options) plan() (*plan, error) {
	p := &plan{short: o.short, bar: o.bar, keep: o.keep, rounds: 5, time: 5 * time.Second, conns: []int{1, 16, 64, 256}, limit: o.limit, stock: o.stock, cases: o.cases}
	if o.keep {
		p.rounds, p.time = 100, 300*time.Millisecond
	}
	if o.short {
		p.rounds, p.time, p.conns = 1, 300*time.Millisecond, []int{1, 16}
	}
	if o.bar {
		if o.short || o.keep || o.conns != "" {
			return nil, errors.New("-bar is a form of its own, with the connections of the bar: no -short, -keep and -conns beside it")
		}
		p.time = 3 * time.Second
	}
	if o.rounds > 0 {
		p.rounds = o.rounds
	}
	if o.time > 0 {
		p.time = o.time
	}
	p.warm = p.time * 2 / 5 // compilers at run time need that
	if o.bar {
		p.warm = max(p.warm, 2*time.Second)
	}
	if o.conns != "" {
		p.conns = nil
		for _, s := range strings.Split(o.conns, ",") {
			n, err := strconv.Atoi(s)
			if err != nil || n < 1 || n > 10_000 {
				return nil, fmt.Errorf("-conns %s: numbers from 1 to 10000, with commas", o.conns)
			}
			p.conns = append(p.conns, n)
		}
	}
	for _, letter := range o.only {
		if !slices.ContainsFunc(scenarios, func(s scenario) bool { return s.about().key == string(letter) }) {
			return nil, fmt.Errorf("-scenarios %s: there is no scenario %c", o.only, letter)
		}
	}
	return p, nil
}

// chosen are the scenarios to measure.
func (o *options) chosen() []scenario {
	return slices.DeleteFunc(slices.Clone(scenarios), func(s scenario) bool { return !strings.Contains(o.only, s.about().key) })
}

func run(ctx context.Context, argv []string, stdout, stderr io.Writer) error {
	o, err := parse(argv, stderr)
	if err != nil {
		return err
	}
	if o.markdown != "" {
		return markdown(stdout, o.markdown)
	}
	b := &bench{say: stderr, full: map[string]*full{}}
	if b.plan, err = o.plan(); err != nil {
		return err
	}
	if _, err := os.Stat("servers"); err != nil {
		return errors.New("the servers are built from their source: run it in the folder bench of the checkout")
	}
	if b.dir, err = os.MkdirTemp(o.dir, "parley-bench"); err != nil {
		return err
	}
	defer os.RemoveAll(b.dir)
	defer b.endPostgres()
	defer b.endCollector()
	if b.dir, err = filepath.Abs(b.dir); err != nil {
		return err
	}
	if err := onDisk(b.dir); err != nil {
		return err
	}
	if b.plan.stock == "" {
		b.plan.stock = filepath.Join(b.dir, "stock")
	} else if b.plan.stock, err = filepath.Abs(b.plan.stock); err != nil {
		return err
	}
	r := &report{
		Date: today(), Machine: thisMachine(), Short: b.plan.short, Rounds: b.plan.rounds, Seconds: b.plan.time.Seconds(),
	}
	if err := b.enter(ctx, o, r); err != nil {
		return err
	}
	if o.pin {
		if r.Pinned, err = apart(); err != nil {
			return err
		}
	}
	if o.soak > 0 {
		if len(b.contenders) == 0 {
			return fmt.Errorf("-soak: %s cannot run here: %s", r.Contenders[0].Name, r.Contenders[0].Missing)
		}
		return b.soak(ctx, stdout, b.contenders[0], o.soak, o.picture)
	}
	r.heading(stdout)
	chosen := o.chosen()
	began := time.Now()
	fmt.Fprintf(stderr, "this takes some %.0f minutes\n", max(1, b.estimate(chosen).Minutes()))
	for _, s := range chosen {
		all, err := b.scenario(ctx, s)
		if err != nil {
			return err
		}
		fmt.Fprintf(stderr, "%.0f minutes have passed\n", time.Since(began).Minutes())
		part := result(s.about(), all)
		part.print(stdout)
		r.Scenarios = append(r.Scenarios, part)
		r.Bar = append(r.Bar, part.bars...)
	}
	r.verdict(stdout)
	if o.asJSON != "" {
		if err := r.write(o.asJSON); err != nil {
			return err
		}
	}
	if n := r.failed(); n > 0 {
		return fmt.Errorf("%d of the measurements failed: see above", n)
	}
	return nil
}

// enter builds the contenders that take part.
func (b *bench) enter(ctx context.Context, o *options, r *report) error {
	candidates := known()
	if o.with != "" {
		names := strings.Split(o.with, ",")
		for _, n := range names {
			if !slices.ContainsFunc(candidates, func(c *contender) bool { return c.name == n }) {
				return fmt.Errorf("-contenders: there is no %s", n)
			}
		}
		candidates = slices.DeleteFunc(candidates, func(c *contender) bool { return !slices.Contains(names, c.name) })
	}
	if o.before != "" {
		candidates = append(candidates, before(o.before))
	}
	if o.profile != "" {
		dir, err := filepath.Abs(o.profile)
		if err != nil {
			return err
		}
		for _, c := range candidates {
			if c.program == "parley" {
				c.args = append(c.args, "--profile", dir)
			}
		}
	}
	for _, p := range o.peers {
		c, err := outsider(p)
		if err != nil {
			return err
		}
		candidates = append(candidates, c)
	}
	if b.plan.bar {
		candidates = slices.DeleteFunc(candidates, func(c *contender) bool {
			return c.program != "" && c.from == "" && c.only == "" && !slices.ContainsFunc(o.chosen(), func(s scenario) bool { return s.about().compares(c.name) })
		})
	}
	candidates = slices.DeleteFunc(candidates, func(c *contender) bool { return c.only != "" && !strings.ContainsAny(o.only, c.only) })
	for _, c := range candidates {
		fmt.Fprintf(b.say, "%s is built\n", c.name)
		w := who{Name: c.name, Note: c.note, Dialect: c.dialect.name}
		err := c.build(ctx, b)
		var why lacks
		if errors.As(err, &why) {
			w.Missing = string(why)
		} else if err != nil {
			return fmt.Errorf("build %s: %w", c.name, err)
		} else {
			b.contenders = append(b.contenders, c)
		}
		w.Version = c.version
		r.Contenders = append(r.Contenders, w)
	}
	return nil
}

// revision is the commit of a checkout, or of this one, and whether it was changed
// since.
func revision(ctx context.Context, checkout string) string {
	out, err := exec.CommandContext(ctx, "git", "-C", cmp.Or(checkout, "."), "describe", "--always", "--dirty", "--tags").Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}
