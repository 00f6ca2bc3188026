package mcp

import (
	"strings"
	"testing"

	"github.com/parley-a2a/parley/a2a"
)

// each runs a test with servers of both eras over both transports.
func each(t *testing.T, test func(t *testing.T, w *world)) {
	for _, kind := range []string{"new", "old"} {
		t.Run("command, "+kind, func(t *testing.T) {
			s, _ := command(t, kind)
			test(t, newWorld(t, s, nil, nil))
		})
		t.Run("HTTP, "+kind, func(t *testing.T) {
			s, _ := overHTTP(t, kind)
			test(t, newWorld(t, s, nil, nil))
		})
	}
}

func TestToolIsCalledAndItsResultIsAnArtifact(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		want(t, w.send(tool("greet", `{"name":"Ann"}`)), a2a.TaskStateCompleted, `result["hello Ann"]`)
		want(t, w.send(a2a.TextPart(`{"tool":"greet","arguments":{"name":"Bob"}}`)), a2a.TaskStateCompleted, `result["hello Bob"]`)
		want(t, w.send(tool("add", `{"A":1,"B":2.5}`)), a2a.TaskStateCompleted, `result[{"sum":3.5}]`)
		want(t, w.send(tool("fail", `{}`)), a2a.TaskStateFailed, "out of paper")
		want(t, w.send(tool("model", `{}`)), a2a.TaskStateFailed, "")
		want(t, w.send(tool("steps", `{}`)), a2a.TaskStateCompleted, `result["done"]`)
		eventually(t, "the log message", func() bool { return strings.Contains(w.log.String(), "something odd") })
	})
}

func TestEveryKindOfContent(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		want(t, w.send(tool("many", `{}`)), a2a.TaskStateCompleted,
			`"words", raw image/png  3, raw audio/wav  3, "# notes", raw application/x x.bin 2, url https://example.com/a.pdf application/pdf a.pdf, "from inside", "(the tool refers to nowhere`)
	})
}

func TestMessagesThatNameNoToolAreRejectedWithAList(t *testing.T) {
	s, _ := overHTTP(t, "new")
	w := newWorld(t, s, nil, nil)
	want(t, w.send(a2a.TextPart("hello")), a2a.TaskStateRejected, "which tool?", `greet(name)`, "add(A, B)")
	want(t, w.send(tool("gret", `{}`)), a2a.TaskStateRejected, `there is no tool \"gret\"`, `greet(name)`)
	want(t, w.send(tool("greet", `[1]`)), a2a.TaskStateRejected, "must be an object")
	want(t, w.send(tool("greet", `{}`), tool("add", `{}`)), a2a.TaskStateRejected, "names 2")
	want(t, w.send(tool("greet", `{"nam":1}`)), a2a.TaskStateFailed, "nam")
}

