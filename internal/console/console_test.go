package console_test

import (
	"bytes"
	"context"
	"io"
	"iter"
	"mime/multipart"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/engine"
	"github.com/parley-a2a/parley/internal/console"
	"github.com/parley-a2a/parley/store"
)

// logOf reads logs as a server does: the service says whether the viewer may, and
// when there is more.
func logOf(svc a2a.Service, st store.Store) func(context.Context, string, string, int64, bool) iter.Seq2[[]*a2a.Entry, error] {
	return func(ctx context.Context, _, task string, after int64, follow bool) iter.Seq2[[]*a2a.Entry, error] {
		return func(yield func([]*a2a.Entry, error) bool) {
			read := func() bool {
				list, err := st.Entries(ctx, store.Key{ID: task}, after, 0)
				if err != nil {
					return yield(nil, err)
				}
				var batch []*a2a.Entry
				for i := range list {
					e, err := a2a.DecodeEntry(list[i].Seq, list[i].Time, a2a.EntryKind(list[i].Kind), list[i].Body)
					if err != nil {
						return yield(nil, err)
					}
					batch, after = append(batch, e), e.Seq
				}
				return len(batch) == 0 || yield(batch, nil)
			}
			t, err := svc.GetTask(ctx, &a2a.GetTaskRequest{ID: task})
			if err != nil {
				yield(nil, err)
				return
			}
			if !read() || !follow || t.Status.State.Terminal() {
				return
			}
			for _, err := range svc.SubscribeToTask(ctx, &a2a.SubscribeToTaskRequest{ID: task, After: after}) {
				if err != nil {
					yield(nil, err)
					return
				}
				if !read() {
					return
				}
			}
		}
	}
}

func serve(t *testing.T) *httptest.Server { return serveWith(t, func(*console.Options) {}) }

func serveWith(t *testing.T, adjust func(*console.Options)) *httptest.Server {
	card := agent.DemoCard()
	st := store.NewMemory()
	e := engine.New(st, agent.Demo(), &card, nil)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- e.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	o := console.Options{
		Agents: func() []console.Agent { return []console.Agent{{Card: &card, Service: e}} },
		Log:    logOf(e, st), Token: "open", Secret: []byte(strings.Repeat("s", 32)),
	}
	adjust(&o)
	c, err := console.New(o)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(c.At("/console", nil))
	t.Cleanup(s.Close)
	return s
}

func TestAnAnswerWithoutScripts(t *testing.T) {
	s := serve(t)
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	c := &http.Client{Jar: jar}
	get := func(path string) string {
		res, err := c.Get(s.URL + "/console" + path)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		b, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	if page := get("/"); !strings.Contains(page, "Log in") {
		t.Errorf("without a session: %s", page)
	}
	get("/open?token=open")
	token := regexp.MustCompile(`name="csrf" value="([^"]+)"`).FindStringSubmatch(get("/"))
	if token == nil {
		t.Fatal("the chat has no form")
	}
	var form bytes.Buffer
	m := multipart.NewWriter(&form)
	for name, value := range map[string]string{"csrf": token[1], "text": "echo <b>hello</b>"} {
		if err := m.WriteField(name, value); err != nil {
			t.Fatal(err)
		}
	}
	m.Close()
	res, err := c.Post(s.URL+"/console/chat/-", m.FormDataContentType(), &form)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	page, err := io.ReadAll(res.Body)
	if err != nil || !strings.Contains(string(page), "&lt;b&gt;hello&lt;/b&gt;</div>") || !strings.Contains(string(page), `id="composer"`) {
		t.Errorf("the answer is not on the page: %s, %v", page, err)
	}
}
