package torture

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
)

var hookFigures = flag.Int("hook-figures", 0, "pending deliveries to a dead host that TestWebhookFigures makes; 0 skips it")

// TestWebhookFigures measures what webhooks that do not work cost the others.
func TestWebhookFigures(t *testing.T) {
	if *hookFigures == 0 {
		t.Skip("measures only with -hook-figures 10000")
	}
	program := built(t)
	addr, err := FreePort(*seed + 17)
	if err != nil {
		t.Fatal(err)
	}
	t.Run("dead host", func(t *testing.T) { deadHost(t, program, addr) })
	t.Run("slow host", func(t *testing.T) { slowHost(t, program, addr) })
}

// deadHost measures memory, and the deliveries to a healthy host, while a dead
// one has many waiting.
func deadHost(t *testing.T, program, addr string) {
	var b strings.Builder
	fmt.Fprintf(&b, "%d configurations on one host, each with deliveries waiting; MiB of private memory; ms from a message to the delivery of its task's end, at a healthy host\n\n", *hookFigures)
	b.WriteString("| host | at rest | configured | waiting | 30 s later | peak | tries | median before | p99 | median with | p99 |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	for _, kind := range []string{"closed port", "accepts, says nothing"} {
		l := live(t, program, addr, t.TempDir())
		p := newProbe(t, l)
		dead, tries := deadPort(t, kind == "closed port")
		before := p.measure(t, 300)
		rest := l.memory()
		tasks := configure(t, l, "http://"+dead+"/", *hookFigures)
		configured := l.memory()
		answer(t, l, tasks)
		waiting := l.memory()
		began := time.Now()
		with := p.measure(t, 300)
		pause(t.Context(), time.Until(began.Add(30*time.Second)))
		later := l.memory()
		fmt.Fprintf(&b, "| %s | %.0f | %.0f | %.0f | %.0f | %.0f | %s | %s | %s | %s | %s |\n", kind, rest.now, configured.now, waiting.now, later.now, later.peak,
			tries(), msOf(before, 0.5), msOf(before, 0.99), msOf(with, 0.5), msOf(with, 0.99))
		if msOf := quantile(with, 0.99); msOf > time.Second {
			t.Errorf("%s: a delivery to a healthy host took %v", kind, msOf)
		}
		l.stop()
	}
	t.Logf("\n%s", b.String())
}

