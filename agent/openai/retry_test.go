package openai_test

import (
	"errors"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent/openai"
	"github.com/parley-a2a/parley/agent/openai/openaitest"
	"github.com/parley-a2a/parley/internal/egress"
)

// busy is an endpoint that has no time.
func busy(status int, header, value string) openaitest.Answer {
	a := openaitest.Error(status, "", "slow down")
	a.Header[header] = value
	return a
}

func TestRetries(t *testing.T) {
	cut := openaitest.Answer{Header: map[string]string{"Content-Type": "text/event-stream"}, Pieces: []string{": hello\n\n"}, Cut: true}
	half := openaitest.Text("Hello", "there")
	half.Pieces, half.Cut = half.Pieces[:2], true
	fine := openaitest.Text("fine")
	for name, tt := range map[string]struct {
		answers       []openaitest.Answer
		state         a2a.TaskState
		text, words   string
		atLeast, most time.Duration
	}{
		"429":              {[]openaitest.Answer{busy(429, "Retry-After", "7"), fine}, a2a.TaskStateCompleted, "fine", "", 7 * time.Second, 7 * time.Second},
		"429 with a date":  {[]openaitest.Answer{busy(429, "Retry-After", "Sat, 01 Jan 2000 00:00:09 GMT"), fine}, a2a.TaskStateCompleted, "fine", "", 9 * time.Second, 9 * time.Second},
		"milliseconds":     {[]openaitest.Answer{busy(429, "Retry-After-Ms", "1500"), fine}, a2a.TaskStateCompleted, "fine", "", 1500 * time.Millisecond, 1500 * time.Millisecond},
		"500, 502, 529":    {[]openaitest.Answer{busy(500, "", ""), busy(502, "", ""), busy(529, "", ""), fine}, a2a.TaskStateCompleted, "fine", "", 1750 * time.Millisecond, 3500 * time.Millisecond},
		"cut at the start": {[]openaitest.Answer{cut, fine}, a2a.TaskStateCompleted, "fine", "", 250 * time.Millisecond, 500 * time.Millisecond},
		"cut in the text":  {[]openaitest.Answer{half, fine}, a2a.TaskStateFailed, "Hello", "broke off", 0, 0},
		"too much asked":   {[]openaitest.Answer{busy(429, "Retry-After", "3600"), fine}, a2a.TaskStateFailed, "", "is busy", 0, 0},
		"for ever":         {[]openaitest.Answer{busy(503, "", ""), busy(503, "", ""), busy(503, "", ""), busy(503, "", ""), busy(503, "", ""), busy(503, "", ""), fine}, a2a.TaskStateFailed, "", "has a problem", 7750 * time.Millisecond, 15500 * time.Millisecond},
		"no money":         {[]openaitest.Answer{openaitest.Error(429, "insufficient_quota", "You exceeded your current quota, please check your plan and billing details."), fine}, a2a.TaskStateFailed, "", "used up", 0, 0},
		"bad request":      {[]openaitest.Answer{openaitest.Error(400, "", "nonsense"), fine}, a2a.TaskStateFailed, "", "did not accept the request", 0, 0},
		"too long":         {[]openaitest.Answer{openaitest.Error(400, "context_length_exceeded", "This model's maximum context length is 8192 tokens."), fine}, a2a.TaskStateFailed, "", "too long for the model", 0, 0},
		"no such model":    {[]openaitest.Answer{openaitest.Error(404, "model_not_found", "no"), fine}, a2a.TaskStateFailed, "", "does not know the model", 0, 0},
		"no such URL":      {[]openaitest.Answer{openaitest.Error(404, "", "404 page not found"), fine}, a2a.TaskStateFailed, "", "most end in /v1", 0, 0},
		"in a list":        {[]openaitest.Answer{{Status: 400, Pieces: []string{`[{"error":{"code":400,"message":"content_filter","status":"INVALID_ARGUMENT"}}]`}}}, a2a.TaskStateFailed, "", "for its content", 0, 0},
		"elsewhere":        {[]openaitest.Answer{{Status: 307, Header: map[string]string{"Location": "http://evil.test/"}}, fine}, a2a.TaskStateFailed, "", "has moved", 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fake := openaitest.New(tt.answers...)
				w := newWorld(t, fake, nil)
				begun := time.Now()
				task := w.say("hello")
				took := time.Since(begun)
				want(t, task, tt.state, tt.text, tt.words)
				if took < tt.atLeast || took > tt.most {
					t.Errorf("it took %v", took)
				}
			})
		})
	}
}

// What this server's own rules forbid is not tried again.
func TestForbiddenEndpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, openaitest.New(), &openai.Options{Client: new(egress.Policy).Client()})
		begun := time.Now()
		want(t, w.say("hello"), a2a.TaskStateFailed, "", "at an address that this server may not call; its operator can allow it")
		if took := time.Since(begun); took > 0 {
			t.Errorf("it took %v", took)
		}
	})
}

// A caller is told in a status when a busy model makes it wait.
func TestRetriesAreAStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, openaitest.New(busy(429, "Retry-After", "1"), busy(429, "Retry-After", "7"), openaitest.Text("fine")), nil)
		var told []string
		w.stream("hello", func(ev *a2a.StreamResponse) {
			if u := ev.StatusUpdate; u != nil && u.Status.State == a2a.TaskStateWorking {
				told = append(told, u.Status.Message.Text())
			}
		})
		if len(told) != 1 || told[0] != "the model's endpoint is busy; asking again in 7s" {
			t.Errorf("told %q", told)
		}
	})
}

