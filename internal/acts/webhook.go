package acts

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/parley-a2a/parley/internal/wake"
)

// receiver is an HTTP server that receives webhooks.
type receiver struct {
	url    string // its address, for agents
	server *http.Server
	serves sync.WaitGroup

	mu    sync.Mutex // protects the field below
	hooks map[string]*hook
}

// hook is one address of a receiver.
type hook struct {
	url  string
	kept *kept

	mu      sync.Mutex // protects the fields below
	got     []*delivery
	changed wake.Bell
}

type delivery struct {
	method string
	header http.Header
	text   []byte
	body   any // nil if it is not JSON
}

// receive opens the receiver.
func receive(o *Options) (*receiver, error) {
	at := cmp.Or(o.WebhookListen, "127.0.0.1:0")
	l, err := net.Listen("tcp", at)
	if err != nil {
		return nil, fmt.Errorf("the receiver of webhooks: %w", err)
	}
	r := &receiver{url: strings.TrimSuffix(o.WebhookURL, "/"), hooks: map[string]*hook{}}
	if r.url == "" {
		r.url = "http://" + l.Addr().String()
	}
	r.server = &http.Server{Handler: r, ReadTimeout: 30 * time.Second, ReadHeaderTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second}
	r.serves.Go(func() { _ = r.server.Serve(l) }) // until close
	return r, nil
}

func (r *receiver) close() {
	r.server.Close()
	r.serves.Wait()
}

func (r *receiver) add(k *kept) *hook {
	id := "/hook/" + uuid.NewString()
	h := &hook{url: r.url + id, kept: k}
	r.mu.Lock()
	r.hooks[id] = h
	r.mu.Unlock()
	return h
}

// ServeHTTP accepts a delivery, and answers the check of version 0.x for the ownership of the
// address.
func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	i := strings.Index(req.URL.Path, "/hook/")
	if i < 0 {
		http.NotFound(w, req)
		return
	}
	r.mu.Lock()
	h := r.hooks[req.URL.Path[i:]]
	r.mu.Unlock()
	if h == nil {
		http.NotFound(w, req)
		return
	}
	if token := req.URL.Query().Get("validationToken"); token != "" && req.Method == http.MethodGet {
		w.Header().Set("Content-Type", "text/plain")
		io.WriteString(w, token)
		return
	}
	text, err := io.ReadAll(keptBody{req.Body, h.kept})
	if err != nil || h.kept.add(keptItem) != nil {
		return
	}
	d := &delivery{method: req.Method, header: req.Header, text: text}
	d.body, _ = decode(text)
	h.mu.Lock()
	h.got = append(h.got, d)
	h.changed.Ring()
	h.mu.Unlock()
	w.WriteHeader(http.StatusOK)
}

// wait waits for deliveries.
func (h *hook) wait(ctx context.Context, enough func([]*delivery) bool) ([]*delivery, bool) {
	for {
		h.mu.Lock()
		got, changed := h.got, h.changed.Wait()
		h.mu.Unlock()
		if enough(got) {
			return got, true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return got, false
		}
	}
}

// state returns the task state in a delivery: from a StreamResponse, or from a task or an event
// of 0.3.
func (d *delivery) state() string {
	e := &StreamEvent{value: d.body}
	if s := e.state(); s != "" {
		return s
	}
	if s, ok := lookup(d.body, "status.state"); ok {
		return decodeState03(s)
	}
	return ""
}

// value is a delivery for assertions; header names are in lower case.
func (d *delivery) value() obj {
	h := obj{}
	for name, values := range d.header {
		h[strings.ToLower(name)] = strings.Join(values, ", ")
	}
	return obj{"method": d.method, "headers": h, "body": d.body, "state": d.state()}
}

func (d *delivery) shown() []string {
	lines := append([]string{d.method + " (webhook)"}, headerLines(d.header)...)
	return append(lines, bodyLines(d.text)...)
}
