package acts

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// Options says what to test, and how.
type Options struct {
	URL    string  // of the agent, or of its card
	Corpus *Corpus // what to test

	Level    Level    // the weakest level to test; empty: may
	Only     []string // patterns of ids or suites; empty: all
	Skip     []string
	Bindings []string // in the words of ACTS; empty: all on the card
	Versions []string // such as 1.0; 1 means the newest 1.x of the card

	Credentials Credentials
	Other       Credentials // of a second caller
	Client      *http.Client
	TLS         *tls.Config // for gRPC; nil: the system's
	Variables   map[string]string

	WebhookListen string // where to receive webhooks; empty: a port of 127.0.0.1
	WebhookURL    string // the URL at which the agent reaches it; empty: the address itself

	Timeout  time.Duration         // of one step; zero: 15 s
	Parallel int                   // tests at a time; zero: 4
	Progress func(done, total int) // called when a test has ended, never twice at a time; nil: nobody is told
}

func (o *Options) timeout() time.Duration {
	if o.Timeout == 0 {
		return 15 * time.Second
	}
	return o.Timeout
}

// Outcomes of a test (ACTS §13.3).
const (
	Pass  = "pass"
	Fail  = "fail"
	Skip  = "skip"
	Error = "error" // of this runner or of the corpus
)

// Result is the result of a test on an interface.
type Result struct {
	ID        string        `json:"id"`
	Name      string        `json:"name"`
	Suite     string        `json:"suite"`
	SuiteName string        `json:"-"`
	Level     Level         `json:"level"`
	Ref       string        `json:"clause,omitempty"`
	Binding   string        `json:"binding"`
	Version   string        `json:"version"`
	Outcome   string        `json:"result"`
	Known     bool          `json:"known,omitempty"`  // it is in the baseline
	Reason    string        `json:"reason,omitempty"` // of a skip or an error
	Failure   *Failure      `json:"failure,omitempty"`
	Took      time.Duration `json:"-"`
}

// Key identifies a result in a baseline.
func (r *Result) Key() string { return r.ID + " " + r.Binding + " " + r.Version }

// runner is what all tests of a run share.
type runner struct {
	o      *Options
	target *target
	rec    *receiver
}

// job is a test on an interface.
type job struct {
	doc   *Document
	test  *Test
	iface *iface
	out   *Result
}