func TestNobodyListens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := errors.New("connection refused by 10.0.0.7")
		client := &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) { return nil, down })}
		w := newWorld(t, openaitest.New(), &openai.Options{Client: client})
		task := w.say("hello")
		want(t, task, a2a.TaskStateFailed, "", "cannot be reached")
		if strings.Contains(string(task.AppendJSON(nil)), "10.0.0.7") || !strings.Contains(w.log.String(), "10.0.0.7") {
			t.Errorf("told %s\nlogged %s", task.AppendJSON(nil), w.log)
		}
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// An endpoint is sent a parameter that it does not know once.
func TestEndpointsThatKnowLess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := openaitest.New()
		fake.Refuse = []string{"stream_options", "max_tokens"}
		w := newWorld(t, fake, &openai.Options{MaxTokens: 99})
		for range 2 {
			want(t, w.say("hello"), a2a.TaskStateCompleted, "hello", "")
		}
		for _, r := range fake.Requests() {
			if r.Body["max_completion_tokens"] != 99.0 || r.Body["max_tokens"] != nil || r.Body["stream_options"] != nil {
				t.Errorf("sent %v", r.Body)
			}
		}
		if len(fake.Requests()) != 2 {
			t.Errorf("%d requests", len(fake.Requests()))
		}
	})
}

// Two turns are refused at the same time for what the endpoint does not know: both ask
// again without it, and nothing else is left out.
func TestEndpointsThatKnowLessAndTwoTurns(t *testing.T) {
	for _, param := range []string{"stream_options", "max_tokens", "json_schema"} {
		t.Run(param, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fake := openaitest.New(openaitest.Text("{}"), openaitest.Text("{}"))
				fake.Refuse = []string{param}
				var begun atomic.Int32
				both := make(chan struct{})
				client := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
					if begun.Add(1) == 2 {
						close(both)
					}
					<-both
					return fake.Client().Transport.RoundTrip(r)
				})}
				w := newWorld(t, fake, &openai.Options{Client: client, MaxTokens: 99})
				var work sync.WaitGroup
				for _, id := range []string{"m1", "m2"} {
					work.Go(func() {
						req := request(a2a.TextPart("who?"))
						req.Message.MessageID = id
						req.Message.Metadata = a2a.JSON(`{"schema":{"type":"object"}}`)
						req.Configuration.AcceptedOutputModes = []string{"application/json"}
						res, err := w.SendMessage(t.Context(), req)
						if err != nil {
							t.Error(err)
							return
						}
						want(t, res.Task, a2a.TaskStateCompleted, "{}", "")
					})
				}
				work.Wait()
				for _, r := range fake.Requests() {
					if r.Body["response_format"] == nil {
						t.Errorf("sent %v", r.Body)
					}
				}
			})
		})
	}
}

// An answer that is no stream may take its time as long as bytes come.
func TestSlowAnswerInOnePiece(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := openaitest.JSON(`{"choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"fine"}}]}`)
		slow.Pieces, slow.Every = append([]string{"\n", "\n", "\n", "\n"}, slow.Pieces...), 50*time.Second
		w := newWorld(t, openaitest.New(slow), nil)
		want(t, w.say("hello"), a2a.TaskStateCompleted, "fine", "")
		if n := len(w.fake.Requests()); n != 1 {
			t.Errorf("%d requests", n)
		}
	})
}

// Whatever an endpoint quotes, secrets are in no log and in no answer.
func TestSecretsStayInside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const key, extra, token = "sk-very-secret-0815", "other-secret-4711", "third-secret-1234"
		fake := openaitest.New(openaitest.Error(400, "", "I do not like "+extra+" with the token "+token))
		fake.Key = "another"
		o := &openai.Options{APIKey: key, Headers: map[string]a2a.Secret{"X-Api-Key": extra, "X-Proxy-Authorization": "Bearer " + token}}
		w := newWorld(t, fake, o)
		task := w.say("hello")
		want(t, task, a2a.TaskStateFailed, "", "did not accept the agent's credentials")
		fake.Key = key
		next := w.say("hello")
		want(t, next, a2a.TaskStateFailed, "", "did not accept the request")
		all := w.log.String() + string(task.AppendJSON(nil)) + string(next.AppendJSON(nil))
		if strings.Contains(all, key) || strings.Contains(all, extra) || strings.Contains(all, token) {
			t.Errorf("a secret is in %s", all)
		}
		want(t, w.say("hello"), a2a.TaskStateCompleted, "hello", "")
		r := fake.Requests()[1]
		if r.Header.Get("X-Api-Key") != extra {
			t.Errorf("sent %v", r.Header)
		}
	})
}

// The trace that a caller is in goes on to the endpoint.
func TestTraceGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
		w := newWorld(t, openaitest.New(), nil)
		ctx := a2a.WithCaller(t.Context(), a2a.Caller{Trace: trace, TraceState: "rojo=1"})
		if _, err := w.SendMessage(ctx, request(a2a.TextPart("hello"))); err != nil {
			t.Fatal(err)
		}
		if got := w.fake.Requests()[0].Header.Get("Traceparent"); got != trace {
			t.Errorf("got %q", got)
		}
		if got := w.fake.Requests()[0].Header.Get("Tracestate"); got != "rojo=1" {
			t.Errorf("got %q", got)
		}
	})
}
