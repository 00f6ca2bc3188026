package openai_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent/openai"
	"github.com/parley-a2a/parley/agent/openai/openaitest"
	"github.com/parley-a2a/parley/engine"
)

// talk says texts in one context, a second apart, and returns the messages of the
// last request.
func (w *world) talk(parts ...*a2a.Part) []string {
	w.t.Helper()
	context := ""
	for _, p := range parts {
		req := request(p)
		req.Message.ContextID = context
		context = w.send(req).ContextID
		time.Sleep(time.Second) // fake
	}
	all := w.fake.Requests()
	return messages(all[len(all)-1])
}

func texts(all ...string) []*a2a.Part {
	var out []*a2a.Part
	for _, s := range all {
		out = append(out, a2a.TextPart(s))
	}
	return out
}

func TestTheContextIsRemembered(t *testing.T) {
	full := []string{"system: Be brief.", "user: one", "assistant: eins", "user: two", "assistant: zwei", "user: three"}
	for name, tt := range map[string]struct {
		o    openai.Options
		want []string
	}{
		"all":        {openai.Options{}, full},
		"some":       {openai.Options{History: 3}, slices.Concat(full[:1], full[3:])},
		"none":       {openai.Options{History: -1}, slices.Concat(full[:1], full[5:])},
		"some bytes": {openai.Options{HistoryBytes: 8}, slices.Concat(full[:1], full[3:])},
		"few bytes":  {openai.Options{HistoryBytes: 6}, slices.Concat(full[:1], full[5:])},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fake := openaitest.New(openaitest.Text("ei", "ns"), openaitest.Text("zw", "ei"))
				tt.o.System = "Be brief."
				w := newWorld(t, fake, &tt.o)
				if d := cmp.Diff(tt.want, w.talk(texts("one", "two", "three")...)); d != "" {
					t.Error(d)
				}
				if got := messages(fake.Requests()[0]); len(got) != 2 {
					t.Errorf("the first request: %q", got)
				}
				w.say("of another context")
				all := fake.Requests()
				if got := messages(all[len(all)-1]); len(got) != 2 {
					t.Errorf("in another context: %q", got)
				}
			})
		})
	}
}

// The trace that a client was given of a task is no answer of the model.
func TestTracesAreNotRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := openaitest.New(openaitest.Text("eins"))
		w := newWorld(t, fake, nil)
		ag, err := openai.New("http://model.test/v1", "fake-1", &openai.Options{Client: fake.Client()})
		if err != nil {
			t.Fatal(err)
		}
		card := openai.Card("fake-1", nil)
		card.Capabilities.Extensions = []*a2a.AgentExtension{a2a.TraceabilityExtension()}
		if err := w.Replace([]engine.Hosted{{Agent: ag, Card: &card}}, nil); err != nil {
			t.Fatal(err)
		}
		ctx := a2a.WithCaller(t.Context(), a2a.Caller{Extensions: []string{a2a.TraceabilityURI}})
		res, err := w.SendMessage(ctx, request(a2a.TextPart("one")))
		if err != nil {
			t.Fatal(err)
		}
		if n := len(res.Task.Artifacts); n != 2 {
			t.Fatalf("%d artifacts, want the answer and the trace", n)
		}
		req := request(a2a.TextPart("two"))
		req.Message.ContextID = res.Task.ContextID
		w.send(req)
		if d := cmp.Diff([]string{"user: one", "assistant: eins", "user: two"}, messages(fake.Requests()[1])); d != "" {
			t.Error(d)
		}
	})
}

// Unanswered messages are left out, because some models insist on turns.
func TestFailuresAreNotRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := openaitest.New(openaitest.End("length", "cut"), openaitest.Fixture("openai-refusal"), openaitest.Text("drei"))
		w := newWorld(t, fake, nil)
		got := w.talk(texts("one", "two", "three", "four")...)
		if d := cmp.Diff([]string{"user: three", "assistant: drei", "user: four"}, got); d != "" {
			t.Error(d)
		}
	})
}

// A context may be full of what was never answered.
func TestTheSearchForThePastIsBounded(t *testing.T) {
	for failed, found := range map[int]int{199: 3, 200: 1} {
		synctest.Test(t, func(t *testing.T) {
			fake := openaitest.New(openaitest.Text("eins"))
			all := texts("one")
			for range failed {
				fake.Add(openaitest.Error(400, "", "no"))
				all = append(all, a2a.TextPart("again"))
			}
			w := newWorld(t, fake, nil)
			if got := w.talk(append(all, a2a.TextPart("last"))...); len(got) != found {
				t.Errorf("after %d failures: %q", failed, got)
			}
		})
	}
}

// A task of version 0.1 goes on when it is over: its own past counts, too.
func TestATaskThatGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := openaitest.New(openaitest.Text("eins"), openaitest.Text("zwei"))
		w := newWorld(t, fake, nil)
		var task *a2a.Task
		for _, text := range []string{"one", "two", "three"} {
			req := request(a2a.TextPart(text))
			req.Message.TaskID = "mine"
			req.Legacy = &a2a.Legacy{Version: "0.1", CreateByID: true, Reopen: true, TaskOnly: true}
			task = w.send(req)
		}
		all := fake.Requests()
		if d := cmp.Diff([]string{"user: one", "assistant: eins", "user: two", "assistant: zwei", "user: three"}, messages(all[2])); d != "" {
			t.Error(d)
		}
		if len(task.Artifacts) != 3 {
			t.Errorf("%d artifacts", len(task.Artifacts))
		}
	})
}

func TestSystemPromptFromAFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "system.md")
	write := func(text string) {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := openai.New("http://model.test/v1", "m", &openai.Options{SystemFile: name}); err == nil {
		t.Error("a file that is not there was taken")
	}
	write("You are a pirate.\n")
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, openaitest.New(), &openai.Options{System: "Be brief.", SystemFile: name})
		if got := w.talk(texts("hi")...); got[0] != "system: Be brief.\n\nYou are a pirate." {
			t.Errorf("got %q", got)
		}
		write("You are a monk.")
		if got := w.talk(texts("hi")...); got[0] != "system: Be brief.\n\nYou are a monk." {
			t.Errorf("got %q", got)
		}
		write(strings.Repeat("x", 1<<20+1))
		task := w.say("hi")
		want(t, task, a2a.TaskStateFailed, "", "misconfigured")
		if strings.Contains(string(task.AppendJSON(nil)), name) || !strings.Contains(w.log.String(), name) {
			t.Errorf("told %s\nlogged %s", task.AppendJSON(nil), w.log)
		}
	})
}

func TestParts(t *testing.T) {
	png := []byte("\x89PNG\r\n\x1a\nrest")
	text := func(s string) string { return "map[text:" + s + " type:text]" }
	for name, tt := range map[string]struct {
		part *a2a.Part
		o    openai.Options
		want string // the content behind a text; "" if it is refused
		why  string // a piece of the rejection
	}{
		"an image":                {a2a.RawPart(png, "image/png", "a.png"), openai.Options{Images: true}, "map[image_url:map[url:data:image/png;base64,iVBORw0KGgpyZXN0] type:image_url]", ""},
		"an unnamed image":        {a2a.RawPart(png, "", ""), openai.Options{Images: true}, "map[image_url:map[url:data:image/png;base64,iVBORw0KGgpyZXN0] type:image_url]", ""},
		"an image's URL":          {a2a.URLPart("https://pics.test/a.png?x=1", "", ""), openai.Options{Images: true}, "map[image_url:map[url:https://pics.test/a.png?x=1] type:image_url]", ""},
		"a URL by type":           {a2a.URLPart("https://pics.test/1", "image/jpeg", ""), openai.Options{Images: true}, "map[image_url:map[url:https://pics.test/1] type:image_url]", ""},
		"a PDF":                   {a2a.RawPart([]byte("%PDF-1.7"), "application/pdf", "a.pdf"), openai.Options{Files: true}, "map[file:map[file_data:data:application/pdf;base64,JVBERi0xLjc= filename:a.pdf] type:file]", ""},
		"an unnamed PDF":          {a2a.RawPart([]byte("%PDF-1.7"), "", ""), openai.Options{Files: true}, "map[file:map[file_data:data:application/pdf;base64,JVBERi0xLjc= filename:file.pdf] type:file]", ""},
		"a text file":             {a2a.RawPart([]byte("a;b"), "text/csv", "a.csv"), openai.Options{Images: true}, "File \"a.csv\":\na;b", ""},
		"a value":                 {a2a.DataPart(a2a.JSON(`{"a": 1}`)), openai.Options{}, `{"a": 1}`, ""},
		"an image, not taken":     {a2a.RawPart(png, "", "a.png"), openai.Options{}, "", `accepts no images: "a.png", image/png`},
		"a URL, not taken":        {a2a.URLPart("https://pics.test/a.png", "", ""), openai.Options{}, "", "accepts no images"},
		"a PDF, not taken":        {a2a.RawPart([]byte("%PDF-1.7"), "", "a.pdf"), openai.Options{Images: true}, "", `accepts no such files: "a.pdf", application/pdf`},
		"a PDF's URL":             {a2a.URLPart("https://docs.test/a.pdf", "", ""), openai.Options{Files: true, Images: true}, "", "send the bytes"},
		"bytes that are not text": {a2a.RawPart([]byte("a\xff"), "text/plain", ""), openai.Options{}, "", "accepts no such files"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fake := openaitest.New(openaitest.Text("seen"))
				w := newWorld(t, fake, &tt.o)
				task := w.send(request(a2a.TextPart("look"), tt.part))
				if tt.want == "" {
					want(t, task, a2a.TaskStateRejected, "", tt.why)
					return
				}
				want(t, task, a2a.TaskStateCompleted, "seen", "")
				all := fake.Requests()[0].Body["messages"].([]any)
				got := all[len(all)-1].(map[string]any)["content"]
				wants := "[" + text("look") + " " + tt.want + "]"
				if !strings.HasPrefix(tt.want, "map[") {
					wants = "look\n\n" + tt.want
				}
				if fmt.Sprint(got) != wants {
					t.Errorf("got %v\nwant %s", got, wants)
				}
			})
		})
	}
}

// Messages that no longer fit the model's context are named.
func TestFilesOfThePast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newWorld(t, openaitest.New(), &openai.Options{Files: true})
		req := request(a2a.TextPart("look"), a2a.RawPart([]byte("%PDF-1.7"), "", "a.pdf"))
		task := st.send(req)
		st.stop()
		fake := openaitest.New()
		w := worldOver(t, st.st, fake, nil)
		req = request(a2a.TextPart("and?"))
		req.Message.ContextID = task.ContextID
		w.send(req)
		if d := cmp.Diff([]string{"user: look\n\n[left out: \"a.pdf\", application/pdf]", "assistant: look", "user: and?"}, messages(fake.Requests()[0])); d != "" {
			t.Error(d)
		}
	})
}
