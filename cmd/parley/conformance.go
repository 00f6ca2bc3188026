package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"maps"
	"net/http"
	"os"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/parley-a2a/parley/internal/acts"
	"github.com/parley-a2a/parley/internal/failure"
	"github.com/parley-a2a/parley/internal/flagvalue"
	"github.com/parley-a2a/parley/internal/plain"
)

// conformanceFlags are the options of conformance: those of the run, and what to do with its
// report.
type conformanceFlags struct {
	acts.Options
	corpus        string
	repairs       bool
	format        string
	baseline      string
	writeBaseline string
	list          bool
}

func newConformance(a *app) *cobra.Command {
	f := conformanceFlags{format: "text", Options: acts.Options{
		WebhookListen: "127.0.0.1:0", Level: acts.May, Variables: map[string]string{}, Timeout: 15 * time.Second, Parallel: 4,
	}}
	cmd := a.client(&cobra.Command{
		Use:   "conformance",
		Short: "Check an agent against the protocol",
		Long: `Check whether an agent keeps to A2A 1.0 and 0.3, over every binding that its card
offers: messages, tasks, streams, webhooks, errors, cards, versions. 0.2, 0.1
and the draft of 1.1 are checked over JSON-RPC: if the card does not say that it has 0.2 or
0.1, name it with --a2a-version. Nothing has to be set up but the agent. Many tests ask it for a behavior by the first word of a message
(tck-complete-task, tck-input-required and others): parley conformance agent is an agent
that has them all, and docs/conformance-runner.md lists them. Tests whose behavior an agent does
not have are skipped, and say so.

Each failure shows the clause of the specification, what was sent and what came, without
credentials. --acts runs other tests in the format of the conformance test specification
of A2A (ACTS): a file or a folder; --repairs mends what is wrong in the official ones
(docs/conformance.md).

Exit codes: 0 no MUST test failed; 1 one did, or the agent could not be judged, for
example because it asks for credentials that were not given; 2 wrong
usage, also of a file of tests; 3 the agent cannot be reached; 5 --timeout.`,
		Example: `  parley conformance -a https://agents.example.org
  parley conformance -a 127.0.0.1:7275 --transport jsonrpc --only 'STREAM-*' --level must
  parley conformance -a 127.0.0.1:7275 --format junit > conformance.xml
  parley conformance -a 127.0.0.1:7275 --write-baseline known.txt
  parley conformance -a 127.0.0.1:7275 --baseline known.txt
  parley conformance -a 127.0.0.1:7275 --acts A2A/tests/acts --repairs`,
		Args: cobra.NoArgs,
	}, func(ctx context.Context, _ []string) error {
		return a.conformance(ctx, &f)
	})
	fs := cmd.Flags()
	fs.StringVar(&f.corpus, "acts", "", "`file` or folder of ACTS tests to run in place of the built-in ones")
	fs.BoolVar(&f.repairs, "repairs", false, "with --acts: correct the known mistakes of the official tests (docs/conformance.md)")
	fs.Var(flagvalue.Choice(&f.format, "text", "json", "junit", "html", "acts"), "format", "of the report: text, json, junit, html or acts, the format of the test specification")
	fs.Var(flagvalue.Choice((*string)(&f.Level), "must", "should", "may"), "level", "run tests of this level and stricter ones only")
	fs.StringArrayVar(&f.Only, "only", nil, "run only tests whose id or area matches this `pattern`, such as STREAM-* or list; may be repeated")
	fs.StringArrayVar(&f.Skip, "skip", nil, "leave out tests whose id or area matches this `pattern`; may be repeated")
	fs.StringVar(&f.baseline, "baseline", "", "`file` of known failures, which do not count")
	fs.StringVar(&f.writeBaseline, "write-baseline", "", "write the failures of this run to a `file`, and exit with 0")
	fs.StringVar(&f.Other.Bearer, "other-bearer", "", "bearer `token` of a second caller, to test that one caller cannot see another's tasks")
	fs.StringVar(&f.Other.APIKey, "other-api-key", "", "API `key` of a second caller, for the same tests")
	fs.Var(flagvalue.New("name=value", func(s string) error { return addVar(f.Variables, s) }, func() string { return strings.Join(slices.Sorted(maps.Keys(f.Variables)), ",") }), "var", "`name=value` of a variable of the tests; may be repeated")
	fs.Var(flagvalue.Address(&f.WebhookListen), "webhook-listen", "`address` to receive webhooks at, or just a port of this machine")
	fs.StringVar(&f.WebhookURL, "webhook-url", "", "`URL` under which the agent reaches that address (default: the address itself)")
	fs.Var(flagvalue.Duration(&f.Timeout), "step-timeout", "how long one request, stream or webhook may take")
	fs.IntVar(&f.Parallel, "parallel", f.Parallel, "how many tests run at a time")
	fs.BoolVar(&f.list, "list", false, "print the tests and run none")
	cmd.AddCommand(newConformanceAgent(a))
	return cmd
}

func addVar(vars map[string]string, s string) error {
	name, value, ok := strings.Cut(s, "=")
	if !ok || name == "" {
		return errors.New("must be name=value")
	}
	vars[name] = value
	return nil
}

