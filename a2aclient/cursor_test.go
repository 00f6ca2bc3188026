package a2aclient_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
	"github.com/parley-a2a/parley/store"
)

// strict is a proxy that lets through what it knows: no ids of events and no
// Last-Event-ID. It cuts each of the first streams after some lines.
type strict struct {
	to   string
	cuts atomic.Int64 // left
}

func (p *strict) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	out, err := http.NewRequestWithContext(r.Context(), r.Method, p.to+r.URL.RequestURI(), r.Body)
	if err != nil {
		panic(err)
	}
	out.ContentLength = r.ContentLength
	for _, name := range []string{"Content-Type", "Accept", "A2A-Version", "A2A-Extensions", "X-A2A-Extensions"} {
		out.Header.Set(name, r.Header.Get(name))
	}
	res, err := http.DefaultClient.Do(out)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer res.Body.Close()
	w.Header().Set("Content-Type", res.Header.Get("Content-Type"))
	w.WriteHeader(res.StatusCode)
	if !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		_, _ = io.Copy(w, res.Body)
		return
	}
	cut := p.cuts.Add(-1) >= 0
	lines := bufio.NewReader(res.Body)
	for n := 0; ; n++ {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		if cut && n == 22 {
			panic(http.ErrAbortHandler)
		}
		if !strings.HasPrefix(line, "id:") {
			_, _ = io.WriteString(w, line)
			_ = http.NewResponseController(w).Flush()
		}
	}
}

// Behind a proxy that drops the ids of events, streams are exact all the same,
// by the resume extension: while the task runs and after it has ended.
func TestStreamsThroughAProxyThatDropsIDs(t *testing.T) {
	for _, version := range []string{"1.0", "0.3", "1.1"} {
		for _, binding := range []string{a2a.BindingJSONRPC, a2a.BindingHTTPJSON} {
			for _, pause := range []int{0, 20} {
				t.Run(fmt.Sprintf("%s %s %d", version, binding, pause), func(t *testing.T) {
					t.Parallel()
					addr := start(t)
					p := &strict{to: "http://" + addr}
					p.cuts.Store(3)
					ts := httptest.NewServer(p)
					defer ts.Close()
					calm, err := a2aclient.Dial(t.Context(), addr, nil)
					if err != nil {
						t.Fatal(err)
					}
					card := *calm.Card()
					card.SupportedInterfaces = []*a2a.AgentInterface{{URL: ts.URL, ProtocolBinding: binding, ProtocolVersion: version}}
					c, err := a2aclient.New(&card, nil)
					if err != nil {
						t.Fatal(err)
					}
					id := exactly(t, c, 30, pause)
					if left := p.cuts.Load(); left >= 0 {
						t.Errorf("%d cuts were not made", left+1)
					}
					resubscribe(t, c, calm, id)
				})
			}
		}
	}
}

// exactly streams and checks that each element comes once, in order, and with
// nothing in it that the agent did not say.
func exactly(t *testing.T, c *a2aclient.Client, chunks, pause int) (id string) {
	t.Helper()
	var got, want strings.Builder
	last := int64(0)
	for el, err := range c.SendStreamingMessage(t.Context(), &a2a.SendMessageRequest{Message: &a2a.Message{
		MessageID: "m1", Role: a2a.RoleUser, Parts: []*a2a.Part{a2a.TextPart(fmt.Sprintf("stream %d %d", chunks, pause))},
	}}) {
		if err != nil {
			t.Fatalf("after %d: %v", last, err)
		}
		if last > 0 && el.Seq != last+1 || el.Seq == 0 {
			t.Errorf("element %d after %d", el.Seq, last)
		}
		last = el.Seq
		switch {
		case el.Task != nil:
			id = el.Task.ID
			if el.Task.Metadata != nil {
				t.Errorf("metadata %s", el.Task.Metadata)
			}
		case el.StatusUpdate != nil && el.StatusUpdate.Metadata != nil:
			t.Errorf("metadata %s", el.StatusUpdate.Metadata)
		case el.ArtifactUpdate != nil:
			if el.ArtifactUpdate.Metadata != nil {
				t.Errorf("metadata %s", el.ArtifactUpdate.Metadata)
			}
			got.WriteString(el.ArtifactUpdate.Artifact.Parts[0].Text)
		}
	}
	for i := range chunks {
		fmt.Fprintf(&want, "chunk %d\n", i+1)
	}
	if got.String() != want.String() {
		t.Errorf("got %q", got.String())
	}
	return id
}

// resubscribe goes on behind a position that the caller has kept.
func resubscribe(t *testing.T, c, calm *a2aclient.Client, id string) {
	t.Helper()
	read := func(c *a2aclient.Client) (list []string) {
		for el, err := range c.SubscribeToTask(t.Context(), &a2a.SubscribeToTaskRequest{ID: id, After: 20}) {
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, fmt.Sprint(el.Seq, " ", el.State(), " ", el.ArtifactUpdate != nil))
		}
		return list
	}
	got, want := read(c), read(calm)
	for len(got) > len(want) { // a version may tell the end twice
		got = got[:len(got)-1]
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") || !strings.HasPrefix(want[0], "20 ") || len(want) < 10 {
		t.Errorf("behind 20:\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// The extension is asked for where the card has it, and only there, beside what
// the caller asks for.
func TestResumeIsAskedForWhereTheCardHasIt(t *testing.T) {
	addr, stop := startAt(t, "127.0.0.1:0", store.NewMemory())
	defer stop()
	var asked atomic.Value
	seen := func(rt http.RoundTripper) http.RoundTripper {
		return roundTrip(func(r *http.Request) (*http.Response, error) {
			asked.Store(r.Header.Get("A2A-Extensions"))
			return rt.RoundTrip(r)
		})
	}
	hc := &http.Client{Transport: seen(http.DefaultTransport), Timeout: time.Minute}
	o := &a2aclient.Options{HTTPClient: hc, Bindings: []string{a2a.BindingJSONRPC}, Extensions: []string{"https://example.org/x/v1"}}
	c, err := a2aclient.Dial(t.Context(), addr, o)
	if err != nil {
		t.Fatal(err)
	}
	bare := *c.Card()
	bare.Capabilities.Extensions = nil
	without, err := a2aclient.New(&bare, o)
	if err != nil {
		t.Fatal(err)
	}
	uri := c.Card().Capabilities.Extensions[0].URI
	exactly(t, c, 2, 0)
	if got, want := asked.Load(), "https://example.org/x/v1,"+uri; got != want {
		t.Errorf("asked for %q, want %q", got, want)
	}
	exactly(t, without, 2, 0)
	if got := asked.Load(); got != "https://example.org/x/v1" {
		t.Errorf("asked for %q of a card that has nothing", got)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
