package port

import (
	"net/http"
	"net/netip"
	"sync"
	"time"
)

const (
	// addrStrangers is how many answers to unidentified callers may be under way to one
	// address: cards, keys, probes, refusals, and over gRPC the streams of health and
	// reflection.
	addrStrangers = 256
	// mostStrangers is how many of them there may be to all addresses, before each
	// address may have only fewStrangers.
	mostStrangers = 4096
	fewStrangers  = 4
)

// Strangers counts the answers under way to clients that are not authenticated. Such an
// answer is sent in a moment unless its client does not read it, and over HTTP/2 a
// client can leave hundreds of them unread on one connection. The zero value is ready
// for use. It may be used by many goroutines at once.
type Strangers struct {
	mu   sync.Mutex // protects the fields below
	all  int
	from map[netip.Prefix]int // addresses without answers are not in it
}

// Enter counts an answer to an address until Leave is called. It reports false if there
// are too many. An answer without an address, such as one for a proxy that does not
// name its client, counts only for the total.
func (g *Strangers) Enter(from netip.Prefix) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	most := addrStrangers
	if g.all >= mostStrangers {
		most = fewStrangers
	}
	if g.from[from] >= most {
		return false
	}
	if g.from == nil {
		g.from = map[netip.Prefix]int{}
	}
	g.all++
	if from.IsValid() {
		g.from[from]++
	}
	return true
}

// Leave ends an answer that Enter has counted.
func (g *Strangers) Leave(from netip.Prefix) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.all--
	if !from.IsValid() {
		return
	}
	if g.from[from]--; g.from[from] <= 0 {
		delete(g.from, from)
	}
}

// Count returns how many answers are under way.
func (g *Strangers) Count() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.all
}

// Bodiless is the writer of an answer of which only the header is sent, so that no
// client can hold it up.
type Bodiless struct{ http.ResponseWriter }

func (Bodiless) Write(b []byte) (int, error) { return len(b), nil }

func (w Bodiless) WriteHeader(status int) {
	w.Header().Del("Content-Length")
	w.ResponseWriter.WriteHeader(status)
}

// StrangerWriter counts an answer among those to strangers, from its first byte until
// it is sent. If there are too many, only the status is sent.
type StrangerWriter struct {
	*Writer
	count *Strangers
	from  netip.Prefix
	begun bool
	cut   bool // only the status is sent
}

// Writer returns a writer for an answer to an address. The caller must call End and
// Leave.
func (g *Strangers) Writer(w http.ResponseWriter, limit time.Duration, from netip.Prefix) *StrangerWriter {
	return &StrangerWriter{Writer: NewWriter(w, limit), count: g, from: from}
}

func (w *StrangerWriter) WriteHeader(status int) {
	if status < http.StatusOK { // informational: another one follows
		w.Writer.WriteHeader(status)
		return
	}
	if !w.begun {
		w.begun = true
		if w.cut = !w.count.Enter(w.from); w.cut {
			Bodiless{w.ResponseWriter}.WriteHeader(status)
			return
		}
	}
	w.Writer.WriteHeader(status)
}

func (w *StrangerWriter) Write(b []byte) (int, error) {
	if !w.begun {
		w.WriteHeader(http.StatusOK)
	}
	if w.cut {
		return len(b), nil
	}
	return w.Writer.Write(b)
}

// End sends what is left; net/http would do so later, without a time limit.
func (w *StrangerWriter) End() {
	if !w.begun {
		w.WriteHeader(http.StatusOK)
	}
	if !w.cut {
		w.Flush()
	}
}

// Leave ends the count, even of an answer that a panic cut off.
func (w *StrangerWriter) Leave() {
	if w.begun && !w.cut {
		w.count.Leave(w.from)
	}
}
