package openai_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent/openai"
	"github.com/parley-a2a/parley/agent/openai/openaitest"
)

func TestTokensAreGatheredByTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tokens []string
		for i := range 1000 {
			tokens = append(tokens, fmt.Sprintf("%d ", i))
		}
		a := openaitest.Text(tokens...)
		a.Every = 10 * time.Millisecond
		w := newWorld(t, openaitest.New(a), nil)
		begun := time.Now()
		var first, last time.Duration
		var chunks int
		var text strings.Builder
		w.stream("count", func(ev *a2a.StreamResponse) {
			u := ev.ArtifactUpdate
			if u == nil {
				return
			}
			at := time.Since(begun)
			if chunks == 0 {
				first = at
			} else if at-last < 100*time.Millisecond && !u.LastChunk {
				t.Errorf("a chunk %v behind another", at-last)
			}
			last = at
			chunks++
			text.WriteString(u.Artifact.Parts[0].Text)
		})
		if text.String() != strings.Join(tokens, "") {
			t.Errorf("got %q", text.String())
		}
		if first > 10*time.Millisecond { // when the first token came
			t.Errorf("the first chunk came after %v", first)
		}
		if chunks < 90 || chunks > 102 {
			t.Errorf("%d chunks in 10 s, with one every 100 ms at most", chunks)
		}
		t.Logf("1000 tokens in %v: %d chunks, the first after %v", last, chunks, first)
	})
}

// Options have the times that count: the client's would end every stream.
func TestTimeoutOfTheClientDoesNotCount(t *testing.T) {
	fake := openaitest.New(openaitest.Text("hello"))
	client := fake.Client()
	client.Timeout = time.Nanosecond
	w := newWorld(t, fake, &openai.Options{Client: client, Retries: -1})
	want(t, w.say("hi"), a2a.TaskStateCompleted, "hello", "")
}

func TestFloodIsCutIntoChunks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		token := strings.Repeat("äöü€", 10_000) // 90 kB
		w := newWorld(t, openaitest.New(openaitest.Text(token, token, token)), nil)
		id, chunks := "", 0
		w.stream("much", func(ev *a2a.StreamResponse) {
			id = ev.TaskID()
			if u := ev.ArtifactUpdate; u != nil {
				if chunks++; len(u.Artifact.Parts[0].Text) > 64<<10 {
					t.Errorf("a chunk of %d bytes", len(u.Artifact.Parts[0].Text))
				}
			}
		})
		if chunks < 5 {
			t.Errorf("%d chunks", chunks)
		}
		want(t, w.get(id), a2a.TaskStateCompleted, token+token+token, "tokens")
	})
}

// A finished answer is one part of text, whoever reads it: callers print parts in
// lines of their own. The chunks that came before are as they were.
func TestFinishedAnswerIsOnePart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := openaitest.Text("to ", "be ", "or")
		slow.Every = time.Second
		cut := slow
		cut.Pieces = append(append([]string{}, slow.Pieces[:3]...), "")
		cut.Until = make(chan struct{})
		w := newWorld(t, openaitest.New(cut), nil)
		id := w.begin("first")
		time.Sleep(2500 * time.Millisecond)
		if n := len(w.get(id).Artifacts[0].Parts); n != 2 {
			t.Errorf("%d parts at work", n)
		}
		w.stop()
		w = worldOver(t, w.st, openaitest.New(slow), nil) // a second attempt
		time.Sleep(time.Minute)
		task := w.get(id)
		want(t, task, a2a.TaskStateCompleted, "to be or", "tokens")
		if n := len(task.Artifacts[0].Parts); n != 1 {
			t.Errorf("%d parts at the end", n)
		}
	})
}

func TestSilence(t *testing.T) {
	hang := make(chan struct{})
	begin := openaitest.Text("Hello").Pieces[:2]
	for name, tt := range map[string]struct {
		answer openaitest.Answer
		text   string
		words  string
		after  time.Duration
	}{
		"before the answer": {openaitest.Answer{Pieces: []string{""}, Until: hang}, "", "did not answer in time", 2 * time.Minute},
		"in the answer":     {openaitest.Answer{Pieces: append(begin[:2:2], "x"), Until: hang}, "Hello", "broke off", 2 * time.Minute},
		"but for comments": {
			openaitest.Answer{Pieces: strings.SplitAfter(strings.Repeat(": keep-alive\n\n", 1000), "\n\n"), Every: time.Minute},
			"", "did not finish in time", 30 * time.Minute,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if tt.answer.Until != nil {
					tt.answer.Until = make(chan struct{}) // of this bubble
				}
				tt.answer.Header = map[string]string{"Content-Type": "text/event-stream"}
				w := newWorld(t, openaitest.New(tt.answer), &openai.Options{Retries: -1})
				begun := time.Now()
				want(t, w.say("hello"), a2a.TaskStateFailed, tt.text, tt.words)
				if took := time.Since(begun); took != tt.after {
					t.Errorf("it took %v", took)
				}
			})
		})
	}
}

func TestLongAnswerIsNotSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := openaitest.Text(strings.Split("a b c d e f g", "")...)
		a.Every = 90 * time.Second
		w := newWorld(t, openaitest.New(a), nil)
		want(t, w.say("slowly"), a2a.TaskStateCompleted, "a b c d e f g", "tokens")
	})
}

func TestAnswerThatIsTooLong(t *testing.T) {
	for name, a := range map[string]openaitest.Answer{
		"tokens":   openaitest.Text(strings.Split(strings.Repeat("x", 2000), "")...),
		"an event": openaitest.Text(strings.Repeat("x", 200_000)),
		"a line":   openaitest.Stream("data: " + strings.Repeat("x", 200_000)),
		"JSON":     openaitest.JSON(`{"x":"` + strings.Repeat("x", 200_000)),
		"a call":   openaitest.Call("id", "get_weather", `{"x":"`+strings.Repeat("x", 2000)+`"}`),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, openaitest.New(a), &openai.Options{MaxAnswer: 1000, Retries: -1})
				task := w.say("much")
				if task.Status.State != a2a.TaskStateFailed || !strings.Contains(task.Status.Message.Text(), "too long") {
					t.Errorf("got %s", task.AppendJSON(nil))
				}
			})
		})
	}
}

// An endpoint that does not stream is asked to, and answered all the same.
func TestAnswersThatAreNoStreams(t *testing.T) {
	whole := `{"id":"1","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Hello","refusal":null},` +
		`"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":1,"total_tokens":4}}`
	calls := `{"object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[` +
		`{"id":"a","type":"function","function":{"name":"get_weather","arguments":"{\"city\":\"Paris\"}"}}]},"finish_reason":"tool_calls"}]}`
	under := openaitest.Text("Hel", "lo")
	under.Header = map[string]string{"Content-Type": "application/json"}
	page := openaitest.Stream("<html>")
	page.Header = map[string]string{"Content-Type": "text/html"}
	for name, tt := range map[string]struct {
		answers []openaitest.Answer
		state   a2a.TaskState
		text    string
		words   string
	}{
		"whole":              {[]openaitest.Answer{openaitest.JSON(whole)}, a2a.TaskStateCompleted, "Hello", "3 tokens in, 1 out"},
		"pretty":             {[]openaitest.Answer{openaitest.JSON(strings.ReplaceAll(whole, ",", ",\n "))}, a2a.TaskStateCompleted, "Hello", "3 tokens in, 1 out"},
		"calls":              {[]openaitest.Answer{openaitest.JSON(calls), openaitest.JSON(whole)}, a2a.TaskStateCompleted, "Hello", "3 tokens in, 1 out"},
		"under a wrong name": {[]openaitest.Answer{under}, a2a.TaskStateCompleted, "Hello", "tokens"},
		"an error":           {[]openaitest.Answer{openaitest.JSON(`{"error":"no such model"}`)}, a2a.TaskStateFailed, "", "has a problem"},
		"a page":             {[]openaitest.Answer{page}, a2a.TaskStateFailed, "", "cannot be understood"},
		"something else":     {[]openaitest.Answer{openaitest.JSON(`{"ok":true}`)}, a2a.TaskStateFailed, "", "cannot be understood"},
		"not JSON":           {[]openaitest.Answer{openaitest.JSON(`ok`)}, a2a.TaskStateFailed, "", "cannot be understood"},
		"nothing":            {[]openaitest.Answer{openaitest.Text("")}, a2a.TaskStateFailed, "", "answered nothing"},
		"cut by length":      {[]openaitest.Answer{openaitest.End("length", "Hel")}, a2a.TaskStateFailed, "Hel", "cut off"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fake := openaitest.New(tt.answers...)
				w := newWorld(t, fake, &openai.Options{Retries: -1, Tools: []openai.Toolbox{&weather{}}})
				want(t, w.say("hello"), tt.state, tt.text, tt.words)
			})
		})
	}
}
