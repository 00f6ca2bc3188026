package agent

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/a2a"
)

const (
	wantFile  = `raw(74636b text/plain output.txt)`
	wantOther = `completed "Done"`
)

// conformanceWants is the table that kits rely on, written down a second time.
var conformanceWants = map[string][]string{
	"tck-complete-task":           {`completed "Hello from TCK"`},
	"tck-artifact-text":           {`>. "Generated text content"`},
	"tck-artifact-file":           {`>. ` + wantFile},
	"tck-artifact-file-url":       {`>. url(https://example.com/output.txt text/plain output.txt)`},
	"tck-artifact-data":           {`>. data({"key":"value","count":42})`},
	"tck-message-response":        {`reply "Direct message response"`},
	"tck-stream-001":              {`working`, `>. "Stream hello from TCK"`},
	"tck-stream-002":              nil,
	"tck-stream-003":              {`working`, `>. "Stream task lifecycle"`},
	"tck-stream-ordering-001":     {`working`, `>. "Ordered output"`},
	"tck-stream-artifact-text":    {`working`, `>. "Streamed text content"`},
	"tck-stream-artifact-file":    {`working`, `>. ` + wantFile},
	"tck-stream-artifact-chunked": {`working`, `> "chunk-1 "`, `+. "chunk-2"`},
	"tck-reject-task":             {`rejected`},
	"tck-long-running":            {`working`, `>. "Long-running work is done"`},
	"tck-stream-basic":            {`working`, `>. "Streamed content"`},
	"tck-stream-chunked":          {`working`, `> "chunk-1 "`, `+ "chunk-2 "`, `+. "chunk-3"`},
	"test-resubscribe-message-id": {`working`},
}

// wantConformance runs the agent for a message; where nothing ends the task,
// returning nil does.
func wantConformance(t *testing.T, messageID, text string, want []string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := newHost(text)
		h.message.MessageID = messageID
		if err := Conformance().Run(t.Context(), NewTurn(h)); err != nil {
			t.Fatal(err)
		}
		if got := h.script(); got != strings.Join(append(slices.Clone(want), ""), "\n") {
			t.Errorf("emitted\n%swant\n%s", got, strings.Join(want, "\n"))
		}
	})
}

func TestConformanceFollowsItsTable(t *testing.T) {
	for prefix, want := range conformanceWants {
		t.Run(prefix, func(t *testing.T) {
			wantConformance(t, prefix, "hello", want)
			wantConformance(t, prefix+"-3f2a", "hello", want)
			wantConformance(t, "3f2a", prefix+"-1 and more words", want)
		})
	}
	if n, want := len(conformanceCases), len(conformanceWants)+5; n != want { // those that wait or fail have tests of their own
		t.Errorf("%d rows, want %d", n, want)
	}
}

func TestConformanceReadsTheIDFirst(t *testing.T) {
	for _, c := range []struct {
		name, id, text string
		want           []string
	}{
		{"id before text", "tck-reject-task", "tck-artifact-text", conformanceWants["tck-reject-task"]},
		{"id without a prefix", "x-tck-reject-task", "tck-artifact-text", conformanceWants["tck-artifact-text"]},
		{"a prefix cut short", "tck-reject", "tck-artifact", []string{wantOther}},
		{"not the first word", "1", "please tck-reject-task", []string{wantOther}},
		{"space before the word", "1", " \n tck-reject-task", conformanceWants["tck-reject-task"]},
		{"upper case is another word", "TCK-REJECT-TASK", "", []string{wantOther}},
		{"no text", "1", "", []string{wantOther}},
		{"the longest prefix", "tck-artifact-file-url-7", "", conformanceWants["tck-artifact-file-url"]},
		{"the shorter prefix", "tck-artifact-file-7", "", conformanceWants["tck-artifact-file"]},
	} {
		t.Run(c.name, func(t *testing.T) { wantConformance(t, c.id, c.text, c.want) })
	}
	t.Run("no text part", func(t *testing.T) {
		h := newHost("")
		h.message.Parts = []*a2a.Part{a2a.DataPart(a2a.JSON(`"tck-reject-task"`))}
		if err := Conformance().Run(t.Context(), NewTurn(h)); err != nil {
			t.Fatal(err)
		}
		wantScript(t, h, wantOther)
	})
}

