package torture

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/parley-a2a/parley/a2aclient"
)

// failure is what a receiver does to one attempt.
type failure int

const (
	failNot    failure = iota
	failSlow           // it takes its time; the delivery is accepted all the same
	failHalf           // says 200 and breaks off in the body, which nobody needs
	fail500            // and from here on it is to be sent again
	fail503            // with Retry-After
	fail429            // with Retry-After
	failReset          // the connection, before a word
	failCut            // the connection, in the middle of the status
	failLost           // it accepts the delivery, then resets the connection
	failHang           // it says nothing
	failBroken         // the sender broke off
	faults2
)

var failureNames = [faults2]string{
	"none", "slow", "half a body", "500", "503", "429", "reset", "cut", "accepted, then reset", "no answer", "broken off by the sender",
}

// receiver is one host of webhooks.
type receiver struct {
	w    *hookWorld
	n    int
	http *http.Server
	url  string

	mu  sync.Mutex // protects the field below
	rng *rand.Rand
}

func newReceiver(w *hookWorld, n int) (*receiver, error) {
	l, err := net.Listen("tcp", net.JoinHostPort(cmp.Or(w.o.Receivers, "127.0.0.1"), "0"))
	if err != nil {
		return nil, err
	}
	r := &receiver{w: w, n: n, url: "http://" + l.Addr().String(), rng: rand.New(rand.NewPCG(w.o.Seed, uint64(n)+1<<32))}
	r.http = &http.Server{Handler: r}
	go r.http.Serve(l) // ends with close
	return r, nil
}

func (r *receiver) close() { r.http.Close() }

// maxInARow is how often a delivery fails: each time the server waits up to twice
// as long, and the judge would take it for lost.
const maxInARow = 6

// dice decides about one attempt: 30 % of all fail. failed is how often this
// delivery failed before.
func (r *receiver) dice(failed int) failure {
	r.mu.Lock()
	defer r.mu.Unlock()
	bad := 300
	if r.w.o.Mercy {
		if bad = 430; failed > 0 { // 430 of 1,430
			bad = 0
		}
	}
	if failed >= maxInARow {
		bad = 0
	}
	x := r.rng.IntN(1000)
	if x >= bad {
		switch x -= bad; {
		case x < 50:
			return failSlow
		case x < 70:
			return failHalf
		}
		return failNot
	}
	switch x = r.rng.IntN(100); {
	case x < 30:
		return fail500
	case x < 40:
		return fail503
	case x < 50:
		return fail429
	case x < 66:
		return failReset
	case x < 82:
		return failCut
	case x == 82 && r.w.mayHang():
		return failHang
	}
	return failLost
}

// mayHang reports whether one more request may be left alone.
func (w *hookWorld) mayHang() bool {
	switch {
	case w.o.Hangs == 0:
		return true
	case w.count.kills.Load() > 1 && w.o.Hangs > 0:
		return false // a kill shortens it
	}
	return w.count.hangs.Add(1) <= int64(w.o.Hangs)
}

func (r *receiver) ServeHTTP(rw http.ResponseWriter, req *http.Request) {
	defer func() {
		select {
		case r.w.news <- struct{}{}:
		default:
		}
	}()
	r.w.count.posts.Add(1)
	h := r.hookOf(req)
	if h == nil {
		r.w.violate(hookContent, "%s %s came to a receiver", req.Method, req.URL.Path)
		http.NotFound(rw, req)
		return
	}
	p, failed, known := r.arrived(h, req.Header.Get("Webhook-Id"))
	body, err := io.ReadAll(req.Body)
	if err != nil {
		r.ends(h, p, failBroken, false)
		return
	}
	if !r.examine(h, p, known, req.Header, body) {
		http.Error(rw, "the delivery does not verify", http.StatusUnauthorized)
		r.ends(h, p, failNot, false)
		return
	}
	if r.refuses(h, p) {
		r.ends(h, p, failNot, false)
		rw.WriteHeader(http.StatusGone)
		return
	}
	f := r.dice(failed)
	r.ends(h, p, f, f < fail500 || f == failLost)
	r.answer(rw, req, f)
}

