//go:build unix

package agent

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/parley-a2a/parley/a2a"
)

// A program of commands in each language does the rest: steps, metadata, files, skills, errors.

// syncBuffer is a log that processes write to while a test reads it.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// eachProbe runs a test with the program in each language, and what it logs.
func eachProbe(t *testing.T, o ExecOptions, test func(t *testing.T, lang string, c *command, log *syncBuffer)) {
	for lang, argv := range map[string][]string{"python": {"python3", "testdata/hosts/probe.py"}, "typescript": {"node", "testdata/hosts/probe.mjs"}} {
		t.Run(lang, func(t *testing.T) {
			if _, ok := interpreted(t, argv[0], argv[1]); !ok {
				t.SkipNow()
			}
			var log syncBuffer
			o.Mode, o.Logger = ExecLines, slog.New(slog.NewTextHandler(&log, nil))
			c := Exec(argv, &o).(*command)
			c.linger = long
			defer c.Close()
			test(t, lang, c, &log)
		})
	}
}

func TestHostsSay(t *testing.T) {
	eachProbe(t, ExecOptions{Processes: 1}, func(t *testing.T, lang string, c *command, log *syncBuffer) {
		errorClass := map[string]string{"python": "ValueError", "typescript": "RangeError"}[lang]
		otherClass := map[string]string{"python": "RuntimeError", "typescript": "Error"}[lang]
		wrongClass := map[string]string{"python": "ValueError", "typescript": "Error"}[lang]
		var wantLog []string
		for _, p := range []struct {
			text string
			want []string
			log  string
		}{
			{"status", []string{`working data({"done":0.5})`, `completed "all " "done"`}, ""},
			{"artifact", []string{`>a "one" data({"two":2})`, `>a "anew"`, `+. ""`, `completed`}, ""},
			{"closed", []string{`>a. "x"`, `failed "the agent failed (` + wrongClass + `)"`}, `is closed: its last chunk was written`},
			{"step", []string{`reply "None" " 17"`}, "line=again"},
			{"undone", []string{`failed "the agent failed (` + otherClass + `)"`}, `has no result: call it again`},
			{"broken", []string{`failed "the agent failed (` + errorClass + `)"`}, "the password is hush"},
			{"failed", []string{`failed "no paper"`}, ""},
			{"rejected", []string{`rejected "not " "mine"`}, ""},
			{"nothing", []string{`completed`}, ""},
			{"reasonless", []string{`failed "the agent failed (TypeError)"`}, "is wanted, not "},
			{"wrong", []string{`failed "the agent failed (TypeError)"`}, "is wanted, not "},
			{"large", []string{`failed "the agent failed (` + errorClass + `)"`}, "write it in smaller chunks"},
			{"ended", []string{`completed "done"`}, ""},
			{"child", []string{`reply "said"`}, ""}, // by a process whose output is its own
		} {
			h := newHost(p.text)
			if err := c.Run(t.Context(), NewTurn(h)); err != nil {
				t.Errorf("%s: %v", p.text, err)
			}
			wantScript(t, h, p.want...)
			switch p.text {
			case "status":
				if got := string(h.events[0].message.Metadata); got != `{"a":1}` {
					t.Errorf("metadata %s of the status", got)
				}
			case "failed":
				if got := string(h.events[0].message.Metadata); got != `{"left":0}` {
					t.Errorf("metadata %s of the failure", got)
				}
			case "artifact":
				if a := h.events[0].artifact; a.Description != "about" || string(a.Metadata) != `{"m":1}` {
					t.Errorf("artifact %q %s", a.Description, a.Metadata)
				}
			case "step":
				if len(h.steps) != 2 || string(h.steps[0].result) != "null" || string(h.steps[1].result) != "17" {
					t.Errorf("recorded %v", h.steps)
				}
				// On the next run both come from the record.
				h.step, h.events, h.ended = 0, nil, false
				h.steps[1].result = a2a.JSON("18")
				if err := c.Run(t.Context(), NewTurn(h)); err != nil {
					t.Error(err)
				}
				wantScript(t, h, `reply "None" " 18"`)
			}
			wantLog = append(wantLog, p.log)
		}
		c.Close() // by then all that it printed is in the log
		for _, want := range wantLog {
			if !strings.Contains(log.String(), want) {
				t.Errorf("the log has no %q:\n%s", want, log)
			}
		}
	})
}

// richHost has all that a program may be told.
type richHost struct{ *fakeHost }

func (richHost) Accepted() []string { return []string{"text/plain"} }
func (richHost) Metadata() a2a.JSON { return a2a.JSON(`{"m":1}`) }
func (richHost) Caller() a2a.Caller {
	return a2a.Caller{Subject: "key:ann", Tenant: "acme", Trace: "00-1-2-01", TraceState: "x=y"}
}

