package serve

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent/httpagent"
	"github.com/parley-a2a/parley/internal/config"
	"github.com/parley-a2a/parley/internal/database"
	"github.com/parley-a2a/parley/internal/failure"
	"github.com/parley-a2a/parley/internal/plain"
)

// Results of a check.
const (
	ResultOK      = "ok"
	ResultWarning = "warning"
	ResultProblem = "problem" // the server would not start, or its callers would fail
)

// Finding is one result of Examine.
type Finding struct {
	Check  string `json:"check"`
	Result string `json:"result"`
	Detail string `json:"detail"`
	Do     string `json:"do"` // what to do next; "" if nothing
}

// checkTime is how long one check may take.
const checkTime = 10 * time.Second

// Examine reports what a server with these settings would meet on this machine now, and
// changes nothing. A server with these settings may be running.
func Examine(ctx context.Context, env *Env, line Line, command []string) []Finding {
	d := &doctor{env: env, log: slog.New(slog.DiscardHandler), began: time.Now(), patience: checkTime}
	defer d.close()
	found := d.check(ctx, check{"settings", func(_ context.Context, r *report) { d.load(r, line, command) }})
	if d.Settings == nil {
		return found
	}
	for _, c := range []check{
		{"port", d.port},
		{"tls", d.tlsFiles},
		{"callers", d.callers},
		{"data", d.directory},
		{"disk", d.disk},
		{"database", d.database},
		{"keys", d.keys},
		{"agents", d.makeAgents},
		{"upstream", d.upstreams},
		{"issuer", d.issuer},
		{"clock", d.clock},
		{"card", d.cards},
	} {
		found = append(found, d.check(ctx, c)...)
		if d.stuck || ctx.Err() != nil {
			return append(found, Finding{"doctor", ResultProblem, "the checks after " + c.name + " were not made", "look at what is found above, then run it again"})
		}
	}
	return found
}

type check struct {
	name string
	run  func(ctx context.Context, r *report)
}

// doctor is one examination. A check may use the results of earlier checks.
type doctor struct {
	env      *Env
	log      *slog.Logger
	began    time.Time
	patience time.Duration // of a check
	stuck    bool          // a check did not end and may still use the fields below

	*Settings
	described []config.Agent
	at        net.Addr // where the server listens
	local     bool     // only this machine can call
	running   bool     // a parley answers at that address
	db        *database.State
	rev       *revision
}

// check runs one check within its time limit. A check that exceeds it hangs in the disk
// or the system, where nothing can interrupt it: it is abandoned, and the process must
// end soon.
func (d *doctor) check(ctx context.Context, c check) []Finding {
	ctx, cancel := context.WithTimeout(ctx, d.patience)
	defer cancel()
	r := &report{check: c.name}
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.run(ctx, r)
	}()
	most := d.patience + d.patience/2 // longer than the context, which ends most checks
	select {
	case <-done:
		return r.found
	case <-time.After(most):
		d.stuck = true
		return []Finding{{c.name, ResultProblem, "no answer within " + most.String(), "see whether the disk, the network file system or the name server that it asks is stuck"}}
	}
}

func (d *doctor) close() {
	if d.stuck {
		return
	}
	if d.db != nil {
		_ = d.db.Close() // it was only read
	}
	if d.rev != nil {
		d.rev.discard(d.log)
	}
}

// report gathers what a check finds.
type report struct {
	check string
	found []Finding
}

func (r *report) add(result, do, format string, args ...any) {
	r.found = append(r.found, Finding{r.check, result, plain.Line(fmt.Sprintf(format, args...)), plain.Line(do)})
}

func (r *report) ok(format string, args ...any) { r.add(ResultOK, "", format, args...) }

func (r *report) warn(do, format string, args ...any) { r.add(ResultWarning, do, format, args...) }

func (r *report) problem(do, format string, args ...any) { r.add(ResultProblem, do, format, args...) }

