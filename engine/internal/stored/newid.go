package stored

import (
	"crypto/rand"
	"encoding/binary"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
)

// NewID returns an id for a task, a context or a message. It begins with the time, to the
// microsecond (UUIDv7), and ids of one process only ever grow. So keys that are made together
// are next to each other in each index of a store, and a commit writes a few pages instead of
// one per index and task. Without authentication an id is all that protects a task, so the rest
// of it is 62 random bits.
func NewID() string {
	at := uint64(time.Now().UnixNano())
	at = at/1e6<<12 | at%1e6>>8 // milliseconds, and the rest of the time in 12 bits
	for {
		last := lastID.Load()
		next := max(at, last+1) // even if the clock goes back
		if lastID.CompareAndSwap(last, next) {
			at = next
			break
		}
	}
	var id uuid.UUID
	binary.BigEndian.PutUint64(id[:], at>>12<<16|7<<12|at&0xfff)
	rand.Read(id[8:]) // never fails
	id[8] = id[8]&0x3f | 0x80
	return id.String()
}

// lastID is the time in the newest id.
var lastID atomic.Uint64