func TestHostsAreTold(t *testing.T) {
	eachProbe(t, ExecOptions{}, func(t *testing.T, _ string, c *command, _ *syncBuffer) {
		h := newHost("told")
		h.attempt = 2
		h.message.Metadata = a2a.JSON(`{"of":"message"}`)
		if err := h.message.CallSkill("sum", a2a.JSON(`{"a":1}`)); err != nil {
			t.Fatal(err)
		}
		h.message.Parts = append(h.message.Parts, a2a.RawPart([]byte{0}, "image/png", "x.png"), a2a.URLPart("https://example.com/", "", ""))
		if err := c.Run(t.Context(), NewTurn(richHost{h})); err != nil {
			t.Fatal(err)
		}
		wantScript(t, h, `reply data({"text":"told","task":"task-1","context":"context-1","attempt":2,"caller":{"subject":"key:ann","tenant":"acme"},"metadata":{"m":1},`+
			`"skill":{"id":"sum","arguments":{"a":1}},"accepted":["text/plain"],"version":"1.0","trace":{"traceparent":"00-1-2-01","tracestate":"x=y"},`+
			`"parts":[["text","",""],["raw","image/png","x.png"],["url","",""]],"of":`+string(h.message.Metadata)+`})`)
	})
}

func TestHostsPassFiles(t *testing.T) {
	eachProbe(t, ExecOptions{Files: true, FilesDir: t.TempDir()}, func(t *testing.T, _ string, c *command, _ *syncBuffer) {
		h := newHost("files")
		h.message.Parts = append(h.message.Parts, a2a.RawPart([]byte("hello"), "text/plain", "a.txt"))
		if err := c.Run(t.Context(), NewTurn(h)); err != nil {
			t.Fatal(err)
		}
		if len(h.events) == 0 || h.events[0].artifact == nil || h.events[0].artifact.Name != "a.txt.out" || string(h.events[0].artifact.Parts[0].Raw) != "HELLO" {
			t.Errorf("emitted %s", h.script())
		}
	})
}

// Two questions at once are a mistake that the program is told of, not one that waits.
func TestHostsAskOneQuestion(t *testing.T) {
	argv, ok := interpreted(t, "node", "testdata/hosts/probe.mjs")
	if !ok {
		t.SkipNow()
	}
	h := newHost("together")
	err := Exec(argv, &ExecOptions{Mode: ExecLines}).Run(t.Context(), NewTurn(h))
	wantReason(t, err, "line 2 of the command's output: a line of type fail must not come while a question is open")
}

// What an agent prints, also before it serves, is in the log at once, whatever becomes of
// its process.
func TestHostsPrintAtOnce(t *testing.T) {
	for _, unbuffered := range []string{"", "1"} { // Python heeds it
		eachProbe(t, ExecOptions{Env: []string{"PYTHONUNBUFFERED=" + unbuffered, "PROBE_SAYS=before all"}}, func(t *testing.T, _ string, c *command, log *syncBuffer) {
			wantReason(t, c.Run(t.Context(), NewTurn(newHost("killed"))), "the command was ended by a signal (killed)")
			if s := log.String(); !strings.Contains(s, "before all") || !strings.Contains(s, "on paper") {
				t.Errorf("the log has no word of it:\n%s", log)
			}
		})
	}
}

// An async function is a Python agent, too, and a cancel reaches it as asyncio does that.
func TestHostsPythonAsync(t *testing.T) {
	argv, ok := interpreted(t, "python3", "testdata/hosts/probe.py")
	if !ok {
		t.SkipNow()
	}
	var log syncBuffer
	c := Exec(append(argv, "async"), &ExecOptions{Mode: ExecLines, Processes: 1, Logger: slog.New(slog.NewTextHandler(&log, nil))}).(*command)
	c.linger = long
	defer c.Close()
	ctx, cancel := context.WithCancelCause(t.Context())
	h := newHost("sleep")
	h.emitted = func(event) error { cancel(ErrCanceled); return nil }
	if err := c.Run(ctx, NewTurn(h)); !errors.Is(err, ErrCanceled) {
		t.Errorf("Run = %v, want ErrCanceled", err)
	}
	if len(c.idle) != 1 {
		t.Error("the process did not end its task")
	}
	h = newHost("broken")
	if err := c.Run(t.Context(), NewTurn(h)); err != nil {
		t.Fatal(err)
	}
	wantScript(t, h, `failed "the agent failed (ValueError)"`)
	h = newHost("hi")
	h.answers = make(chan *a2a.Message, 2)
	h.answers <- &a2a.Message{Parts: []*a2a.Part{a2a.TextPart("Ann")}}
	h.answers <- &a2a.Message{Parts: []*a2a.Part{a2a.TextPart("hush")}}
	if err := c.Run(t.Context(), NewTurn(h)); err != nil {
		t.Fatal(err)
	}
	wantScript(t, h, `input_required "Who?"`, `auth_required "Secret?"`, `reply "Hello Ann, hush"`)
	c.Close()
	if !strings.Contains(log.String(), "tidied up") {
		t.Errorf("the function was not cancelled as asyncio does that: %s", &log)
	}
}