// fail reports an error as a problem, with the error's hint or else with do.
func (r *report) fail(err error, do string) {
	var f *failure.Error
	if !errors.As(err, &f) {
		r.problem(do, "%s", strings.ReplaceAll(err.Error(), "\n", "; "))
		return
	}
	if f.Hint != "" {
		do = f.Hint
	}
	r.problem(do, "%s", strings.Join(append([]string{f.Message}, f.Lines...), "; "))
}

func (d *doctor) load(r *report, line Line, command []string) {
	d.env.keep(database.Env, UpstreamEnv)
	s, err := d.env.Load(line, len(command) > 0)
	if err != nil {
		r.fail(err, "parley serve --help has all options")
		return
	}
	agents := s.agents(d.env, command)
	d.env.Stderr.Hide(s.egress.password())
	at, err := net.ResolveTCPAddr("tcp", s.listen)
	if err != nil {
		r.fail(listenFailure("parley serve --listen", s.listen, err), "")
		return
	}
	if at.IP == nil {
		at.IP = net.IPv6unspecified
	}
	d.Settings, d.described, d.at, d.local = s, agents, at, s.local(at)
	from := "options of the command line"
	switch {
	case s.path != "":
		from = plain.Quote(s.path)
	case len(line) == 0 && len(command) == 0:
		from = "no " + DefaultFile + " here and no options: the demo agent"
	}
	if s.File != nil {
		from += ", " + plain.Count(len(agents), "agent")
	}
	r.ok("%s", from)
}

// makeAgents makes the agents as the server would, without starting anything.
func (d *doctor) makeAgents(ctx context.Context, r *report) {
	d.rev = &revision{settings: d.Settings, local: d.local}
	m := &factory{log: d.log, callbacks: map[string]*httpagent.Callbacks{}, own: LocalURL(d.at, d.tls.given())}
	m.secret = a2a.Secret(rand.Text())
	var err error
	if d.rev.public, err = publicURL(d.publicURL); err != nil {
		r.fail(err, "")
	}
	m.public = d.rev.public
	for i := range d.described {
		n, _, err := m.make(&d.described[i], d.lost(&d.described[i]), false)
		if err != nil {
			r.fail(err, "parley serve would not start: correct what describes this agent")
			continue
		}
		d.rev.agents, d.rev.started = append(d.rev.agents, n), append(d.rev.started, n)
		if isCommand(&n.from) {
			r.ok("%s: the command is there", n.label())
		} else {
			r.ok("%s", n.label())
		}
	}
}

// cards reports what the cards lack, and tasks whose agent no longer exists.
func (d *doctor) cards(ctx context.Context, r *report) {
	guard, err := d.auth.guard(nil, d.proxies, d.log)
	if err != nil || len(d.rev.agents) < len(d.described) {
		r.warn("correct what is found above, then run it again", "not looked at, because the server would not start")
		return
	}
	d.rev.guard = guard
	if _, err := d.card.signing(); err != nil {
		r.fail(err, "parley card keygen makes a key")
		return
	}
	for _, name := range d.card.keys {
		r.private(name)
	}
	if err := d.rev.host(); err != nil {
		r.fail(err, "docs/config.md says what a card may have")
		return
	}
	for _, text := range d.rev.findings() {
		if what, ok := strings.CutSuffix(text, ": "+sayUnderCard); ok {
			r.warn(sayUnderCard, "%s", what)
		} else if strings.Contains(text, notKnown) {
			r.warn("correct what is found above under upstream", "%s", text)
		} else {
			r.warn("correct it in parley.yaml (docs/config.md)", "%s", text)
		}
	}
	if d.db != nil && d.db.Tasks != nil {
		left, err := d.rev.orphans(ctx, d.db.Tasks)
		if err != nil {
			r.warn("parley admin export reads all of them and names the damage", "tasks of removed agents could not be looked up: %v", err)
		}
		for _, text := range left {
			r.warn("give the agent its former name, or cancel these tasks", "%s", text)
		}
	}
	if len(r.found) == 0 {
		r.ok("%s complete", plain.Count(len(d.rev.agents), "card"))
	}
}
