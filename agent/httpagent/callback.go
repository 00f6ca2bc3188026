package httpagent

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/parley-a2a/parley/a2a"
)

// Callbacks receives the callbacks of services that answered 202. Several agents may
// share one. An agent that replaces another, as when a configuration is reloaded, needs
// the same Callbacks; otherwise services cannot call back about messages that the other
// is still working on. It may be used concurrently.
type Callbacks struct {
	secret []byte // set by NewCallbacks, then constant

	mu     sync.Mutex // protects the fields below
	url    string     // ends with a slash
	open   map[string]*inbox
	over   map[string]bool // keys of the newest exchanges that ended here
	oldest []string        // of over, oldest first
}

// NewCallbacks returns a Callbacks whose handler services reach at rawURL, an absolute
// URL of http or https; each message appends a path of its own. With several processes
// the URL must lead to the process that has the task. The addresses are signed with
// secret, so they cannot be guessed without it. It needs at least 16 bytes and must be
// the same after a restart; otherwise callbacks for messages sent before are refused.
func NewCallbacks(rawURL string, secret a2a.Secret) (*Callbacks, error) {
	if len(secret) < 16 {
		return nil, errors.New("httpagent: callbacks need a secret of at least 16 bytes")
	}
	c := &Callbacks{
		secret: []byte(secret.Reveal()),
		open:   map[string]*inbox{},
		over:   map[string]bool{},
	}
	if err := c.Move(rawURL); err != nil {
		return nil, err
	}
	return c, nil
}

// Move makes services call back at another URL, of the form that NewCallbacks takes,
// from the next message on. Services that were given the old URL can still call back as
// long as it leads to the handler, too.
func (c *Callbacks) Move(rawURL string) error {
	u := a2a.WebURL(rawURL)
	if u == nil || u.RawQuery != "" || u.Fragment != "" {
		return errors.New("httpagent: callbacks need an absolute URL of http or https without a query")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.url = strings.TrimRight(rawURL, "/") + "/"
	return nil
}

// Handler handles the calls of services. It needs no guard: a caller that knows the
// address of a message may speak for the service about this message, and nothing else.
// Mount it at the path of the URL, with any prefix.
func (c *Callbacks) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) { tell(w, c.take(w, q)) })
}

const (
	maxOver    = 10_000 // how many ends are remembered
	maxWaiting = 64     // how many callbacks of an exchange may wait for their turn
	bodyTime   = time.Minute
	handTime   = 5 * time.Second
)

// inbox receives the callbacks of one exchange.
type inbox struct {
	key   string
	most  int64 // bytes of a callback
	calls chan *call
	slots chan struct{} // one for each call that waits or is being handled
	gone  chan struct{} // closed when no run listens any more
	last  reply         // set before gone is closed, for callbacks that come too late
}

// call is one callback on its way to its run.
type call struct {
	ev     *event
	size   int
	answer chan reply // has capacity 1
}

// reply is the answer to a callback.
type reply struct {
	status int
	text   string
}

// address returns the URL at which the service calls back about an exchange, or "".
func (c *Callbacks) address(key string) string {
	if c == nil {
		return ""
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.url + key + "." + c.seal(key)
}

func (c *Callbacks) seal(key string) string {
	h := hmac.New(sha256.New, c.secret)
	h.Write([]byte("httpagent callback\n" + key))
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}

// keyOf returns the exchange that an address belongs to, if its signature is valid.
func (c *Callbacks) keyOf(address string) (string, bool) {
	key, seal, ok := strings.Cut(path.Base(address), ".")
	return key, ok && hmac.Equal([]byte(seal), []byte(c.seal(key)))
}

// join begins to listen to the callbacks of an exchange. It returns nil if there are no
// callbacks.
func (c *Callbacks) join(key string, most int64) *inbox {
	if c == nil {
		return nil
	}
	in := &inbox{key: key, most: most, calls: make(chan *call), slots: make(chan struct{}, maxWaiting), gone: make(chan struct{})}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open[key] = in
	return in
}

// leave ends what join began. over says that no run will listen again; later callbacks
// are told so.
func (c *Callbacks) leave(in *inbox, over bool) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open[in.key] == in {
		delete(c.open, in.key)
	}
	if over && !c.over[in.key] {
		c.over[in.key] = true
		if c.oldest = append(c.oldest, in.key); len(c.oldest) > maxOver {
			delete(c.over, c.oldest[0])
			c.oldest = c.oldest[1:]
		}
	}
	in.last = later
	if over {
		in.last = tooLate
	}
	close(in.gone)
}

var (
	noSuch  = reply{http.StatusNotFound, "there is nothing at this address"}
	tooLate = reply{http.StatusGone, "the message has been answered; nothing more is accepted"}
	later   = reply{http.StatusServiceUnavailable, "this server does not work on the message now; try again"}
	crowd   = reply{http.StatusTooManyRequests, "too many callbacks for this message wait already"}
	taken   = reply{http.StatusOK, ""}
)

func tell(w http.ResponseWriter, r reply) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	if r.status == http.StatusServiceUnavailable || r.status == http.StatusTooManyRequests {
		h.Set("Retry-After", "2")
	}
	body := []byte("{}")
	if r.text != "" {
		body, _ = json.Marshal(map[string]string{"error": r.text})
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(r.status)
	_, _ = w.Write(body) // the caller may have left
}

// take passes a callback to its run.
func (c *Callbacks) take(w http.ResponseWriter, q *http.Request) reply {
	key, ok := c.keyOf(q.URL.Path)
	if !ok {
		return noSuch
	}
	if q.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		return reply{http.StatusMethodNotAllowed, "callbacks are POST requests"}
	}
	c.mu.Lock()
	in, over := c.open[key], c.over[key]
	c.mu.Unlock()
	switch {
	case over:
		return tooLate
	case in == nil:
		return later
	}
	select {
	case in.slots <- struct{}{}:
		defer func() { <-in.slots }()
	default:
		return crowd
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTime)) // if the connection supports it
	call, bad := readCall(q.Body, in.most)
	if call == nil {
		return bad
	}
	return in.hand(q.Context(), call)
}

// readCall reads a callback of at most most bytes.
func readCall(from io.Reader, most int64) (*call, reply) {
	body, err := io.ReadAll(io.LimitReader(from, most+1))
	server, lower := errors.AsType[*http.MaxBytesError](err)
	if lower {
		most = min(most, server.Limit)
	}
	switch {
	case lower, int64(len(body)) > most:
		return nil, reply{http.StatusRequestEntityTooLarge, "a callback may have at most " + strconv.FormatInt(most, 10) + " bytes"}
	case errors.Is(err, a2a.ErrUnavailable): // the server has no memory for it at the moment
		return nil, later
	case err != nil:
		return nil, reply{http.StatusBadRequest, "the body could not be read"}
	}
	ev, err := parseEvent(body, "")
	if err != nil {
		return nil, reply{http.StatusBadRequest, err.Error()}
	}
	return &call{ev: ev, size: len(body), answer: make(chan reply, 1)}, reply{}
}

// hand waits until the run has taken and recorded the call. Until a request is answered
// with 202, no call is taken: a service that calls back in the middle of its answer,
// and waits for the reply, would wait for ever.
func (in *inbox) hand(ctx context.Context, c *call) reply {
	ctx, cancel := context.WithTimeout(ctx, handTime)
	defer cancel()
	select {
	case in.calls <- c:
	case <-in.gone:
		return in.last
	case <-ctx.Done():
		return later
	}
	select {
	case r := <-c.answer:
		return r
	case <-ctx.Done():
		return later
	}
}
