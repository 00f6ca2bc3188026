package a2aserver_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/wire"
)

const patience = 20 * time.Second // for what should take no time

// A finished task is sent again from every position on, exactly, over every version and
// binding, before and after a restart; a cursor that is no position is refused.
func TestResumeByExtension(t *testing.T) {
	t.Parallel()
	s := newServer(t, agent.Demo())
	id, short := s.run("stream 4 0"), s.run("echo x")
	all, err := (door{"1.0", dialect.V10, a2a.BindingJSONRPC, true}).subscribe(t, s.url, id, "1", nil)
	if err != nil || len(all) != 7 {
		t.Fatalf("%v\n%s", err, lines(all))
	}
	last := all[len(all)-1].id
	check := func(t *testing.T) {
		for _, o := range doors() {
			t.Run(o.String(), func(t *testing.T) {
				for i := range all {
					list, err := o.subscribe(t, s.url, id, all[i].id, nil)
					if err != nil || len(list) == 0 || list[0].el.Task == nil || list[0].id != all[i].id {
						t.Fatalf("behind %s: %v\n%s", all[i].id, err, lines(list))
					}
					if got, want := lines(list[1:]), lines(all[i+1:]); got != want {
						t.Errorf("behind %s:\n%s\nwant\n%s", all[i].id, got, want)
					}
					if ended := list[0].el.Task.Status.State.Terminal(); ended != (i == len(all)-1) {
						t.Errorf("behind %s: the task as of then is %s", all[i].id, list[0])
					}
				}
				o.refuses(t, s.url, id, short, last)
			})
		}
	}
	t.Run("at first", check)
	s.stop()
	s.start()
	t.Run("after a restart", check)
}

// refuses tries cursors that are no position of the task.
func (o door) refuses(t *testing.T, base, id, short, last string) {
	t.Helper()
	field := `metadata["` + dialect.ResumeURI + `"].lastEventId`
	switch {
	case o.binding == a2a.BindingGRPC:
		field = "Last-Event-ID"
	case !o.body:
		field = "lastEventId"
	}
	end, _ := strconv.Atoi(last)
	for _, tt := range []struct{ id, cursor string }{
		{id, "-1"}, {id, "x"}, {id, "1.5"}, {id, "99999999999999999999"}, {id, strconv.Itoa(end + 1)}, {short, last}, {id, `"`},
	} {
		list, err := o.subscribe(t, base, tt.id, tt.cursor, nil)
		if err == nil || len(list) > 0 {
			t.Errorf("cursor %s: %s", tt.cursor, lines(list))
			continue
		}
		f := err.Error()
		if !strings.Contains(f, field+": ") || o.binding != a2a.BindingGRPC && !isInvalid(err) {
			t.Errorf("cursor %s: %v", tt.cursor, err)
		}
	}
}

func isInvalid(err error) bool {
	e, ok := err.(*a2a.Error)
	return ok && e.Code == a2a.CodeInvalidParams
}

// A running task is sent again from a position on, and then continues live.
func TestResumeByExtensionWhileItRuns(t *testing.T) {
	t.Parallel()
	for _, o := range doors() {
		t.Run(o.String(), func(t *testing.T) {
			t.Parallel()
			release := make(chan struct{})
			s := newServer(t, agent.Func(func(ctx context.Context, turn *agent.Turn) error {
				if err := turn.Status("held"); err != nil {
					return err
				}
				select {
				case <-release:
				case <-ctx.Done():
					return context.Cause(ctx)
				}
				w := turn.Artifact("result")
				for i := range 3 {
					if err := w.Add(a2a.TextPart("part " + strconv.Itoa(i))); err != nil {
						return err
					}
				}
				return nil
			}))
			c, ids, done := s.client(), make(chan string, 1), make(chan struct{})
			go func() {
				defer close(done)
				for el, err := range c.SendStreamingMessage(t.Context(), words("go")) {
					if err != nil {
						t.Error(err)
					} else if el.Task != nil {
						ids <- el.Task.ID
					}
				}
			}()
			id := <-ids
			freed := false
			list, err := o.subscribe(t, s.url, id, "1", func(list []seen) bool {
				if last := list[len(list)-1]; !freed && last.el.State() == a2a.TaskStateWorking {
					freed = true // it says so before anything of what follows is there
					close(release)
				}
				return false
			})
			if err != nil || !freed {
				t.Fatalf("%v\n%s", err, lines(list))
			}
			<-done
			again, err := o.subscribe(t, s.url, id, "1", nil)
			if err != nil || lines(again) != lines(list) {
				t.Errorf("live:\n%s\nafterwards (%v):\n%s", lines(list), err, lines(again))
			}
			if kinds := len(list); kinds < 5 || list[0].el.Task == nil || list[kinds-1].el.State() != a2a.TaskStateCompleted {
				t.Errorf("%s", lines(list))
			}
			// Without a cursor: the task in its present state, with its position.
			if o.d == dialect.V03 {
				whole, err := o.subscribe(t, s.url, id, "", nil)
				if err != nil || len(whole) != 1 || whole[0].id != list[len(list)-1].id {
					t.Errorf("without a cursor: %v\n%s", err, lines(whole))
				}
			}
		})
	}
}