// pushing returns a client that may ask for webhooks.
func pushing(t *testing.T, l *life) *a2aclient.Client {
	t.Helper()
	c, err := a2aclient.Dial(t.Context(), l.url, &a2aclient.Options{HTTPClient: l.http, Version: "1.0", Bindings: []string{a2a.BindingJSONRPC}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// deadPort returns an address that does not serve, and what tells how often it
// was tried, where that can be known.
func deadPort(t *testing.T, closed bool) (addr string, tries func() string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if closed {
		l.Close()
		return l.Addr().String(), func() string { return "–" }
	}
	t.Cleanup(func() { l.Close() })
	var n atomic.Int64
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			n.Add(1)
			t.Cleanup(func() { c.Close() })
		}
	}()
	return l.Addr().String(), func() string { return fmt.Sprint(n.Load()) }
}

// configure makes tasks that ask something, with n configurations in all.
func configure(t *testing.T, l *life, url string, n int) (tasks []*a2a.Task) {
	t.Helper()
	c := pushing(t, l)
	const each = 100 // the most that a task may have
	var work sync.WaitGroup
	defer work.Wait()
	limit := make(chan struct{}, 16)
	for i := 0; i < n; i += each {
		res, err := c.SendMessage(t.Context(), say("", "", "ask"))
		if err != nil {
			t.Fatal(err)
		}
		tasks = append(tasks, res.Task)
		for k := range min(each, n-i) {
			limit <- struct{}{}
			work.Go(func() {
				defer func() { <-limit }()
				_, err := c.CreateTaskPushNotificationConfig(t.Context(), &a2a.TaskPushNotificationConfig{
					TaskID: res.Task.ID, ID: fmt.Sprint(k), URL: fmt.Sprintf("%s%d", url, i+k), Token: a2a.Secret(fmt.Sprintf("token-%d", i+k)),
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
	}
	return tasks
}

// answer answers the tasks, so that each has something to deliver.
func answer(t *testing.T, l *life, tasks []*a2a.Task) {
	t.Helper()
	c := pushing(t, l)
	for _, task := range tasks {
		req := say("", "", "Ada")
		req.Message.TaskID = task.ID
		if res, err := c.SendMessage(t.Context(), req); err != nil || res.Task.Status.State != a2a.TaskStateCompleted {
			t.Fatal(res, err)
		}
	}
}

// probe is a healthy receiver of a server's webhooks.
type probe struct {
	url   string
	c     *a2aclient.Client
	ended chan time.Time // when the end of a task came
}

func newProbe(t *testing.T, l *life) *probe {
	t.Helper()
	in, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &probe{url: "http://" + in.Addr().String() + "/", c: pushing(t, l), ended: make(chan time.Time, 1)}
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		at := time.Now()
		body, _ := io.ReadAll(r.Body)
		if strings.Contains(string(body), a2a.TaskStateCompleted.String()) {
			p.ended <- at
		}
	})}
	go s.Serve(in)
	t.Cleanup(func() { s.Close() })
	return p
}

// measure returns how long n deliveries took, one after the other.
func (p *probe) measure(t *testing.T, n int) (took []time.Duration) {
	t.Helper()
	for range n {
		req := say("", "", "echo hello")
		req.Configuration = &a2a.SendMessageConfiguration{TaskPushNotificationConfig: &a2a.TaskPushNotificationConfig{URL: p.url}}
		began := time.Now()
		if _, err := p.c.SendMessage(t.Context(), req); err != nil {
			t.Fatal(err)
		}
		select {
		case at := <-p.ended:
			took = append(took, at.Sub(began))
		case <-time.After(time.Minute):
			t.Fatal("nothing was delivered to a healthy host within a minute")
		}
	}
	return took
}

// slowHost measures agents and streams whose webhooks take 5 s each.
func slowHost(t *testing.T, program, addr string) {
	l := live(t, program, addr, t.TempDir())
	in, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		pause(r.Context(), 5*time.Second)
	})}
	go s.Serve(in)
	t.Cleanup(func() { s.Close() })
	url := "http://" + in.Addr().String() + "/"

	names := []string{"none", "one", "100"}
	gaps, work := make([][]time.Duration, len(names)), make([][]time.Duration, len(names))
	for range 5 { // in turn, so that what else the machine does hits all
		for i, hooks := range []int{0, 1, 100} {
			g, w := streamed(t, l, url, hooks)
			gaps[i], work[i] = append(gaps[i], g...), append(work[i], w)
		}
	}
	var b strings.Builder
	b.WriteString("tasks of 200 chunks, one every 10 ms, with webhooks that take 5 s for each event; ms\n\n")
	b.WriteString("| webhooks | from event to event, in the stream: median | p99 | longest | the agent's work, 200 chunks: median | longest |\n|---|--:|--:|--:|--:|--:|\n")
	for i, name := range names {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", name, msOf(gaps[i], 0.5), msOf(gaps[i], 0.99), msOf(gaps[i], 1), msOf(work[i], 0.5), msOf(work[i], 1))
	}
	t.Logf("\n%s", b.String())
	if with, without := quantile(work[1], 0.5), quantile(work[0], 0.5); with > without+time.Second {
		t.Errorf("the agent took %v with a slow webhook and %v without", with, without)
	}
	l.stop()
}

// streamed runs one task in a stream. work is from its first to its last status,
// by the server's clock.
func streamed(t *testing.T, l *life, url string, hooks int) (gaps []time.Duration, work time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c := pushing(t, l)
	req := say("", "", "stream 200 10")
	if hooks > 0 {
		req.Configuration = &a2a.SendMessageConfiguration{TaskPushNotificationConfig: &a2a.TaskPushNotificationConfig{URL: url, ID: "first"}}
	}
	var begun, last time.Time
	for el, err := range c.SendStreamingMessage(ctx, req) {
		if err != nil {
			t.Fatal(err)
		}
		at := time.Now()
		switch {
		case el.Task != nil:
			for i := 1; i < hooks; i++ {
				if _, err := c.CreateTaskPushNotificationConfig(ctx, &a2a.TaskPushNotificationConfig{TaskID: el.Task.ID, URL: url}); err != nil {
					t.Fatal(err)
				}
			}
			continue
		case el.ArtifactUpdate != nil:
			if !last.IsZero() {
				gaps = append(gaps, at.Sub(last))
			}
			last = at
		case begun.IsZero():
			begun = el.StatusUpdate.Status.Timestamp
		default:
			work = el.StatusUpdate.Status.Timestamp.Sub(begun)
		}
	}
	return gaps, work
}

func quantile(took []time.Duration, q float64) time.Duration {
	all := slices.Sorted(slices.Values(took))
	return all[min(int(q*float64(len(all))), len(all)-1)]
}

func msOf(took []time.Duration, q float64) string {
	return fmt.Sprintf("%.1f", quantile(took, q).Seconds()*1000)
}