// Run tests an agent. It returns when everything that it started has ended. The error is a
// *TargetError if the agent cannot be tested, or the context's.
func Run(ctx context.Context, options *Options) (*Report, error) {
	o := *options
	client := http.Client{}
	if o.Client != nil {
		client = *o.Client
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	o.Client = &client
	began := time.Now()
	start, cancel := context.WithTimeout(ctx, o.timeout())
	t, err := discover(start, &o)
	cancel()
	if err != nil {
		return nil, err
	}
	if err := t.choose(&o); err != nil {
		return nil, err
	}
	defer t.close()
	rec, err := receive(&o)
	if err != nil {
		return nil, err
	}
	defer rec.close()
	r := &runner{&o, t, rec}
	jobs := r.plan()
	for _, i := range t.interfaces {
		if i.version == "1.0" {
			a := *t.cardAnswer
			a.on = i
			a.checkObject("Card", t.card)
		}
	}
	r.play(ctx, jobs)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	for _, j := range jobs {
		if len(j.test.Observe) > 0 && j.out.Outcome == "" {
			j.observe()
		}
	}
	report := &Report{Card: t.cardURL, Agent: plainText(t.card["name"]), AgentVersion: plainText(t.card["version"]), Began: began, Took: time.Since(began), Notes: t.skipped}
	for _, i := range t.interfaces {
		report.Interfaces = append(report.Interfaces, Interface{i.binding, i.version, i.url, errWord(i.bad)})
	}
	hidden := append(o.Credentials.secrets(), o.Other.secrets()...)
	for _, j := range jobs {
		hidden.hideIn(j.out)
		report.Results = append(report.Results, j.out)
	}
	return report, nil
}

// hideIn removes the credentials from everything that a report shows of a result.
func (list secrets) hideIn(x *Result) {
	x.Reason = list.hide(x.Reason)
	f := x.Failure
	if f == nil {
		return
	}
	f.Message, f.Path, f.Expected, f.Actual = list.hide(f.Message), list.hide(f.Path), list.hide(f.Expected), list.hide(f.Actual)
	for _, e := range f.Exchanges {
		for _, lines := range [][]string{e.Request, e.Response} {
			for i := range lines {
				lines[i] = list.hide(lines[i])
			}
		}
	}
}

// hide removes the credentials from a text, including a credential that was cut off.
func (list secrets) hide(s string) string {
	for _, secret := range list {
		pieces := strings.Split(strings.ReplaceAll(s, secret, "REDACTED"), "…")
		for i, p := range pieces[:len(pieces)-1] {
			n := min(len(p), len(secret)-1)
			for n >= minSecret && !strings.HasSuffix(p, secret[:n]) {
				n--
			}
			if n >= minSecret {
				pieces[i] = p[:len(p)-n] + "REDACTED"
			}
		}
		s = strings.Join(pieces, "…")
	}
	return s
}

func errWord(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// plan returns the tests to run on each interface. It includes tests for an interface that do
// not apply to the agent, with the reason.
func (r *runner) plan() (jobs []*job) {
	for _, d := range r.o.Corpus.Documents {
		for _, s := range d.Suites {
			for _, test := range s.Tests {
				if !wanted(r.o, s, test) {
					continue
				}
				for _, i := range r.target.interfaces {
					if !slices.Contains(test.Versions, i.version) || !test.applies(i.binding) {
						continue
					}
					j := &job{doc: d, test: test, iface: i, out: &Result{
						Suite: s.ID, SuiteName: s.Name, ID: test.ID, Name: test.Name, Ref: test.Ref, Level: test.Level, Binding: i.binding, Version: i.version,
					}}
					if why := r.unmet(test); why != "" {
						j.out.Outcome, j.out.Reason = Skip, why
					}
					jobs = append(jobs, j)
				}
			}
		}
	}
	return jobs
}

func wanted(o *Options, s *Suite, t *Test) bool {
	rank := func(l Level) int { return slices.Index(Levels, l) }
	if o.Level != "" && rank(t.Level) > rank(o.Level) {
		return false
	}
	return (len(o.Only) == 0 || matches(o.Only, s.ID, t.ID)) && !matches(o.Skip, s.ID, t.ID)
}

// matches reports whether a pattern matches one of the names.
func matches(patterns []string, names ...string) bool {
	for _, p := range patterns {
		for _, name := range names {
			if ok, err := path.Match(p, name); ok && err == nil {
				return true
			}
		}
	}
	return false
}

// unmet returns why a test does not apply to an agent, or "".
func (r *runner) unmet(test *Test) string {
	t, o := r.target, r.o
	for _, name := range slices.Sorted(maps.Keys(test.Capabilities)) {
		want := test.Capabilities[name]
		has := t.capability(name)
		if name == "authentication" { // the corpora's word; the card has securityRequirements instead
			has = t.authenticated()
		}
		if want == true && has != true {
			return "the card does not have capabilities." + name
		}
		if want == false && has == true {
			return "the card has capabilities." + name
		}
	}
	for _, uri := range test.Extensions {
		if !slices.Contains(t.extensions(false), uri) {
			return "the card does not have the extension " + uri
		}
	}
	for _, id := range test.Skills {
		if !slices.ContainsFunc(asElements(t.card["skills"]), func(v any) bool { s, _ := v.(obj); return s["id"] == id }) {
			return "the card does not have the skill " + id
		}
	}
	for _, need := range test.Needs {
		switch {
		case need == "auth_credentials" && !o.Credentials.given():
			return "needs credentials: --bearer, --api-key or --basic"
		case need == "second_caller" && !o.Other.given():
			return "needs credentials of a second caller: --other-bearer or --other-api-key"
		case need == "closed_input" && t.accepts("application/x-unsupported-12345"):
			return "the card accepts every media type"
		case need == "json_input" && !t.accepts("application/json"):
			return "the card does not accept application/json"
		case need == "required_extension" && len(t.extensions(true)) == 0:
			return "the card has no required extension"
		}
	}
	return ""
}

// play runs the jobs, a few at a time.
func (r *runner) play(ctx context.Context, jobs []*job) {
	var due []*job // the others only observe, or are skipped
	for _, j := range jobs {
		if (len(j.test.Observe) == 0 || len(j.test.Steps) > 0) && j.out.Outcome == "" {
			due = append(due, j)
		}
	}
	var work errgroup.Group
	work.SetLimit(cmp.Or(r.o.Parallel, 4))
	var mu sync.Mutex // protects done, and is held for Progress
	done := 0
	for _, j := range due {
		if ctx.Err() != nil {
			break
		}
		work.Go(func() error {
			r.one(ctx, j)
			mu.Lock()
			defer mu.Unlock()
			done++
			if r.o.Progress != nil {
				r.o.Progress(done, len(due))
			}
			return nil
		})
	}
	_ = work.Wait() // no job returns an error
}

// one runs one test.
func (r *runner) one(ctx context.Context, j *job) {
	began := time.Now()
	p := &player{
		runner: r, job: j,
		captured: map[string]obj{}, answers: map[string]*Answer{}, hooks: map[string]*hook{}, tasks: map[string]bool{},
	}
	var err error
	if j.iface.bad != nil {
		err = p.fail("", &Mismatch{"supportedInterfaces", "an address that can be called", j.iface.bad.Error()})
	} else {
		err = p.play(ctx)
	}
	j.out.Took = time.Since(began)
	failed, isFailure := errors.AsType[*Failure](err)
	skip, isSkip := errors.AsType[*errSkip](err)
	switch {
	case err == nil && len(j.test.Observe) > 0: // its observations decide
	case err == nil:
		j.out.Outcome = Pass
	case isFailure:
		j.out.Outcome, j.out.Failure = Fail, failed
	case isSkip:
		j.out.Outcome, j.out.Reason = Skip, skip.reason
	default:
		j.out.Outcome, j.out.Reason = Error, err.Error()
	}
}

// observe judges a test by what was observed.
func (j *job) observe() {
	seen := j.iface.watch.result(j.test.Observe)
	switch {
	case seen.bad > 0:
		j.out.Outcome, j.out.Failure = Fail, seen.first
		j.out.Failure.Message = seen.first.Mismatch.String()
		if seen.bad > 1 {
			j.out.Failure.Message += fmt.Sprintf(" (%d of %d times)", seen.bad, seen.count)
		}
	case seen.count == 0:
		j.out.Outcome, j.out.Reason = Skip, "nothing of the kind was seen"
	default:
		j.out.Outcome = Pass
	}
}