// The header, which EventSource keeps up to date, wins over the query, which it only
// repeats; and elements have no positions for clients that do not ask for them.
func TestResumeHeaderAndQuery(t *testing.T) {
	t.Parallel()
	s := newServer(t, agent.Demo())
	id := s.run("stream 4 0")
	get := func(query, header string) string {
		r, err := http.NewRequestWithContext(t.Context(), "GET", s.url+"/tasks/"+id+":subscribe"+query, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Last-Event-ID", header)
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		var ids []string
		events := wire.NewReader(res.Body, 1<<20)
		for ev, err := events.Next(); err == nil; ev, err = events.Next() {
			els, err := dialect.CodecOf(dialect.V10, a2a.BindingHTTPJSON).DecodeEvent(dialect.SubscribeToTask, nil, ev.Data)
			if err != nil {
				t.Fatal(err)
			}
			own := dialect.TakeEventID(els[0])
			if query != "" && own != ev.ID || query == "" && own != "" {
				t.Errorf("event %s has the position %q", ev.ID, own)
			}
			ids = append(ids, ev.ID)
		}
		return strings.Join(ids, " ")
	}
	whole := get("", "1")
	if got := get("?lastEventId=", "1"); got != whole {
		t.Errorf("header and empty query: %s, want %s", got, whole)
	}
	ids := strings.Fields(whole)
	if got, want := get("?lastEventId=1", ids[3]), strings.Join(ids[3:], " "); got != want || slices.Contains(ids[:3], "") {
		t.Errorf("header and query: %s, want %s", got, want)
	}
}

// A message begins a stream with positions, if its header or its metadata asks for
// them.
func TestStreamsAreMarkedFromTheBeginning(t *testing.T) {
	t.Parallel()
	s := newServer(t, agent.Demo())
	for _, header := range []string{"", dialect.ResumeURI + ", https://example.org/other/v1"} {
		metadata := ""
		if header == "" {
			metadata = `,"metadata":{"` + dialect.ResumeURI + `":{}}`
		}
		body := `{"message":{"messageId":"` + rand.Text() + `","role":"ROLE_USER","parts":[{"text":"stream 3 0"}]}` + metadata + `}`
		r, err := http.NewRequestWithContext(t.Context(), "POST", s.url+"/message:stream", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("A2A-Extensions", header)
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if got := res.Header.Get("A2A-Extensions"); got != dialect.ResumeURI {
			t.Errorf("active: %q", got)
		}
		n := 0
		events := wire.NewReader(res.Body, 1<<20)
		for ev, err := events.Next(); err == nil; ev, err = events.Next() {
			els, err := dialect.CodecOf(dialect.V10, a2a.BindingHTTPJSON).DecodeEvent(dialect.SendStreamingMessage, nil, ev.Data)
			if err != nil {
				t.Fatal(err)
			}
			if n++; ev.ID == "" || dialect.TakeEventID(els[0]) != ev.ID {
				t.Errorf("event %q has another position: %s", ev.ID, ev.Data)
			}
		}
		if n < 5 {
			t.Errorf("%d events", n)
		}
	}
}

// A card without streaming does not get the extension, and one that has it already does
// not get it twice.
func TestResumeOnTheCard(t *testing.T) {
	t.Parallel()
	streams := agent.DemoCard()
	own := streams
	own.Capabilities.Extensions = []*a2a.AgentExtension{{URI: dialect.ResumeURI, Description: "our words"}, {URI: "https://example.org/x/v1"}}
	silent := streams
	silent.Capabilities.Streaming = new(bool)
	for _, tt := range []struct {
		card a2a.AgentCard
		want string
	}{
		{streams, dialect.ResumeURI}, {own, dialect.ResumeURI + " https://example.org/x/v1"}, {silent, ""},
	} {
		p, err := parley.New(tt.card, agent.Demo(), nil)
		if err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		p.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/.well-known/agent-card.json", nil))
		var card a2a.AgentCard
		if err := json.Unmarshal(w.Body.Bytes(), &card); err != nil {
			t.Fatal(err)
		}
		var uris []string
		for _, e := range card.Capabilities.Extensions {
			if e.URI == dialect.RetryURI || e.URI == dialect.HopsURI {
				continue // which come beside it
			}
			if uris = append(uris, e.URI); e.Required {
				t.Errorf("%s is required", e.URI)
			}
		}
		if got := strings.Join(uris, " "); got != tt.want {
			t.Errorf("extensions %q, want %q", got, tt.want)
		}
	}
}
