package port

import (
	"net/http"
	"net/netip"
	"sync"
	"time"
)

const (
	// addrStrangers is how many answers of one address may be under way whose
	// caller is not known: cards, keys, probes, refusals, and over gRPC the streams
	// of health and reflection.
	addrStrangers = 256
	// mostStrangers is how many of them there may be from all addresses, before an
	// address has but fewStrangers.
	mostStrangers = 4096
	fewStrangers  = 4
)

// Strangers counts the answers under way to clients that nobody has authenticated.
// Such an answer is out in a moment unless its client does not read it, and over
// HTTP/2 a client can leave hundreds of them on one connection. The zero value counts
// from nothing. It may be used by many goroutines at once.
type Strangers struct {
	mu   sync.Mutex // protects the fields below
	all  int
	from map[netip.Prefix]int // those that have none are not in it
}

// Enter counts an answer to an address until Leave is called. It reports false if
// there are too many. An answer without an address, as one for a proxy that does not
// name its client, counts for the total only.
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

// Leave is the end of an answer that Enter has counted.
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

// Bodiless is the writer of an answer of which only the header goes out: no client
// can hold that up.
type Bodiless struct{ http.ResponseWriter }

func (Bodiless) Write(b []byte) (int, error) { return len(b), nil }

func (w Bodiless) WriteHeader(status int) {
	w.Header().Del("Content-Length")
	w.ResponseWriter.WriteHeader(status)
}

// StrangerWriter counts an answer among those to strangers, from its first byte until
// it is out. If there are too many, only the status goes out.
type StrangerWriter struct {
	*Writer
	count *Strangers
	from  netip.Prefix
	begun bool
	cut   bool // only the status goes out
}

// Writer returns a writer for an answer to an address, on which End and Leave have
// to be called.
func (g *Strangers) Writer(w http.ResponseWriter, limit time.Duration, from netip.Prefix) *StrangerWriter {
	return &StrangerWriter{Writer: NewWriter(w, limit), count: g, from: from}
}

func (w *StrangerWriter) WriteHeader(status int) {
	if status < http.StatusOK { // others follow
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

// End sends what is left: net/http would do so later, without a time limit.
func (w *StrangerWriter) End() {
	if !w.begun {
		w.WriteHeader(http.StatusOK)
	}
	if !w.cut {
		w.Flush()
	}
}

// Leave ends the count, also of an answer that a panic cut off.
func (w *StrangerWriter) Leave() {
	if w.begun && !w.cut {
		w.count.Leave(w.from)
	}
}
