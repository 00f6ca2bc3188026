package agent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/a2a"
)

// demo is the agent, or a translation of it, to be judged by the same tests.
type demo struct {
	name  string
	agent Agent
	quick func(*testing.T, func(*testing.T)) // runs a test in which sleeping takes no time
}

// translations are the demo agent in other languages.
var translations = func(*testing.T) []demo { return nil }

// eachDemo runs a test with the demo agent and its translations.
func eachDemo(t *testing.T, test func(t *testing.T, d demo)) {
	for _, d := range append([]demo{{"go", Demo(), synctest.Test}}, translations(t)...) {
		t.Run(d.name, func(t *testing.T) { test(t, d) })
	}
}

// wantDemo is wantScript for a demo: a translation says in a line that the task is
// completed, where the Go function returns nil.
func wantDemo(t *testing.T, h *fakeHost, want ...string) {
	t.Helper()
	if n := len(h.events); n > 0 && h.events[n-1].state == a2a.TaskStateCompleted && h.events[n-1].message == nil {
		h.events = h.events[:n-1]
	}
	wantScript(t, h, want...)
}

func TestDemoCommands(t *testing.T) { eachDemo(t, testDemoCommands) }

func testDemoCommands(t *testing.T, d demo) {
	const (
		streamUsage = `failed "usage: stream N [MS], with N from 1 to 100000 chunks and MS from 0 to 60000 milliseconds between them"`
		sleepUsage  = `failed "usage: sleep SECONDS, a number such as 2 or 0.5"`
	)
	for _, c := range []struct {
		text string
		want []string
	}{
		{"echo hello", []string{`>echo. "hello"`}},
		{"echo  two spaces,\nlines é ", []string{`>echo. " two spaces,\nlines é "`}},
		{"echo ", []string{`>echo. ""`}},
		{"echo", []string{`>echo. ""`}},
		{"", []string{`>echo. ""`}},
		{"hello there", []string{`>echo. "hello there"`}},
		{" echo x", []string{`>echo. " echo x"`}},
		{"echo\nx", []string{`>echo. "echo\nx"`}},
		{"ECHO x", []string{`>echo. "ECHO x"`}},
		{"echoes of x", []string{`>echo. "echoes of x"`}},
		{"message hi there", []string{`reply "hi there"`}},
		{"message", []string{`reply ""`}},

		{"stream 1", []string{`working`, `>stream. "chunk 1\n"`}},
		{"stream 3 0", []string{`working`, `>stream "chunk 1\n"`, `+ "chunk 2\n"`, `+. "chunk 3\n"`}},
		{"stream", []string{streamUsage}},
		{"stream x", []string{streamUsage}},
		{"stream 0", []string{streamUsage}},
		{"stream -1", []string{streamUsage}},
		{"stream 100001", []string{streamUsage}},
		{"stream 99999999999999999999", []string{streamUsage}},
		{"stream 2 -1", []string{streamUsage}},
		{"stream 2 60001", []string{streamUsage}},
		{"stream 2 3 4", []string{streamUsage}},
		{"stream 2 ", []string{streamUsage}},

		{"sleep 2.5", []string{`working "sleeping 2.5 seconds"`, `>sleep. "slept 2.5"`}},
		{"sleep 0", []string{`working "sleeping 0 seconds"`, `>sleep. "slept 0"`}},
		{"sleep .5", []string{`working "sleeping .5 seconds"`, `>sleep. "slept .5"`}},
		{"sleep 86400", []string{`working "sleeping 86400 seconds"`, `>sleep. "slept 86400"`}},
		{"sleep", []string{sleepUsage}},
		{"sleep soon", []string{sleepUsage}},
		{"sleep -1", []string{sleepUsage}},
		{"sleep 1 2", []string{sleepUsage}},
		{"sleep .", []string{sleepUsage}},
		{"sleep NaN", []string{sleepUsage}},
		{"sleep inf", []string{sleepUsage}},
		{"sleep 0x10", []string{sleepUsage}},
		{"sleep 1e3", []string{sleepUsage}},
		{"sleep 99999999999999999999", []string{sleepUsage}},

		{"fail", []string{`failed "failed on request"`}},
		{"fail ", []string{`failed "failed on request"`}},
		{"fail out of  paper", []string{`failed "out of  paper"`}},
		{"reject", []string{`rejected "rejected on request"`}},
		{"reject not mine", []string{`rejected "not mine"`}},

		{"file", []string{fmt.Sprintf(">file. raw(%x image/png pixel.png) url(https://example.com/report.pdf application/pdf report.pdf)", pixel)}},
		{"data", []string{`>data. data({"answer":42,"ok":true,"list":[1,"two",null],"nested":{"pi":3.5,"text":"héllo"}})`}},

		{"ask", []string{`input_required "What is your name?"`, `>answer. "stream 3 0"`}},
		{"ask ", []string{`input_required "What is your name?"`, `>answer. "stream 3 0"`}},
		{"ask Which city?", []string{`input_required "Which city?"`, `>answer. "stream 3 0"`}},
		{"help", []string{fmt.Sprintf(">help. %q", demoHelp())}},
		{"auth", []string{`auth_required "Authorization needed: send any message to this task to give it."`, `>auth. "authorized"`}},
		{"refine shorter", []string{`input_required "Which earlier result do you mean? There is none that I can see."`, `>answer. "stream 3 0"`}},
	} {
		t.Run(c.text, func(t *testing.T) {
			d.quick(t, func(t *testing.T) {
				h := newHost(c.text)
				h.answers = make(chan *a2a.Message, 1)
				h.answers <- &a2a.Message{Parts: []*a2a.Part{a2a.TextPart("stream 3 0")}} // not read as a command
				if err := d.agent.Run(t.Context(), NewTurn(h)); err != nil {
					t.Fatal(err)
				}
				wantDemo(t, h, c.want...)
			})
		})
	}
}

