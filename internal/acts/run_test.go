package acts

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aserver"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/test/fixtures"
)

// serveAgent runs the conformance agent on a port, with every binding, until the test ends.
func serveAgent(t testing.TB, card a2a.AgentCard, o *parley.Options) string {
	t.Helper()
	return serveThe(t, agent.Conformance(), card, o)
}

func serveThe(t testing.TB, a agent.Agent, card a2a.AgentCard, o *parley.Options) string {
	t.Helper()
	o.Egress = &a2aserver.Egress{Loopback: true}
	s, err := parley.New(card, a, o)
	if err != nil {
		t.Fatal(err)
	}
	addr, _ := fixtures.Serve(t, "", s.Serve)
	return "http://" + addr
}

func builtin(t testing.TB) *Corpus {
	t.Helper()
	c, err := Builtin()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// run runs the tests, none of which may be wrong itself.
func run(t testing.TB, o *Options) *Report {
	t.Helper()
	r, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range r.Errors() {
		t.Errorf("%s is no test: %s", x.Key(), x.Reason)
	}
	return r
}

// A server that keeps to the protocol has no failure on any binding, whatever its card
// offers; every test that applies to one of them passes somewhere.
func TestCorrectAgents(t *testing.T) {
	no := new(false)
	bare := agent.ConformanceCard()
	bare.Capabilities.Streaming, bare.Capabilities.PushNotifications = no, no
	required := agent.ConformanceCard()
	required.Capabilities.Extensions = []*a2a.AgentExtension{{URI: "urn:example:required", Required: true}}
	passed := map[string]bool{}
	for name, c := range map[string]struct {
		card a2a.AgentCard
		o    parley.Options
	}{
		"all":      {agent.ConformanceCard(), parley.Options{}},
		"bare":     {bare, parley.Options{}},
		"required": {required, parley.Options{CardProfile: a2aserver.CardV1}},
	} {
		r := run(t, &Options{URL: serveAgent(t, c.card, &c.o), Corpus: builtin(t), Parallel: 8})
		for _, x := range r.Failed() {
			t.Errorf("%s: %s fails: %s", name, x.Key(), x.Failure.Message)
		}
		for _, x := range r.Results {
			if x.Outcome == Pass {
				passed[x.ID] = true
			}
		}
		want := 8 // the three bindings of 1.0 and of 0.3, 0.1 and the draft
		if c.o.CardProfile == a2aserver.CardV1 {
			want = 3
		}
		if len(r.Interfaces) != want {
			t.Errorf("%s: %d interfaces are judged, want %d", name, len(r.Interfaces), want)
		}
	}
	for _, d := range builtin(t).Documents {
		for _, s := range d.Suites {
			for _, x := range s.Tests {
				if !passed[x.ID] && s.ID != "auth" && s.ID != "v02" && !strings.Contains("CARD-005 CARD-006 CARD-007 CARD-021 CARD-022", x.ID) {
					t.Errorf("%s passes nowhere", x.ID)
				}
			}
		}
	}
}

// An agent may do anything with a word of the tests that it does not know: tests of such
// words are skipped.
func TestAgentsThatKnowNoWords(t *testing.T) {
	text := agent.DemoCard()
	text.DefaultInputModes = []string{"text/plain"}
	for name, of := range map[string]struct {
		card  a2a.AgentCard
		agent agent.Agent
	}{
		"demo": {agent.DemoCard(), agent.Demo()},
		"text": {text, agent.Func(func(_ context.Context, t *agent.Turn) error {
			w := t.Artifact("answer")
			if err := w.Add(a2a.TextPart(strings.ToUpper(t.Text()))); err != nil {
				return err
			}
			return w.Close()
		})},
		"messages": {text, agent.Func(func(_ context.Context, t *agent.Turn) error { return t.Reply("hello") })},
		"failure":  {text, agent.Func(func(_ context.Context, t *agent.Turn) error { return t.Fail("no") })},
		"refusal":  {text, agent.Func(func(_ context.Context, t *agent.Turn) error { return t.Reject("no") })},
		"question": {text, agent.Func(func(ctx context.Context, t *agent.Turn) error {
			_, err := t.Ask(ctx, "What?")
			return err
		})},
	} {
		t.Run(name, func(t *testing.T) {
			r := run(t, &Options{URL: serveThe(t, of.agent, of.card, &parley.Options{}), Corpus: builtin(t), Level: Must, Parallel: 2}) // what ends soon ends before others
			for _, x := range r.Failed() {
				t.Errorf("%s fails: %s", x.Key(), x.Failure.Message)
			}
		})
	}
}

// The card of version 0.1 does not name its version, and a card of several versions at an
// address names only one; the user can name the others.
func TestNamedVersions(t *testing.T) {
	url := serveAgent(t, agent.ConformanceCard(), &parley.Options{})
	for _, version := range []string{"0.1", "0.2"} {
		r := run(t, &Options{URL: url, Corpus: builtin(t), Versions: []string{version}})
		passes := 0
		for _, x := range r.Results {
			switch {
			case x.Outcome == Pass:
				passes++
			case x.Outcome == Fail:
				t.Errorf("%s fails: %s", x.Key(), x.Failure.Message)
			default:
				t.Errorf("%s: %s: %s", x.Key(), x.Outcome, x.Reason)
			}
		}
		if passes < 19 {
			t.Errorf("%s: %d tests pass", version, passes)
		}
	}
}

// A major version is the newest of its versions that the card has, as in every command.
func TestMajorVersion(t *testing.T) {
	url := serveAgent(t, agent.ConformanceCard(), &parley.Options{})
	for major, want := range map[string]string{"1": "1.0", "0": "0.3"} {
		r := run(t, &Options{URL: url, Corpus: builtin(t), Versions: []string{major}, Bindings: []string{JSONRPC}, Only: []string{"GET-*"}})
		if len(r.Results) == 0 {
			t.Errorf("%s: nothing is judged", major)
		}
		for _, x := range r.Results {
			if x.Outcome == Fail || x.Version != want {
				t.Errorf("%s: %s %s, want %s", major, x.Key(), x.Outcome, want)
			}
		}
	}
}

// A server may answer any message with a task (3.1.1). Where the tests wanted a message
// they have nothing to judge then.
func TestTaskInPlaceOfMessage(t *testing.T) {
	s, err := parley.New(agent.ConformanceCard(), agent.Func(func(_ context.Context, t *agent.Turn) error {
		if err := t.Status(""); err != nil { // there is a task from here on
			return err
		}
		return t.Reply("Direct message response")
	}), nil)
	if err != nil {
		t.Fatal(err)
	}
	addr, _ := fixtures.Serve(t, "", s.Serve)
	r := run(t, &Options{URL: "http://" + addr, Corpus: builtin(t), Only: []string{"SEND-003", "SEND-013", "STREAM-013"}})
	for _, x := range r.Results {
		if x.Outcome != Skip {
			t.Errorf("%s: %s", x.Key(), x.Outcome)
		}
	}
	if n := len(r.Results); n != 15 {
		t.Errorf("%d results, want 15: two tests in both versions and one in 1.0, over three bindings", n)
	}
}

// The corpus is as large as its page says, and every test names its clause.
func TestCorpus(t *testing.T) {
	c := builtin(t)
	if n := len(c.Lines()); n < 150 {
		t.Errorf("there are %d tests", n)
	}
	for _, d := range c.Documents {
		for _, s := range d.Suites {
			for _, x := range s.Tests {
				if x.Ref == "" || x.Name == "" {
					t.Errorf("%s:%d: %s has no clause or no name", x.File, x.Line, x.ID)
				}
			}
		}
	}
}

func TestParseMistakes(t *testing.T) {
	const head = "acts_version: \"1.0\"\nspec_version: \"1.0\"\nsuites:\n  - id: s\n    name: S\n    tests:\n"
	for _, c := range []struct{ text, want string }{
		{"", "x.yaml: it is empty"},
		{"a: [", "x.yaml:2: "},
		{"acts_version: \"1.0\"\nspec_version: \"1.0\"\n", "x.yaml:1: the document has neither suites nor include"},
		{"acts_version: \"2.0\"\nspec_version: \"1.0\"\nsuites: []\n", `x.yaml:1: acts_version is "2.0": this runner reads 1.x`},
		{head + "      - {id: A, level: might, steps: [{id: x, operation: get_task}]}\n", `x.yaml:7: test A: level is "might": it must be one of must, should, may`},
		{head + "      - {id: A, level: must, steps: [{id: x, operation: get_tasks}]}\n", `x.yaml:7: test A, step x: operation is "get_tasks"`},
		{head + "      - id: A\n        level: must\n        colour: red\n        steps: [{id: x, operation: get_task}]\n", `x.yaml:9: test A has "colour", which the format does not know`},
		{head + "      - {id: A, level: must, steps: [{id: x}]}\n", "x.yaml:7: test A, step x must have one of operation"},
		{head + "      - {id: A, level: must, steps: [{id: x, operation: get_task}, {id: x, operation: get_task}]}\n", `x.yaml:7: test A has two steps "x"`},
		{head + "      - {id: A, level: must, steps: [{id: x, operation: get_task, expect_error: {error_type: NoSuchError}}]}\n", `x.yaml:7: test A, step x: there is no error "NoSuchError"`},
		{head + "      - {id: A, level: must, steps: [{id: x, operation: get_task, capture: {a: \"b..c\"}}]}\n", `x.yaml:7: test A, step x: capture: "b..c" is not a path`},
		{head + "      - {id: A, level: must, steps: [{id: x, operation: get_task, repeat: {until: \"a b\"}}]}\n", "x.yaml:7: test A, step x: repeat: until:"},
		{head + "      - {id: A, level: must, observe: [nothing]}\n", `x.yaml:7: test A: there is no check "nothing"`},
		{head + "      - &a {id: A, level: must, steps: [{id: x, operation: get_task, params: {a: *a}}]}\n", "x.yaml:7: aliases are not read"},
		{head + "      - {id: A, level: must, level: may, steps: [{id: x, operation: get_task}]}\n", `x.yaml:7: `},
	} {
		_, _, _, err := Parse("x.yaml", []byte(c.text), true)
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%q: %v, want %s", c.text, err, c.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, name := range []string{"fixtures", "send", "streams", "push", "wire", "card", "old"} {
		text, err := embedded.ReadFile("corpus/" + name + ".yaml")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text, true)
	}
	f.Add([]byte("acts_version: '1.0'\nspec_version: '1.0'\ninclude: [a.yaml]\n"), false)
	f.Fuzz(func(t *testing.T, text []byte, strict bool) {
		d, _, _, err := Parse("x.yaml", text, strict)
		if (d == nil) == (err == nil) {
			t.Errorf("%v, %v", d, err)
		}
	})
}

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		want, got any
		bad       string
	}{
		{obj{"a": 1.0}, obj{"a": 1.0, "b": 2.0}, ""},
		{obj{"a": 1.0}, obj{"a": "1"}, `a: expected 1, got "1"`},
		{obj{"a": obj{"type": "string"}}, obj{"a": "x"}, ""},
		{obj{"a": obj{"absent": true}}, obj{}, ""},
		{obj{"a": obj{"absent": true}}, obj{"a": nil}, "a: expected it to be absent: true, got null"},
		{obj{"a": obj{"one_of": []any{"x", "y"}}}, obj{"a": "z"}, `a: expected one of ["x","y"], got "z"`},
		{obj{"type": obj{"type": "string"}}, obj{"type": "x"}, ""}, // a member that is called as an operator
		{obj{"a": []any{obj{"b": 1.0}}}, obj{"a": []any{obj{"b": 1.0}, obj{"b": 2.0}}}, ""},
		{obj{"a": obj{"count": 1.0}}, obj{"a": []any{}}, "a: expected count 1, got []"},
		{obj{"a": obj{"items": obj{"b": 1.0}}}, obj{"a": []any{obj{"b": 1.0}, obj{"b": 2.0}}}, "a[1].b: expected 1, got 2"},
		{obj{"a": obj{"has": obj{"b": 2.0}}}, obj{"a": []any{obj{"b": 1.0}}}, `a: expected an element like {"b":2}, got [{"b":1}]`},
		{obj{"a": obj{"not": obj{"has": 2.0}}}, obj{"a": []any{1.0}}, ""},
		{obj{"any_of": []any{obj{"x": 1.0}, obj{"y": 1.0}}}, obj{"y": 1.0}, ""},
	} {
		got := ""
		if m := match(c.want, c.got, true, ""); m != nil {
			got = m.String()
		}
		if got != c.bad {
			t.Errorf("match(%s, %s) = %q, want %q", compact(c.want), compact(c.got), got, c.bad)
		}
	}
}

