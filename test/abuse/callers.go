package abuse

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
)

// What each task of a caller is: so many chunks, with a pause before each but
// the first.
const (
	chunks = 20
	paused = 50 * time.Millisecond
)

// Callers are clients that behave: each streams one task after the other.
type Callers struct {
	list []*caller
	http []*http.Client
}

type caller struct {
	*a2aclient.Client
	n, said int
	ids     []string
}

// NewCallers dials the server once for each key, over one binding after the
// other. Each caller has connections of its own.
func NewCallers(ctx context.Context, url string, keys []string, secure *tls.Config) (*Callers, error) {
	c := new(Callers)
	bindings := []string{a2a.BindingJSONRPC, a2a.BindingHTTPJSON, a2a.BindingGRPC}
	for n, key := range keys {
		hc := &http.Client{Transport: &http.Transport{TLSClientConfig: secure.Clone(), ForceAttemptHTTP2: true}}
		c.http = append(c.http, hc)
		cl, err := a2aclient.Dial(ctx, url, &a2aclient.Options{APIKey: key, Bindings: bindings[n%3 : n%3+1], Retries: -1, HTTPClient: hc})
		if err != nil {
			return nil, fmt.Errorf("caller %d: %w", n, err)
		}
		c.list = append(c.list, &caller{Client: cl, n: n})
	}
	return c, nil
}

// Leave closes the connections that nothing goes over.
func (c *Callers) Leave() {
	for _, hc := range c.http {
		hc.CloseIdleConnections()
	}
}

// Times are what the callers have seen in one run.
type Times struct {
	First  []time.Duration // from a message to the first event of its stream
	Events []time.Duration // from one chunk to the next, with the agent's pause of 50 ms
	Tasks  int
	Errors []error
}

// Run lets the callers work for a while and returns their times, sorted. They begin
// one after the other, spread over the time that a task takes: callers who all begin
// at once wait for each other, whoever else there is.
func (c *Callers) Run(ctx context.Context, d time.Duration) *Times {
	until := time.Now().Add(d)
	all := make([]Times, len(c.list))
	var callers sync.WaitGroup
	for n, cl := range c.list {
		callers.Go(func() {
			pause(ctx, time.Duration(n)*(chunks-1)*paused/time.Duration(len(c.list)))
			for time.Now().Before(until) && ctx.Err() == nil {
				cl.stream(ctx, &all[n])
			}
		})
	}
	callers.Wait()
	t := new(Times)
	for i := range all {
		t.First = append(t.First, all[i].First...)
		t.Events = append(t.Events, all[i].Events...)
		t.Errors = append(t.Errors, all[i].Errors...)
		t.Tasks += all[i].Tasks
	}
	slices.Sort(t.First)
	slices.Sort(t.Events)
	return t
}

func (c *caller) stream(ctx context.Context, t *Times) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	c.said++
	m := &a2a.Message{MessageID: fmt.Sprintf("good-%d-%d", c.n, c.said), Role: a2a.RoleUser, Parts: []*a2a.Part{
		a2a.TextPart(fmt.Sprintf("stream %d %d", chunks, paused.Milliseconds())),
	}}
	before, got, id := time.Now(), 0, ""
	for el, err := range c.SendStreamingMessage(ctx, &a2a.SendMessageRequest{Message: m}) {
		now := time.Now()
		if err != nil {
			t.Errors = append(t.Errors, fmt.Errorf("caller %d, after %d chunks: %w", c.n, got, err))
			pause(ctx, paused)
			return
		}
		switch {
		case id == "":
			id = el.TaskID()
			t.First = append(t.First, now.Sub(before))
		case el.ArtifactUpdate != nil:
			if got++; got > 1 {
				t.Events = append(t.Events, now.Sub(before))
			}
			before = now
		}
	}
	if got != chunks {
		t.Errors = append(t.Errors, fmt.Errorf("caller %d got %d chunks of %d", c.n, got, chunks))
	}
	t.Tasks++
	c.ids = append(c.ids, id)
}

// Check gets the tasks that all callers had since the last time, and says what is
// wrong with them.
func (c *Callers) Check(ctx context.Context) (bad []string) {
	var want strings.Builder
	for i := range chunks {
		fmt.Fprintf(&want, "chunk %d\n", i+1)
	}
	for _, cl := range c.list {
		for _, id := range cl.ids {
			t, err := cl.GetTask(ctx, &a2a.GetTaskRequest{ID: id})
			if err != nil {
				bad = append(bad, fmt.Sprintf("task %s: %v", id, err))
				continue
			}
			var text strings.Builder
			for _, a := range t.Artifacts {
				for _, p := range a.Parts {
					text.WriteString(p.Text)
				}
			}
			if t.Status.State != a2a.TaskStateCompleted || text.String() != want.String() {
				bad = append(bad, fmt.Sprintf("task %s is %v with %q", id, t.Status.State, text.String()))
			}
		}
		cl.ids = nil
	}
	return bad
}

// Quantile returns the value that a part of the sorted ones does not exceed.
func Quantile(sorted []time.Duration, part float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, int(part*float64(len(sorted))))]
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