func TestDemoReadsTheFirstTextPart(t *testing.T) { eachDemo(t, testDemoReadsTheFirstTextPart) }

func testDemoReadsTheFirstTextPart(t *testing.T, d demo) {
	h := newHost("")
	h.message.Parts = []*a2a.Part{a2a.DataPart(a2a.JSON("1")), a2a.TextPart("echo one"), a2a.TextPart("echo two")}
	if err := d.agent.Run(t.Context(), NewTurn(h)); err != nil {
		t.Fatal(err)
	}
	wantDemo(t, h, `>echo. "one"`)

	h = newHost("")
	h.message.Parts = []*a2a.Part{a2a.DataPart(a2a.JSON("1"))}
	if err := d.agent.Run(t.Context(), NewTurn(h)); err != nil {
		t.Fatal(err)
	}
	wantDemo(t, h, `>echo. ""`)
}

func TestDemoKeepsTime(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"sleep 2.5":     2500 * time.Millisecond,
		"stream 5 200":  4 * 200 * time.Millisecond, // between the chunks
		"stream 3":      2 * 50 * time.Millisecond,
		"stream 1000 0": 0,
	} {
		t.Run(text, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				if err := Demo().Run(t.Context(), NewTurn(newHost(text))); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(start); took != want {
					t.Errorf("took %v, want %v", took, want)
				}
			})
		})
	}
}

func TestDemoStreamsTenThousandChunks(t *testing.T) { eachDemo(t, testDemoStreamsTenThousandChunks) }

func testDemoStreamsTenThousandChunks(t *testing.T, d demo) {
	h := newHost("stream 10000 0")
	if err := d.agent.Run(t.Context(), NewTurn(h)); err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	for i := range 10000 {
		fmt.Fprintf(&want, "chunk %d\n", i+1)
	}
	if h.text(t) != want.String() {
		t.Error("the chunks differ")
	}
	if n := strings.Count(h.script(), "chunk "); n != 10000 {
		t.Errorf("%d chunks, want 10000", n)
	}
}

// Cancelled while it waits or between two chunks, the agent stops at once,
// says why, and emits nothing more.
func TestDemoStopsAtOnce(t *testing.T) {
	for _, text := range []string{"sleep 3600", "stream 100 60000", "ask", "auth"} {
		for _, cause := range []error{ErrCanceled, ErrDraining} {
			t.Run(text+"/"+cause.Error(), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					ctx, cancel := context.WithCancelCause(t.Context())
					h := newHost(text)
					done := make(chan error)
					go func() { done <- Demo().Run(ctx, NewTurn(h)) }()
					time.Sleep(1500 * time.Millisecond)
					synctest.Wait()
					start, before := time.Now(), h.script()
					cancel(cause)
					if err := <-done; !errors.Is(err, cause) {
						t.Errorf("Run = %v, want %v", err, cause)
					}
					if d := time.Since(start); d != 0 {
						t.Errorf("stopped after %v", d)
					}
					if h.script() != before {
						t.Errorf("emitted after the end: %s", h.script())
					}
				})
			})
		}
	}
	t.Run("stream without pauses", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		h := newHost("stream 100000 0")
		h.emitted = func(ev event) error {
			if len(h.events) == 5 {
				cancel(ErrCanceled)
			}
			return nil
		}
		if err := Demo().Run(ctx, NewTurn(h)); !errors.Is(err, ErrCanceled) {
			t.Errorf("Run = %v, want ErrCanceled", err)
		}
		if n := len(h.events); n != 6 {
			t.Errorf("%d events, want 6", n)
		}
	})
}

