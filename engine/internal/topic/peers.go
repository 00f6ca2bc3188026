package topic

import (
	"slices"
	"time"

	"github.com/parley-a2a/parley/store"
)

// Peers are the topics by which an engine hears what others do. Protected by the lock of
// the topics, but for doubted.
type Peers struct {
	ts      *Topics
	often   time.Duration        // between two looks at all tasks
	owned   func(store.Key) bool // reports whether a task has an owner here; the lock is held
	topics  map[uint64][]*Topic  // by hash
	doubts  []*Topic             // whose owner may have lost its task
	doubted chan struct{}        // capacity one: there are doubts
}

// NewPeers lets readers of ts hear what other processes do: see Peers.HearOf and
// Peers.Poll, which asks every so often. owned is asked with the lock of ts held.
func NewPeers(ts *Topics, often time.Duration, owned func(store.Key) bool) *Peers {
	p := &Peers{ts: ts, often: often, owned: owned, topics: map[uint64][]*Topic{}, doubted: make(chan struct{}, 1)}
	ts.others = p
	return p
}

// Len returns how many topics hints can reach, for tests.
func (p *Peers) Len() int { return len(p.topics) }

func (p *Peers) every() time.Duration { return p.often }

// joined lets hints reach a topic that has just begun.
func (p *Peers) joined(t *Topic) {
	t.remote = &remote{stale: true} // nothing of it was read
	hash := t.Key.Hash()
	p.topics[hash] = append(p.topics[hash], t)
}

// left forgets a topic.
func (p *Peers) left(t *Topic) {
	hash := t.Key.Hash()
	p.topics[hash] = slices.DeleteFunc(p.topics[hash], func(other *Topic) bool { return other == t })
	if len(p.topics[hash]) == 0 {
		delete(p.topics, hash)
	}
}