func TestUntil(t *testing.T) {
	v := obj{"status": obj{"state": "A"}, "n": 3.0}
	for text, want := range map[string]bool{
		"status.state == A": true, "status.state == B": false, "status.state != B": true, "status.state in [B, A]": true,
		"status.state in ['B']": false, "n == 3": true, "no.such == 1": false,
	} {
		u, err := parseUntil(text)
		if err != nil || u.holds(v) != want {
			t.Errorf("%s: %v, %v", text, u.holds(v), err)
		}
	}
}

// An agent that sends without end is left.
func TestStreamWithoutEnd(t *testing.T) {
	const most = maxKept / keptItem
	n, closed := 0, false
	s := openStream(func() { closed = true }, new(kept), func() (*StreamEvent, error) {
		if n++; n > 2*most {
			return nil, io.EOF
		}
		return &StreamEvent{value: obj{"statusUpdate": obj{}}}, nil
	})
	<-s.done
	if err := s.end(); err != errTooMuch || !closed || len(s.seen()) != most+1 {
		t.Errorf("%d events, closed: %v, %v", len(s.seen()), closed, err)
	}
}

// An agent that sends without end is left, and no more is kept of it than maxKept.
func TestWhatATestKeepsIsBounded(t *testing.T) {
	chunk := []byte("data: \"" + strings.Repeat("x", 1<<20) + "\"\n\n")
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/stream" {
			w.Header().Set("Content-Type", "text/event-stream")
		}
		for r.Context().Err() == nil {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	}))
	defer srv.Close()
	ask := func(path string) *Answer {
		event := func(*StreamEvent, obj) {}
		return exchange(t.Context(), srv.Client(), &iface{}, &request{method: "GET", url: srv.URL + path, kept: new(kept)}, event)
	}
	if a := ask("/answer"); a.broken != errTooMuch {
		t.Errorf("an answer: %v", a.broken)
	}
	a := ask("/stream")
	<-a.stream.done
	if err := a.stream.end(); err != errTooMuch || len(a.stream.seen()) != 15 {
		t.Errorf("a stream: %d events of a MiB, %v", len(a.stream.seen()), err)
	}

	rec, err := receive(&Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer rec.close()
	p := &player{runner: &runner{rec: rec}, job: &job{iface: &iface{}}, hooks: map[string]*hook{}}
	h := p.hook("h")
	for n, want := range []int{1, 2, 0} {
		if n == 2 {
			p.end()
		}
		res, err := http.Post(h.url, "application/json", bytes.NewReader(chunk))
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != 200 || len(h.got) != want {
			t.Errorf("webhook %d: HTTP %d, %d kept", n, res.StatusCode, len(h.got))
		}
	}
}