func TestDemoRefine(t *testing.T) { eachDemo(t, testDemoRefine) }

func testDemoRefine(t *testing.T, d demo) {
	task := func(id string, state a2a.TaskState, artifacts ...string) *a2a.Task {
		out := &a2a.Task{ID: id, Status: a2a.TaskStatus{State: state}}
		for i, name := range artifacts {
			out.Artifacts = append(out.Artifacts, &a2a.Artifact{ArtifactID: fmt.Sprint(id, i), Name: name})
		}
		return out
	}
	siblings := []*a2a.Task{
		task("running", a2a.TaskStateWorking, "half"),
		task("empty", a2a.TaskStateCompleted),
		task("failed", a2a.TaskStateFailed, "broken"),
		task("latest", a2a.TaskStateCompleted, "sketch", "notes"),
		task("older", a2a.TaskStateCompleted, "draft"),
	}
	const which = `input_required "Which earlier result do you mean? There is none that I can see."`
	for _, c := range []struct {
		name string
		ids  []string
		refs []*a2a.Task
		want []string
	}{
		{"latest of the context", nil, nil, []string{`>sketch. "shorter, please"`}},
		{"first reference", []string{"a", "b"}, []*a2a.Task{
			task("a", a2a.TaskStateCompleted, "poem", "x"), task("b", a2a.TaskStateCompleted, "song"),
		}, []string{`>poem. "shorter, please"`}},
		{"reference without artifact", []string{"a"}, []*a2a.Task{task("a", a2a.TaskStateCompleted)}, []string{which, `>answer. "the poem"`}},
		{"unknown reference", []string{"gone"}, nil, []string{which, `>answer. "the poem"`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHost("refine shorter, please")
			h.message.ReferenceTaskIDs, h.refs, h.siblings = c.ids, c.refs, siblings
			h.answers = make(chan *a2a.Message, 1)
			h.answers <- &a2a.Message{Parts: []*a2a.Part{a2a.TextPart("the poem")}}
			if err := d.agent.Run(t.Context(), NewTurn(h)); err != nil {
				t.Fatal(err)
			}
			wantDemo(t, h, c.want...)
		})
	}
}

func TestDemoCardListsEachCommand(t *testing.T) {
	card := DemoCard()
	var ids []string
	for _, s := range card.Skills {
		ids = append(ids, s.ID)
		if s.Name == "" || s.Description == "" || len(s.Tags) == 0 || len(s.Examples) == 0 {
			t.Errorf("skill %q lacks a name, a description, tags or an example", s.ID)
		}
		for _, text := range s.Examples {
			if word, _, _ := strings.Cut(text, " "); word != s.ID {
				t.Errorf("example %q of skill %q is another command", text, s.ID)
			}
		}
	}
	slices.Sort(ids)
	if want := slices.Sorted(maps.Keys(demoCommands)); !slices.Equal(ids, want) {
		t.Errorf("skills %v, want %v", ids, want)
	}
	if s := card.Capabilities.Streaming; s == nil || !*s {
		t.Error("the card does not say that it streams")
	}
	if card.Capabilities.PushNotifications != nil {
		t.Error("push notifications are the server's to declare")
	}
	if card.Name == "" || card.Description == "" || card.Version == "" || !slices.Contains(card.DefaultInputModes, "text/plain") || len(card.DefaultOutputModes) == 0 {
		t.Errorf("card lacks a required field: %+v", card)
	}
}

// A stream goes on behind the last chunk that a lost attempt has written.
func TestDemoStreamGoesOn(t *testing.T) { eachDemo(t, testDemoStreamGoesOn) }

func testDemoStreamGoesOn(t *testing.T, d demo) {
	for had, want := range map[int][]string{
		0: {`working`, `>stream "chunk 1\n"`, `+ "chunk 2\n"`, `+. "chunk 3\n"`},
		1: {`working`, `+ "chunk 2\n"`, `+. "chunk 3\n"`},
		2: {`working`, `+. "chunk 3\n"`},
		3: {`working`},
	} {
		h := newHost("stream 3 0")
		h.attempt = 2
		if had > 0 {
			parts := []*a2a.Part{a2a.TextPart("chunk 1\n"), a2a.TextPart("chunk 2\n"), a2a.TextPart("chunk 3\n")}[:had]
			h.left = []*a2a.Artifact{{ArtifactID: "artifact-0", Parts: parts}}
			h.open = map[string]bool{"artifact-0": had < 3}
		}
		if err := d.agent.Run(t.Context(), NewTurn(h)); err != nil {
			t.Errorf("%d chunks before: %v", had, err)
		}
		wantDemo(t, h, want...)
	}
}
