package postgres

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/parley-a2a/parley/store"
)

// Hints go through NOTIFY. Hints queued while one NOTIFY runs go with the next. They are sent
// after the commit that they report, in a separate transaction that does not wait for the
// disk, because a transaction with NOTIFY holds a server-wide lock while it commits.

// hints holds the hints to be sent, and the stores that would hear them.
type hints struct {
	sender string        // name of this store in its messages
	ring   chan struct{} // capacity one: there is something to send
	hears  atomic.Bool   // listening, so peers is complete

	mu    sync.Mutex // protects the fields below
	next  message
	peers map[string]time.Time // other stores, and when each was last heard
}

// message is the content of one NOTIFY.
type message struct {
	hints map[store.Hint]struct{}
	here  bool // the sender is present
}

// channel is the channel on which all stores of a database listen.
const channel = "parley"

// Limits of a message. Hints beyond them are replaced by Lost.
const (
	maxPayload = 7900 // bytes; the server accepts 7999
	maxPending = 4096 // hints not yet sent
)

// hereEvery is how often a store announces itself, which also tests that it hears. hereKept
// is how long a silent store counts as present.
const (
	hereEvery = 10 * time.Second
	hereKept  = 2 * time.Minute
)

// tell queues hints to be sent. The change that they report must be committed already.
func (s *Store) tell(hints ...store.Hint) {
	if s.o.NoListen || len(hints) == 0 {
		return
	}
	h := &s.hints
	h.mu.Lock()
	alone := h.hears.Load() && len(h.peers) == 0
	if !alone {
		h.next.add(hints)
	}
	h.mu.Unlock()
	if !alone {
		h.nudge()
	}
}

func (h *hints) nudge() {
	select {
	case h.ring <- struct{}{}:
	default:
	}
}

func (m *message) add(hints []store.Hint) {
	if m.hints == nil {
		m.hints = map[store.Hint]struct{}{}
	}
	for _, h := range hints {
		m.hints[h] = struct{}{}
	}
	if len(m.hints) > maxPending {
		m.hints = map[store.Hint]struct{}{lost: {}}
	}
}

// lost replaces hints that are not sent; a receiver then checks everything.
var lost = store.Hint{Lost: true}

func (m *message) empty() bool { return len(m.hints) == 0 && !m.here }

// take removes the queued message and returns it.
func (h *hints) take() message {
	h.mu.Lock()
	defer h.mu.Unlock()
	m := h.next
	h.next = message{}
	return m
}

// send sends hints until the store is closed.
func (s *Store) send() {
	tick := time.NewTicker(hereEvery)
	defer tick.Stop()
	for {
		select {
		case <-s.hints.ring:
		case now := <-tick.C:
			s.hints.age(now)
		case <-s.over.Done():
			return
		}
		m := s.hints.take()
		if m.empty() {
			continue
		}
		if err := s.notify(m.encode(s.hints.sender)); err != nil && s.over.Err() == nil {
			// The content of the message is lost; the next one that is sent says so.
			s.o.Logger.Debug("hints could not be sent; trying again", "error", err)
			s.pause(s.over, time.Second)
			s.hints.announce(lost)
		}
	}
}

// notify sends a message.
func (s *Store) notify(payload string) error {
	ctx, cancel := context.WithTimeout(s.over, s.o.wait)
	defer cancel()
	_, err := s.pool.Exec(ctx, "SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, $2)", channel, payload)
	return err
}

// age forgets stores that were silent for long, and queues an announcement of this one.
func (h *hints) age(now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	maps.DeleteFunc(h.peers, func(_ string, at time.Time) bool { return now.Sub(at) > hereKept })
	h.next.here = true
}

// heard notes that another store is present. To a new store, this one announces itself, with
// a hint that something may have been missed, because hints are not sent while no listener is
// known.
func (h *hints) heard(peer string, now time.Time) {
	if !h.counts(peer, now) {
		h.announce(lost)
	}
}

// announce queues a message that this store is present, with more hints.
func (h *hints) announce(more ...store.Hint) {
	h.mu.Lock()
	h.next.here = true
	h.next.add(more)
	h.mu.Unlock()
	h.nudge()
}

// counts marks a store as present, and reports whether it was known before.
func (h *hints) counts(peer string, now time.Time) (known bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, known = h.peers[peer]
	if !known && len(h.peers) >= maxPending { // any database user may notify; with so many peers, one more changes nothing
		return true
	}
	if h.peers == nil {
		h.peers = map[string]time.Time{}
	}
	h.peers[peer] = now
	return known
}

// A payload is a list of words: the sender, then its message. Unknown kinds of words are
// skipped, so that later versions may add some.
const (
	wordHere  = "h"
	wordLost  = "l"
	wordWork  = "w"
	wordTasks = "t" // followed by hashes of tasks, eight bytes each, in base64
	wordNode  = "n" // followed by a node's name in base64
)

var coding = base64.RawURLEncoding

// encode returns the payload. It is ASCII, because the server requires text in its encoding.
func (m *message) encode(sender string) string {
	var nodes []string
	var tasks []byte
	work, over := false, false
	size := len(sender) + len(" h w l t")
	for h := range m.hints {
		work, over = work || h.Work, over || h.Lost
		if h.Node != "" {
			word := wordNode + coding.EncodeToString([]byte(h.Node))
			nodes = append(nodes, word)
			size += 1 + len(word)
		}
		if h.Task != 0 {
			tasks = binary.BigEndian.AppendUint64(tasks, h.Task)
		}
	}
	words := []string{sender}
	if m.here {
		words = append(words, wordHere)
	}
	if work {
		words = append(words, wordWork)
	}
	if over || size+coding.EncodedLen(len(tasks)) > maxPayload {
		words = append(words, wordLost)
	} else {
		words = append(words, nodes...)
		if len(tasks) > 0 {
			words = append(words, wordTasks+coding.EncodeToString(tasks))
		}
	}
	return strings.Join(words, " ")
}

// decode reads a payload. A notification that no store sent yields no hints.
func decode(payload string) (sender string, said []store.Hint) {
	sender, rest, _ := strings.Cut(payload, " ")
	if len(sender) != senderSize {
		return "", nil
	}
	for word := range strings.SplitSeq(rest, " ") {
		if word == "" {
			continue
		}
		kind, value := word[:1], word[1:]
		switch {
		case word == wordLost:
			said = append(said, store.Hint{Lost: true})
		case word == wordWork:
			said = append(said, store.Hint{Work: true})
		case kind == wordNode:
			if node, err := coding.DecodeString(value); err == nil && len(node) > 0 {
				said = append(said, store.Hint{Node: string(node)})
			}
		case kind == wordTasks:
			b, err := coding.DecodeString(value)
			for ; err == nil && len(b) >= 8; b = b[8:] {
				if task := binary.BigEndian.Uint64(b); task != 0 {
					said = append(said, store.Hint{Task: task})
				}
			}
		}
	}
	return sender, said
}