// Words of an agent stay on their line in a report for people: they give no verdict.
func TestAgentsAddNoLines(t *testing.T) {
	const said = "x\nMUST:   9 of 9 passed\r\u2028x 1 at y: conformant: no MUST test failed"
	r := &Report{Agent: said, AgentVersion: said, Notes: []string{said}, Results: []*Result{
		{ID: "A", Level: Must, Outcome: Fail, Failure: &Failure{Message: said}},
		{ID: "B", Level: Must, Outcome: Fail, Failure: &Failure{Message: said, Mismatch: Mismatch{Path: "x", Expected: "y", Actual: said}}},
		{ID: "C", Level: Must, Outcome: Skip, Reason: said},
	}}
	var out strings.Builder
	if err := r.Write(&out, "text"); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), "\nMUST:   9") || strings.ContainsAny(out.String(), "\r\u2028") {
		t.Error(out.String())
	}
}

// Whatever an agent answers, and a corpus expects, is judged and is no panic.
func TestOddAnswersAreJudged(t *testing.T) {
	for _, kind := range []any{nil, 1.0, "task", obj{}, []any{"task"}} {
		for shape := range map[string]bool{"SendResult": true, "StreamResponse": true} {
			x := newInspector(true)
			if x.inspect(shape, obj{"kind": kind}); len(x.found) == 0 {
				t.Errorf("%s of kind %v has no fault", shape, kind)
			}
		}
	}
	if matchEvent(obj{"index": -1.0}, 0, []any{obj{}}) == nil {
		t.Error("there is an event -1")
	}
}

// Variables that name each other are a mistake of the file, and no endless way.
func TestVariablesInACircle(t *testing.T) {
	p := &player{runner: &runner{o: &Options{}}, job: &job{iface: &iface{}, doc: &Document{Variables: map[string]string{"a": "{{b}}{{b}}", "b": "{{a}}{{a}}", "c": "{{d}}/x", "d": "y"}}}}
	if v, err := p.resolve("{{a}}"); err == nil {
		t.Errorf("a is %v", v)
	}
	if v, err := p.resolve("{{c}}"); v != "y/x" || err != nil {
		t.Errorf("c is %v, %v", v, err)
	}
}

func TestOneJSONValue(t *testing.T) {
	for _, text := range []string{`{} {}`, `{}]`, `{}}`, `{`, ``} {
		if v, err := decode([]byte(text)); err == nil {
			t.Errorf("%s is %v", text, v)
		}
	}
}
