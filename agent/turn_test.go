package agent

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/a2a"
)

func TestTurnEmits(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(t *Turn) error
		want string
	}{
		{"status", func(t *Turn) error { return t.Status("half way") }, `working "half way"`},
		{"status without words", func(t *Turn) error { return t.Status("") }, `working`},
		{"reply", func(t *Turn) error { return t.Reply("hi") }, `reply "hi"`},
		{"reply with parts", func(t *Turn) error { return t.ReplyParts(a2a.TextPart("a"), a2a.DataPart(a2a.JSON("1"))) }, `reply "a" data(1)`},
		{"complete", func(t *Turn) error { return t.Complete("done") }, `completed "done"`},
		{"complete without words", func(t *Turn) error { return t.Complete("") }, `completed`},
		{"reject", func(t *Turn) error { return t.Reject("no") }, `rejected "no"`},
		{"fail", func(t *Turn) error { return t.Fail("broken") }, `failed "broken"`},
		{"status of parts", func(t *Turn) error {
			return t.StatusMessage(&a2a.Message{Parts: []*a2a.Part{a2a.TextPart("a"), a2a.DataPart(a2a.JSON("1"))}})
		}, `working "a" data(1)`},
		{"end", func(t *Turn) error {
			return t.End(a2a.TaskStateCanceled, &a2a.Message{Parts: []*a2a.Part{a2a.TextPart("elsewhere")}})
		}, `canceled "elsewhere"`},
		{"end without words", func(t *Turn) error { return t.End(a2a.TaskStateCompleted, nil) }, `completed`},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHost("")
			if err := c.do(NewTurn(h)); err != nil {
				t.Fatal(err)
			}
			wantScript(t, h, c.want)
			if m := h.events[0].message; m != nil && m.Role != a2a.RoleAgent {
				t.Errorf("role %v", m.Role)
			}
		})
	}
}

func TestTurnEndsInTerminalStatesOnly(t *testing.T) {
	h := newHost("")
	if err := NewTurn(h).End(a2a.TaskStateInputRequired, nil); err == nil || len(h.events) != 0 {
		t.Errorf("End in a state that goes on = %v, %d events", err, len(h.events))
	}
}

func TestTurnAsks(t *testing.T) {
	h := newHost("")
	h.answers = make(chan *a2a.Message, 1)
	answer := &a2a.Message{MessageID: "m2", Parts: []*a2a.Part{a2a.TextPart("Bonn")}}
	h.answers <- answer
	got, err := NewTurn(h).AskParts(t.Context(), a2a.TextPart("Which city?"), a2a.DataPart(a2a.JSON("[]")))
	if err != nil || got != answer {
		t.Errorf("AskParts = %v, %v", got, err)
	}
	wantScript(t, h, `input_required "Which city?" data([])`)
}

func TestTurnNumbersItsArtifacts(t *testing.T) {
	turn := NewTurn(newHost(""))
	if a, b := turn.Artifact("x").ID(), turn.Artifact("x").ID(); a != "artifact-0" || b != "artifact-1" {
		t.Errorf("ids %q, %q: the n-th artifact's id must be the same on each attempt", a, b)
	}
}

type charge struct {
	ID     string
	Amount int64
}

// On a second attempt a step's result comes from the record.
func TestStepRunsOnce(t *testing.T) {
	h := newHost("")
	runs := 0
	run := func() (charge, error) {
		return Step(t.Context(), NewTurn(h), "charge", func(context.Context) (charge, error) {
			runs++
			return charge{"c-1", math.MaxInt64}, nil
		})
	}
	for range 2 {
		h.step = 0 // from the top
		got, err := run()
		if want := (charge{"c-1", math.MaxInt64}); err != nil || got != want {
			t.Errorf("Step = %+v, %v; want %+v", got, err, want)
		}
	}
	if runs != 1 {
		t.Errorf("ran %d times", runs)
	}
}

func TestStepKeepsJSONAsItIs(t *testing.T) {
	h := newHost("")
	want := `{"z":1,"a":12345678901234567890}`
	for range 2 {
		h.step = 0
		got, err := Step(t.Context(), NewTurn(h), "fetch", func(context.Context) (a2a.JSON, error) {
			return a2a.JSON(want), nil
		})
		if err != nil || string(got) != want {
			t.Errorf("Step = %s, %v", got, err)
		}
	}
}

func TestStepErrorIsNotRecorded(t *testing.T) {
	h := newHost("")
	refused := errors.New("card refused")
	got, err := Step(t.Context(), NewTurn(h), "charge", func(context.Context) (charge, error) {
		return charge{ID: "half"}, refused
	})
	if !errors.Is(err, refused) || got != (charge{}) {
		t.Errorf("Step = %+v, %v", got, err)
	}
	if len(h.steps) != 0 {
		t.Errorf("recorded %v", h.steps)
	}
}

func TestStepResultMustBeJSON(t *testing.T) {
	h := newHost("")
	_, err := Step(t.Context(), NewTurn(h), "dial", func(context.Context) (chan int, error) { return make(chan int), nil })
	if err == nil || !strings.Contains(err.Error(), `step "dial"`) || !strings.Contains(err.Error(), "chan int") {
		t.Errorf("a channel: %v", err)
	}
	_, err = Step(t.Context(), NewTurn(h), "divide", func(context.Context) (float64, error) { return math.NaN(), nil })
	if err == nil || !strings.Contains(err.Error(), `step "divide"`) {
		t.Errorf("NaN: %v", err)
	}
	if len(h.steps) != 0 {
		t.Errorf("recorded %v", h.steps)
	}
}

// A program that changed between two attempts gets an error, not a wrong value.
func TestStepOfAnotherShape(t *testing.T) {
	h := newHost("")
	h.steps = []step{{"charge", a2a.JSON(`{"ID":"c-1"}`)}}
	_, err := Step(t.Context(), NewTurn(h), "charge", func(context.Context) (int, error) { return 0, nil })
	if err == nil || !strings.Contains(err.Error(), `step "charge"`) || !strings.Contains(err.Error(), "int") {
		t.Errorf("another type: %v", err)
	}
	h.step = 0
	if _, err = Step(t.Context(), NewTurn(h), "refund", func(context.Context) (charge, error) { return charge{}, nil }); err == nil {
		t.Error("another name succeeded")
	}
}

func TestPublicErrorKeepsItsCauseInside(t *testing.T) {
	cause := errors.New("dial 10.0.0.7: refused")
	err := Public("the index is down; try again later", cause)
	var public *PublicError
	if !errors.As(err, &public) || public.Reason != "the index is down; try again later" || !errors.Is(err, cause) {
		t.Errorf("%#v", err)
	}
	if got := Public("no", nil).Error(); got != "no" {
		t.Errorf("Error() = %q", got)
	}
}