func (r *receiver) hookOf(req *http.Request) *hook {
	n, err := strconv.Atoi(strings.TrimPrefix(req.URL.Path, "/hook/"))
	r.w.mu.Lock()
	defer r.w.mu.Unlock()
	if err != nil || req.Method != http.MethodPost || n < 0 || n >= len(r.w.hooks) || !strings.HasPrefix(r.w.hooks[n].url, r.url) {
		return nil
	}
	return r.w.hooks[n]
}

// arrived notes an attempt before anything can hold it up. failed is how often
// its delivery has failed, known whether it was here at all.
func (r *receiver) arrived(h *hook, id string) (p *post, failed int, known bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	ready := r.w.ready.Load() // first: what happens in between makes it unsteady
	p = &post{id: id, at: time.Now(), life: int(r.w.count.kills.Load() + r.w.count.stops.Load())}
	p.steady = int(ready) == p.life+1
	accepted := false
	for _, q := range h.posts {
		if q.id != id {
			continue
		}
		known = known || q.key != ""
		accepted = accepted || q.accepted
		if q.failure >= fail500 {
			failed++
		}
	}
	if accepted {
		r.w.count.repeats.Add(1)
	}
	h.posts = append(h.posts, p)
	// A delivery that was on its way when the client heard that the hook is gone
	// may arrive: soon, or where one of several servers was stopped, when it goes on.
	const onItsWay = time.Second
	if !h.deleted.IsZero() && p.at.Sub(h.deleted) > onItsWay {
		if r.w.many() && (h.late == "" || h.late == id) {
			h.late = id
			r.w.count.late.Add(1)
			return p, failed, known
		}
		r.w.violate(hookAfter, "%s got a post %v after it was deleted\n%s", h, p.at.Sub(h.deleted), h.history())
	}
	return p, failed, known
}

// examine verifies a delivery as receivers do, and more.
func (r *receiver) examine(h *hook, p *post, known bool, header http.Header, body []byte) bool {
	ctx := context.Background()
	bad := func(format string, args ...any) bool {
		r.w.violate(hookProof, "%s: %s\n%.500s", h, fmt.Sprintf(format, args...), body)
		return false
	}
	d, err := h.judge.Verify(ctx, header, body)
	switch {
	case err != nil:
		return bad("%v", err)
	case !d.ByKey || !d.ByToken || d.ID != p.id:
		return bad("key %v, token %v, id %q as %q", d.ByKey, d.ByToken, p.id, d.ID)
	case d.Duplicate && !known:
		return bad("%s is new and taken for a duplicate", p.id)
	case (d.Task != nil) != h.whole():
		return bad("it is not what its version has")
	case header.Get(a2aToken) != h.token:
		return bad("%s is %q", a2aToken, header.Get(a2aToken))
	}
	switch auth := header.Get("Authorization"); {
	case h.secret != "" && auth != "Bearer "+h.secret, h.secret == "" && h.jwt == nil && auth != "":
		return bad("Authorization is %q", auth)
	case h.jwt != nil:
		old := header.Clone()
		for name := range old {
			if strings.HasPrefix(name, "Webhook-") {
				delete(old, name)
			}
		}
		if j, err := h.jwt.Verify(ctx, old, body); err != nil || !j.ByKey || j.ID != p.id {
			return bad("its JWT: %+v, %v", j, err)
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.task == "" {
		h.task = d.TaskID
	}
	if h.task != d.TaskID {
		r.w.violate(hookContent, "%s got a post about %s", h, d.TaskID)
	}
	if d.Task != nil {
		p.key, p.over = keyOfTask(d.Task), d.Task.Status.State.Terminal()
	} else {
		p.key, p.over = keyOfEvent(d.Event), d.Event.State().Terminal()
	}
	return true
}

const a2aToken = "X-A2A-Notification-Token"

// refuses reports whether the hook is answered with 410. The first delivery that
// is may come again if its sender did not live to note it; whether it did is
// certain only of a time in which no life was about to end.
func (r *receiver) refuses(h *hook, p *post) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.fate != hookGone:
		return false
	case h.refused == "":
		for _, q := range h.posts {
			if q.accepted && q.id != p.id {
				h.refused = p.id
			}
		}
		return h.refused != ""
	}
	for _, q := range h.posts {
		if r.w.many() && (p.id == h.refused || q.accepted && q.id == p.id) {
			break // it was on its way when its server was stopped, and another went on
		}
		if q != p && q.id == p.id && q.life == p.life && q.steady || p.id != h.refused {
			r.w.violate(hookAfter, "%s got %s after its receiver had answered 410\n%s", h, p.id, h.history())
			break
		}
	}
	return true
}

