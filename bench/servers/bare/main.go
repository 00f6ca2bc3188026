// Command bare is the limit: net/http and encoding/json, and answers of the same
// bytes as Parley's to the requests of the bench, with nothing in between. There
// are no tasks, no rules and no store.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/parley-a2a/parley/bench/script"
)

func main() {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("READY", l.Addr())
	log.Fatal(http.Serve(l, http.HandlerFunc(serve)))
}

// request is what is read of a request.
type request struct {
	ID     string
	Method string
	Params struct {
		ID      string
		Message message
	}
}

type message struct {
	MessageID string
	Parts     []struct{ Text, Raw string }
}

func serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var q request
	if err == nil {
		err = json.Unmarshal(body, &q)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var m message
	if m = q.Params.Message; len(m.Parts) == 0 {
		m.Parts = append(m.Parts, struct{ Text, Raw string }{})
	}
	c := script.Parse(m.Parts[0].Text)
	switch q.Method {
	case "SendMessage":
		switch {
		case len(m.Parts) > 1:
			t := newTask("")
			answer(w, q.ID, `{"task":`+t.json("COMPLETED", artifact("file", `{"raw":"`+m.Parts[1].Raw+`","mediaType":"application/octet-stream"}`), "")+`}`)
		case c.Every > 0 || c.Word == "hold":
			t := newTask("")
			begin(t, c)
			answer(w, q.ID, `{"task":`+t.json("SUBMITTED", "", history(t, m))+`}`)
		default:
			t := newTask(c.Text)
			answer(w, q.ID, `{"task":`+t.json("COMPLETED", artifact("echo", `{"text":"`+c.Text+`"}`), history(t, m))+`}`)
		}
	case "GetTask":
		// The id has the text in it, so that nothing has to be kept.
		text := q.Params.ID[len(q.Params.ID)-12:]
		t := task{q.Params.ID, uuid.NewString()}
		m.MessageID, m.Parts[0].Text = uuid.NewString()[:20], "echo "+text
		answer(w, q.ID, t.json("COMPLETED", artifact("echo", `{"text":"`+text+`"}`), history(t, m)))
	case "SendStreamingMessage":
		stream(w, q.ID, newTask(""), m, c)
	case "SubscribeToTask":
		subscribe(w, r, q.ID, q.Params.ID)
	default:
		http.Error(w, "no such method", http.StatusBadRequest)
	}
}

type task struct{ id, context string }

// newTask makes up ids. If text has 12 characters it becomes part of them.
func newTask(text string) task {
	t := task{uuid.NewString(), uuid.NewString()}
	if len(text) == 12 {
		t.id = t.id[:24] + text
	}
	return t
}

func status(state string) string {
	return `{"state":"TASK_STATE_` + state + `","timestamp":"` + time.Now().UTC().Format("2006-01-02T15:04:05.000Z") + `"}`
}

func artifact(name, part string) string {
	return `,"artifacts":[{"artifactId":"` + uuid.NewString() + `","name":"` + name + `","parts":[` + part + `]}]`
}

func history(t task, m message) string {
	return `,"history":[{"messageId":"` + m.MessageID + `","contextId":"` + t.context + `","taskId":"` + t.id +
		`","role":"ROLE_USER","parts":[{"text":"` + m.Parts[0].Text + `"}]}]`
}

func (t task) json(state, artifacts, history string) string {
	return `{"id":"` + t.id + `","contextId":"` + t.context + `","status":` + status(state) + artifacts + history + `}`
}

func envelope(id, result string) string {
	return `{"jsonrpc":"2.0","id":"` + id + `","result":` + result + `}`
}

func answer(w http.ResponseWriter, id, result string) {
	text := envelope(id, result)
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Length", strconv.Itoa(len(text)))
	_, _ = io.WriteString(w, text) // whoever has gone needs no answer
}

// events writes server-sent events, each flushed by itself.
type events struct {
	w   http.ResponseWriter
	f   *http.ResponseController
	id  string // of the request
	seq int
}

func newEvents(w http.ResponseWriter, id string) *events {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Accel-Buffering", "no")
	return &events{w: w, f: http.NewResponseController(w), id: id, seq: 1}
}

func (e *events) send(result string) error {
	e.seq++
	if _, err := io.WriteString(e.w, "id: "+strconv.Itoa(e.seq)+"\ndata: "+envelope(e.id, result)+"\n\n"); err != nil {
		return err
	}
	return e.f.Flush()
}

func statusUpdate(t task, state string) string {
	return `{"statusUpdate":{"taskId":"` + t.id + `","contextId":"` + t.context + `","status":` + status(state) + `}}`
}

func chunk(t task, artifact string, i, n, size int) string {
	var b strings.Builder
	b.WriteString(`{"artifactUpdate":{"taskId":"` + t.id + `","contextId":"` + t.context + `","artifact":{"artifactId":"` + artifact + `",`)
	if i == 1 {
		b.WriteString(`"name":"stream",`)
	}
	b.WriteString(`"parts":[{"text":"` + script.Chunk(i, size) + `"}]}`)
	if i > 1 {
		b.WriteString(`,"append":true`)
	}
	if i == n {
		b.WriteString(`,"lastChunk":true`)
	}
	b.WriteString(`}}`)
	return b.String()
}

func stream(w http.ResponseWriter, id string, t task, m message, c script.Command) {
	e := newEvents(w, id)
	artifact := uuid.NewString()
	err := e.send(`{"task":` + t.json("SUBMITTED", "", history(t, m)) + `}`)
	if err == nil {
		err = e.send(statusUpdate(t, "WORKING"))
	}
	for i := 1; i <= c.N && err == nil; i++ {
		err = e.send(chunk(t, artifact, i, c.N, c.Size))
	}
	if err == nil {
		_ = e.send(statusUpdate(t, "COMPLETED")) // whoever has gone needs no answer
	}
}

// topic is a task that goes on. Its readers wait for next to be closed, and write
// what is new then.
type topic struct {
	task task

	mu   sync.Mutex // protects the fields below
	all  []string   // chunks
	next chan struct{}
}

var topics sync.Map // task id → *topic

func begin(t task, c script.Command) {
	p := &topic{task: t, next: make(chan struct{})}
	topics.Store(t.id, p)
	if c.Every > 0 {
		go p.pulse(c)
	}
}

func (p *topic) pulse(c script.Command) {
	artifact := uuid.NewString()
	tick := time.NewTicker(c.Every)
	for i := 1; ; i++ {
		<-tick.C
		p.mu.Lock()
		p.all = append(p.all, chunk(p.task, artifact, i, -1, c.Size))
		close(p.next)
		p.next = make(chan struct{})
		p.mu.Unlock()
	}
}

func subscribe(w http.ResponseWriter, r *http.Request, id, taskID string) {
	found, ok := topics.Load(taskID)
	if !ok {
		http.Error(w, "no such task", http.StatusNotFound)
		return
	}
	p := found.(*topic)
	p.mu.Lock()
	at, next := len(p.all), p.next
	p.mu.Unlock()
	e := newEvents(w, id)
	if e.send(`{"task":`+p.task.json("WORKING", "", "")+`}`) != nil {
		return
	}
	for {
		select {
		case <-next:
		case <-r.Context().Done():
			return
		}
		p.mu.Lock()
		news := p.all[at:]
		next = p.next
		p.mu.Unlock()
		for _, one := range news {
			if e.send(one) != nil {
				return
			}
		}
		at += len(news)
	}
}