// A task that waits for input is told what to do by the next message, any
// number of times.
func TestConformanceFollowUpsByTheirOwnPrefix(t *testing.T) {
	const asks = `input_required "What should happen to this task?"`
	h := newHost("")
	h.message.MessageID = "tck-input-required-1"
	h.answers = make(chan *a2a.Message, 3)
	for _, id := range []string{"tck-input-required-2", "tck-input-required-2", "tck-stream-artifact-chunked"} {
		h.answers <- &a2a.Message{MessageID: id, Parts: []*a2a.Part{a2a.TextPart("tck-reject-task")}}
	}
	if err := Conformance().Run(t.Context(), NewTurn(h)); err != nil {
		t.Fatal(err)
	}
	wantScript(t, h, asks, asks, asks, `working`, `> "chunk-1 "`, `+. "chunk-2"`)
}

// tck-multi-turn asks until it hears done, in every version, and gives way to another case.
func TestConformanceAsksUntilDone(t *testing.T) {
	const asks = `input_required "What else? Say done to end this."`
	for _, c := range []struct {
		born    string
		answers []string
		want    []string
	}{
		{"1.0", []string{"tck-multi-turn more", "here is more", "done"}, []string{asks, asks, asks, wantOther}},
		{"0.3", []string{"here is more", "done now"}, []string{asks, asks, wantOther}},
		{"1.0", []string{"tck-reject-task"}, []string{asks, `rejected`}},
	} {
		h := newHost("tck-multi-turn begin")
		h.born = c.born
		h.answers = make(chan *a2a.Message, len(c.answers))
		for _, text := range c.answers {
			h.answers <- &a2a.Message{Parts: []*a2a.Part{a2a.TextPart(text)}}
		}
		if err := Conformance().Run(t.Context(), NewTurn(h)); err != nil {
			t.Fatal(err)
		}
		wantScript(t, h, c.want...)
	}
}

func TestConformanceFails(t *testing.T) {
	err := Conformance().Run(t.Context(), NewTurn(newHost("tck-task-failure")))
	var public *PublicError
	if !errors.As(err, &public) || public.Reason == "" {
		t.Errorf("Run = %v, want a reason for the caller", err)
	}
}

func TestConformanceWaitsForResubscribers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost("")
		h.message.MessageID = "test-resubscribe-message-id-1"
		start := time.Now()
		if err := Conformance().Run(t.Context(), NewTurn(h)); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took != 5*time.Second {
			t.Errorf("took %v, want 5s", took)
		}
	})
}

func TestConformanceStopsAtOnce(t *testing.T) {
	for _, id := range []string{"tck-input-required", "tck-multi-turn", "tck-cancel", "tck-auth-required", "tck-long-running", "test-resubscribe-message-id"} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			h := newHost("")
			h.message.MessageID = id
			done := make(chan error)
			go func() { done <- Conformance().Run(ctx, NewTurn(h)) }()
			synctest.Wait()
			start := time.Now()
			cancel(ErrCanceled)
			if err := <-done; !errors.Is(err, ErrCanceled) || time.Since(start) != 0 {
				t.Errorf("%s: Run = %v after %v", id, err, time.Since(start))
			}
		})
	}
}

// What a skill gives as an example is a row of the table.
func TestConformanceCardNamesWhatThereIs(t *testing.T) {
	card := ConformanceCard()
	for _, s := range card.Skills {
		for _, text := range s.Examples {
			if c := conformanceRow(text); c == nil || c.prefix != text {
				t.Errorf("example %q of skill %q is no row", text, s.ID)
			}
		}
	}
	if s := card.Capabilities.Streaming; s == nil || !*s {
		t.Error("the card does not say that it streams")
	}
}

func TestConformanceElseBeforeVersion1(t *testing.T) {
	for _, born := range []string{"0.1", "0.3"} {
		synctest.Test(t, func(t *testing.T) {
			h := newHost("hello")
			h.born = born
			h.answers = make(chan *a2a.Message, 1)
			h.answers <- &a2a.Message{MessageID: "tck-complete-task", Role: a2a.RoleUser, Parts: []*a2a.Part{a2a.TextPart("and now")}}
			start := time.Now()
			if err := Conformance().Run(t.Context(), NewTurn(h)); err != nil {
				t.Fatal(err)
			}
			wantScript(t, h, `working`, `input_required "What else?"`, `completed "Hello from TCK"`)
			if waited := time.Since(start); waited != 2*time.Second {
				t.Errorf("asked after %s", waited)
			}
		})
	}
}