// ends notes what becomes of an attempt, before its sender can know.
func (r *receiver) ends(h *hook, p *post, f failure, accepted bool) {
	r.w.count.failures[f].Add(1)
	h.mu.Lock()
	defer h.mu.Unlock()
	p.failure, p.accepted = f, accepted
	if !accepted {
		return
	}
	r.w.count.accepted.Add(1)
	h.ended = h.ended || p.over
	if h.fate == hookDeleted && h.made && h.deleted.IsZero() {
		select {
		case r.w.deletes <- h:
		default: // it has been here often enough
		}
	}
}

func (r *receiver) answer(rw http.ResponseWriter, req *http.Request, f failure) {
	switch f {
	case failNot:
		rw.WriteHeader(http.StatusNoContent)
	case failSlow:
		pause(req.Context(), 200*time.Millisecond)
		rw.WriteHeader(http.StatusOK)
		for range 5 {
			_, _ = io.WriteString(rw, "thanks\n")
			_ = http.NewResponseController(rw).Flush()
			pause(req.Context(), 50*time.Millisecond)
		}
	case fail500:
		http.Error(rw, "out of order", http.StatusInternalServerError)
	case fail503:
		rw.Header().Set("Retry-After", "1")
		rw.WriteHeader(http.StatusServiceUnavailable)
	case fail429:
		rw.Header().Set("Retry-After", "1")
		rw.WriteHeader(http.StatusTooManyRequests)
	case failHang:
		pause(req.Context(), 30*time.Second) // its sender's patience is less
	case failHalf:
		breakOff(rw, "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nhalf")
	case failCut:
		breakOff(rw, "HTTP/1.1 20")
	case failReset, failLost:
		breakOff(rw, "")
	}
}

// breakOff says a few words and resets the connection, or closes it behind
// them, as the words would be lost with a reset.
func breakOff(rw http.ResponseWriter, words string) {
	conn, _, err := http.NewResponseController(rw).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	if tcp, ok := conn.(*net.TCPConn); ok && words == "" {
		_ = tcp.SetLinger(0)
	}
	_, _ = io.WriteString(conn, words)
}

// keyring has the agent's keys, as they were at first: they are to outlive it.
type keyring struct{ doc []byte }

const keysPath = "/.well-known/jwks.json"

func fetchKeys(ctx context.Context, url string) (*keyring, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+keysPath, nil)
	if err != nil {
		return nil, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("get the keys: %w", err)
	}
	defer res.Body.Close()
	doc, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("get the keys: %s", res.Status)
	}
	return &keyring{doc}, err
}

// RoundTrip answers every request with the keys.
func (k *keyring) RoundTrip(req *http.Request) (*http.Response, error) {
	head := "HTTP/1.1 200 OK\r\nContent-Type: application/jwk-set+json\r\nContent-Length: " + strconv.Itoa(len(k.doc)) + "\r\n\r\n"
	return http.ReadResponse(bufio.NewReader(io.MultiReader(strings.NewReader(head), bytes.NewReader(k.doc))), req)
}

// verifier judges deliveries that are signed with the agent's keys and token.
func (k *keyring) verifier(url, token string) (*a2aclient.WebhookVerifier, error) {
	return a2aclient.NewWebhookVerifier(a2aclient.WebhookOptions{
		Keys: url + keysPath, Token: token, HTTPClient: &http.Client{Transport: k}, Remember: 1000,
	})
}