// loadCorpus reads the tests to run.
func (a *app) loadCorpus(f *conformanceFlags) (*acts.Corpus, error) {
	if f.corpus == "" {
		if f.repairs {
			return nil, failure.Usagef("--repairs mends the tests of --acts, and there are none")
		}
		return acts.Builtin()
	}
	c, err := acts.Load(f.corpus)
	if wrong, ok := errors.AsType[*acts.FileError](err); ok {
		return nil, failure.Usagef("--acts: %s", plain.Line(wrong.Error())).WithHint("it wants a file or a folder of *.acts.yaml, as tests/acts of the A2A repository has them")
	}
	if err == nil && len(c.Notes) > 0 && !f.repairs {
		a.stderr.Note("Note", "%s in the tests, the first at %s:%d: %s", plain.Count(len(c.Notes), "oddity"), c.Notes[0].File, c.Notes[0].Line, plain.Line(c.Notes[0].Message))
	}
	if err == nil && f.repairs {
		c.Repair()
	}
	return c, err
}

func (a *app) conformance(ctx context.Context, f *conformanceFlags) error {
	for _, p := range slices.Concat(f.Only, f.Skip) {
		if _, err := path.Match(p, ""); err != nil {
			return failure.Usagef("%q is not a valid pattern: %v", p, err)
		}
	}
	if f.Parallel < 1 || f.Parallel > 64 {
		return failure.Usagef("--parallel must be from 1 to 64")
	}
	var err error
	if f.Corpus, err = a.loadCorpus(f); err != nil {
		return err
	}
	if f.list {
		return a.say("%s", plain.Text(strings.Join(f.Corpus.Lines(), "\n")))
	}
	known, err := acts.LoadBaseline(f.baseline)
	if err != nil {
		return failure.Usagef("--baseline: %v", err)
	}
	if err := a.wantAgent(ctx); err != nil {
		return err
	}
	a.stderr.Hide(f.Other.Bearer, f.Other.APIKey)
	report, err := a.runTests(ctx, &f.Options)
	if err != nil {
		return err
	}
	over := known.Apply(report)
	if err := a.report(f, report); err != nil {
		return err
	}
	if len(over) > 0 {
		a.stderr.Note("Note", "%s of the baseline %s passed now: take it out: %s", plain.Count(len(over), "line"), map[bool]string{true: "has", false: "have"}[len(over) == 1], strings.Join(over, "; "))
	}
	if slices.ContainsFunc(report.Results, lacksBehavior) {
		a.stderr.Note("Hint", "tests were skipped because the agent lacks behaviors that they ask for by a word such as tck-input-required; docs/conformance-runner.md lists them, and parley conformance agent has them all")
	}
	if len(report.Results) == 0 {
		a.stderr.Note("Hint", "no test was chosen: parley conformance --list prints the tests, from which --only, --skip, --level, --transport and --a2a-version choose")
	}
	if f.writeBaseline != "" {
		if err := os.WriteFile(f.writeBaseline, report.WriteBaseline(), 0o666); err != nil {
			return failure.Usagef("--write-baseline: %v", err)
		}
		return nil
	}
	if len(report.Failed(acts.Must)) > 0 || len(report.Errors()) > 0 || report.Locked() || report.Counts(func(r *acts.Result) bool { return r.Outcome == acts.Pass || r.Known }).Total == 0 {
		a.exit = failure.ExitFailure
	}
	return nil
}

// lacksBehavior reports whether a test was skipped because its preparation failed.
func lacksBehavior(r *acts.Result) bool {
	return r.Outcome == acts.Skip && strings.HasPrefix(r.Reason, "not tested: it needs ")
}

// runTests runs the tests, and shows the progress on standard error.
func (a *app) runTests(ctx context.Context, o *acts.Options) (*acts.Report, error) {
	var done, total atomic.Int64
	stop := a.progress("testing", func(n int64) string { return plain.Count(n, "test") }, func() (int64, int64) { return done.Load(), total.Load() })
	defer stop()
	flags := &a.flags
	o.URL = flags.agentCard
	o.Credentials = acts.Credentials{Bearer: flags.bearer, APIKey: flags.apiKey, User: flags.basic.user, Password: flags.basic.password, Header: flags.svcParams}
	o.Client = &http.Client{Transport: a.httpClient().Transport}
	o.TLS = &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: flags.insecure, RootCAs: a.roots, Certificates: a.certificate}
	o.Progress = func(n, of int) { done.Store(int64(n)); total.Store(int64(of)) }
	for _, b := range flags.transports {
		o.Bindings = append(o.Bindings, map[string]string{"JSONRPC": acts.JSONRPC, "HTTP+JSON": acts.REST, "GRPC": acts.GRPC}[b])
	}
	if flags.version != "" {
		o.Versions = []string{flags.version}
	}
	report, err := acts.Run(ctx, o)
	switch target, ok := errors.AsType[*acts.TargetError](err); {
	case ok && target.Cause != nil && ctx.Err() == nil:
		return nil, a.hintUnreachable(failure.New(failure.CodeUnreachable, target.Message, target.Cause))
	case ok && ctx.Err() == nil:
		return nil, failure.New(failure.CodeCardNotFound, target.Message, err).WithHint("give the base URL of an agent, or the full URL of its card")
	}
	return report, err
}

// report prints a report.
func (a *app) report(f *conformanceFlags, r *acts.Report) error {
	var b bytes.Buffer
	err := r.Write(&b, f.format)
	if err == nil {
		text := b.Bytes()
		switch f.format { // agents' texts must not control a terminal
		case "text":
			text = []byte(plain.Text(b.String()))
		case "json", "acts":
			text = []byte(plain.JSON(b.String()))
		}
		_, err = a.stdout.Write(text)
	}
	return printed(err)
}
