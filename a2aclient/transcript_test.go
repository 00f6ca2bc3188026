package a2aclient

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/test/transcripts"
)

// TestTranscripts plays testdata/wire against the client, as its README
// describes: it calls what a transcript calls, gets the response as it stands
// there, and what it makes of that must be the transcript's result.
func TestTranscripts(t *testing.T) {
	files, err := transcripts.Load("../testdata/wire")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d transcripts, %v", len(files), err)
	}
	for _, f := range files {
		t.Run(f.Name, func(t *testing.T) {
			vars := transcripts.Vars{}
			for i, x := range f.Exchanges {
				if x.Call != nil {
					t.Run(fmt.Sprint(i+1), func(t *testing.T) { playClient(t, f, x, vars) })
				}
			}
		})
	}
}

func playClient(t *testing.T, f *transcripts.File, x *transcripts.Exchange, vars transcripts.Vars) {
	agent := &tape{t: t, x: x, vars: vars}
	got := perform(t, f, x, agent)
	if agent.served != 1 {
		t.Errorf("%d requests were made, want 1", agent.served)
	}
	want := x.Result
	if want == nil {
		want = x.Answer
	}
	for i := range min(len(want), len(got)) {
		if err := vars.MatchResult(want[i], got[i]); err != nil {
			t.Errorf("result %d: %v", i+1, err)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d results, want %d: %s", len(got), len(want), transcripts.Show(got))
	}
}

// perform makes the call and returns the outcome; an error is the last.
func perform(t *testing.T, f *transcripts.File, x *transcripts.Exchange, agent *tape) (got []any) {
	o := &Options{HTTPClient: &http.Client{Transport: agent}, Retries: -1}
	ctx := context.Background()
	one := func(res any, err error) []any {
		if err != nil {
			return []any{err}
		}
		return []any{res}
	}
	if x.OfCard() {
		return one(Resolve(ctx, "http://agent.example", o))
	}
	op, req, err := x.Call.Request(agent.vars.Fill(x.Call.Doc))
	if err != nil {
		t.Fatalf("the call: %v", err)
	}
	c, err := New(transcriptCard(f), o)
	if err != nil {
		t.Fatal(err)
	}
	c.lastID.Store(agent.requestID() - 1)
	if !dialect.Get(op).Streams {
		return one(dialect.Call(ctx, c, op, req))
	}
	for el, err := range dialect.Stream(ctx, c, op, req) {
		if err != nil {
			return append(got, err)
		}
		got = append(got, el)
	}
	return got
}

// transcriptCard is the card of an agent that speaks but the dialect and the
// binding of a transcript, and can do everything.
func transcriptCard(f *transcripts.File) *a2a.AgentCard {
	binding := a2a.BindingJSONRPC
	if f.Binding == "rest" {
		binding = a2a.BindingHTTPJSON
	}
	yes := true
	return &a2a.AgentCard{
		Name: "Tape", Description: "Plays transcripts.", Version: "1",
		SupportedInterfaces: []*a2a.AgentInterface{{
			URL: "http://agent.example", ProtocolBinding: binding, ProtocolVersion: strings.TrimPrefix(f.Dialect, "v"),
		}},
		Capabilities: a2a.AgentCapabilities{Streaming: &yes, PushNotifications: &yes, ExtendedAgentCard: &yes},
	}
}

// tape is a server that answers one request with the response of a transcript.
type tape struct {
	t      *testing.T
	x      *transcripts.Exchange
	vars   transcripts.Vars
	served int
}

func (a *tape) RoundTrip(r *http.Request) (*http.Response, error) {
	res := a.x.Response
	if _, path, _ := strings.Cut(a.x.Request.Line, " "); a.x.OfCard() && r.URL.Path != path {
		res = &transcripts.Message{Line: "404"} // a card is looked for at more than one place
	} else {
		a.served++
	}
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
	}
	if !a.x.Call.Anyhow && res == a.x.Response {
		a.judge(r, string(body))
	}
	status, _ := strconv.Atoi(res.Line) // the reader has checked it
	header := http.Header{}
	for _, h := range res.Header {
		header.Set(h[0], h[1])
	}
	text := a.vars.Fill(res.Body)
	if theirs, number := a.id(); !number && theirs != "" {
		text = strings.ReplaceAll(text, `"id":`+theirs, `"id":1`) // ours are numbers
	}
	return &http.Response{
		StatusCode: status, Status: res.Line, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: header, Body: io.NopCloser(strings.NewReader(text)), ContentLength: -1, Request: r,
	}, nil
}

// judge compares the client's request with the transcript's.
func (a *tape) judge(r *http.Request, body string) {
	want := a.x.Request
	method, target, _ := strings.Cut(want.Line, " ")
	u, err := url.Parse(a.vars.Fill(target))
	if err != nil {
		a.t.Fatal(err)
	}
	path := r.URL.EscapedPath()
	if path == "" {
		path = "/"
	}
	if r.Method != method || path != u.EscapedPath() {
		a.t.Errorf("the request is %s %s, want %s", r.Method, path, want.Line)
	}
	if d := cmp.Diff(u.Query(), r.URL.Query()); d != "" {
		a.t.Errorf("the query: %s", d)
	}
	for _, h := range want.Header {
		if got := headerOf(r, h[0]); got != a.vars.Fill(h[1]) && !strings.EqualFold(h[0], "Content-Type") {
			a.t.Errorf("%s: %q, want %q", h[0], got, h[1])
		}
	}
	wantBody := want.Body
	if theirs, number := a.id(); !number && theirs != "" {
		wantBody = strings.Replace(wantBody, `"id":`+theirs, `"id":1`, 1)
	}
	if strings.TrimSpace(wantBody) == "" && body == "" {
		return
	}
	if strings.TrimSpace(wantBody) == "" {
		wantBody = "{}" // an empty object is as good as no body
	}
	if err := a.vars.MatchBody(wantBody, body, false); err != nil {
		a.t.Errorf("the request: %v\nin %s", err, body)
	}
}

// headerOf is r.Header.Get, however the name is spelt.
func headerOf(r *http.Request, name string) string {
	for n, values := range r.Header {
		if strings.EqualFold(n, name) && len(values) > 0 {
			return values[0]
		}
	}
	return ""
}

// id returns the JSON-RPC id of the transcript's request, and whether it is a
// number; "" if it has none.
func (a *tape) id() (raw string, number bool) {
	var env struct {
		Method string
		ID     json.RawMessage
	}
	if json.Unmarshal([]byte(a.x.Request.Body), &env) != nil || env.Method == "" || env.ID == nil {
		return "", false
	}
	_, err := strconv.ParseInt(string(env.ID), 10, 64)
	return string(env.ID), err == nil
}

// requestID is what the client's request should have as its id.
func (a *tape) requestID() int64 {
	raw, number := a.id()
	if !number {
		return 1
	}
	n, _ := strconv.ParseInt(raw, 10, 64) // id has read it
	return n
}