func TestToolNamedByMetadata(t *testing.T) {
	s, _ := overHTTP(t, "new")
	w := newWorld(t, s, nil, nil)
	req := message(a2a.TextPart("Cid"))
	req.Message.Metadata = a2a.JSON(`{"tool":"greet"}`)
	resp, err := w.SendMessage(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	want(t, resp.Task, a2a.TaskStateCompleted, "hello Cid")
	req = message(a2a.DataPart(a2a.JSON(`{"A":2,"B":2}`)))
	req.Metadata = a2a.JSON(`{"tool":"add"}`)
	if resp, err = w.SendMessage(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	want(t, resp.Task, a2a.TaskStateCompleted, `{"sum":4}`)
}

// A skill by id is a tool, with its arguments as they are and no model in between; the
// card has the schemas that calls are checked against.
func TestSkillIsATool(t *testing.T) {
	s, _ := overHTTP(t, "new")
	w := newWorld(t, s, nil, nil)
	call := func(id, arguments string) *a2a.Task {
		t.Helper()
		req := message(a2a.TextPart("please"))
		if err := req.Message.CallSkill(id, a2a.JSON(arguments)); err != nil {
			t.Fatal(err)
		}
		resp, err := w.SendMessage(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		return resp.Task
	}
	want(t, call("greet", `{"name":"Eve"}`), a2a.TaskStateCompleted, "hello Eve")
	want(t, call("add", `{"A":2,"B":3}`), a2a.TaskStateCompleted, `{"sum":5}`)
	want(t, call("nothing", `{}`), a2a.TaskStateRejected, "there is no tool")
	card, err := w.agent.Card(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	schemas, ok := card.CallableSkills()
	if !ok || !strings.Contains(string(schemas["greet"]), `"name"`) {
		t.Errorf("schemas %v", schemas)
	}
}

func TestOneToolTakesPlainText(t *testing.T) {
	s, _ := overHTTP(t, "new")
	w := newWorld(t, s, &Options{Tools: []string{"greet"}}, nil)
	want(t, w.send(a2a.TextPart("Dan")), a2a.TaskStateCompleted, "hello Dan")
	want(t, w.send(tool("add", `{"A":1,"B":1}`)), a2a.TaskStateRejected, "there is no tool")
	card, err := w.agent.Card(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(card.Skills) != 1 || card.Skills[0].ID != "greet" {
		t.Errorf("skills %+v", card.Skills)
	}
}

func TestCardHasASkillForEachTool(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		card, err := w.agent.Card(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if card.Name != "Test tools" || card.Version != "2.1" || card.Description != "Tools for tests." {
			t.Errorf("card %+v", card)
		}
		for _, s := range card.Skills {
			if s.ID != "greet" {
				continue
			}
			if s.Name != "Greet" || s.Description != "Greets somebody." || s.Examples[0] != `{"arguments":{"name":"…"},"tool":"greet"}` {
				t.Errorf("skill %+v", s)
			}
			return
		}
		t.Error("no skill greet")
	})
}

func TestProgressIsStatus(t *testing.T) {
	for _, kind := range []string{"new", "old"} {
		t.Run(kind, func(t *testing.T) {
			s, srv := overHTTP(t, kind)
			w := newWorld(t, s, nil, nil)
			said := ""
			for ev, err := range w.SendStreamingMessage(t.Context(), message(tool("hold", `{}`))) {
				if err != nil {
					t.Fatal(err)
				}
				if u := ev.StatusUpdate; u != nil && u.Status.Message != nil {
					said = u.Status.Message.Text() + " " + string(u.Status.Message.Metadata)
					close(srv.let)
				}
			}
			if said != `holding {"progress":1,"total":3}` {
				t.Errorf("said %q", said)
			}
		})
	}
}

// A tool that tells a thousand times of its progress makes a few entries.
func TestProgressIsBounded(t *testing.T) {
	s, _ := command(t, "new")
	w := newWorld(t, s, nil, nil)
	n := 0
	for ev, err := range w.SendStreamingMessage(t.Context(), message(tool("steps", `{}`))) {
		if err != nil {
			t.Fatal(err)
		}
		if ev.StatusUpdate != nil {
			n++
		}
	}
	if n > 20 {
		t.Errorf("%d statuses", n)
	}
}

func TestQuestionsOfTheToolAreQuestionsOfTheTask(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		task := w.send(tool("ask", `{}`))
		want(t, task, a2a.TaskStateInputRequired, "Where to?", "city (string): City", "days (integer, optional)", `"requestedSchema"`)
		task = w.sendTo(task.ID, a2a.TextPart("Berlin"))
		want(t, task, a2a.TaskStateInputRequired, "is not a line", "Where to?")
		task = w.sendTo(task.ID, a2a.TextPart("city: Berlin\ndays: 0"))
		want(t, task, a2a.TaskStateInputRequired, "does not fit", "minimum")
		task = w.sendTo(task.ID, a2a.TextPart("city: Berlin\ndays: 3"))
		want(t, task, a2a.TaskStateInputRequired, "Sure?", "accept or decline")
		task = w.sendTo(task.ID, a2a.TextPart("yes"))
		want(t, task, a2a.TaskStateCompleted, "Berlin for 3 days: accept")

		task = w.send(tool("ask", `{}`))
		want(t, w.sendTo(task.ID, a2a.TextPart("decline")), a2a.TaskStateCompleted, "no trip: decline")
		task = w.send(tool("ask", `{}`))
		task = w.sendTo(task.ID, a2a.DataPart(a2a.JSON(`{"city":"Rome"}`)))
		want(t, task, a2a.TaskStateInputRequired, "Sure?")
		want(t, w.sendTo(task.ID, a2a.DataPart(a2a.JSON(`{"action":"cancel"}`))), a2a.TaskStateCompleted, "Rome for <nil> days: cancel")
	})
}

// A question that is made to confuse whoever reads it is no question.
func TestQuestionThatCannotBePut(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		want(t, w.send(tool("evil", `{}`)), a2a.TaskStateCompleted, "evil cancel")
	})
}
