package topic

import (
	"time"

	"github.com/parley-a2a/parley/store"
)

// Peers are the topics by which an engine hears what others do. Protected by the lock of
// the topics, but for doubted.
type Peers struct {
	ts      *Topics
	often   time.Duration        // between two looks at all tasks
	owned   func(store.Key) bool // reports whether a task has an owner here; the lock is held
	topics  map[uint64]*Topic    // by hash
	doubts  []*Topic             // whose owner may have lost its task
	doubted chan struct{}        // capacity one: there are doubts
}

// NewPeers lets readers of ts hear what other processes do: see Peers.HearOf and
// Peers.Poll, which asks every so often. owned is asked with the lock of ts held.
func NewPeers(ts *Topics, often time.Duration, owned func(store.Key) bool) *Peers {
	p := &Peers{ts: ts, often: often, owned: owned, topics: map[uint64]*Topic{}, doubted: make(chan struct{}, 1)}
	ts.others = p
	return p
}

// Len returns how many topics hints can reach, for tests.
func (p *Peers) Len() int { return len(p.topics) }

func (p *Peers) every() time.Duration { return p.often }

// joined lets hints reach a topic that has just begun.
func (p *Peers) joined(t *Topic) {
	hash := t.Key.Hash()
	t.remote = &remote{hash: hash, twin: p.topics[hash], stale: true} // nothing of it was read
	p.topics[hash] = t
}

// left forgets a topic.
func (p *Peers) left(t *Topic) {
	r := t.remote
	first := p.topics[r.hash]
	switch {
	case first != t:
		for first.remote.twin != t {
			first = first.remote.twin
		}
		first.remote.twin = r.twin
	case r.twin == nil:
		delete(p.topics, r.hash)
	default:
		p.topics[r.hash] = r.twin
	}
}
