package agent

import (
	"sync"

	"github.com/parley-a2a/parley/a2a"
)

// Artifact writes one artifact, in one piece or in chunks. Which chunk begins
// it, which appends and which is the last is its business. It may be used from
// several goroutines; chunks then keep the order of the calls.
type Artifact struct {
	host Host
	id   string
	name string

	// Description and the like may be set before the first write.
	Description string
	Metadata    a2a.JSON
	Extensions  []string

	mu     sync.Mutex // protects the fields below, and keeps chunks in order
	begun  bool
	closed bool
	rest   []byte // the beginning of a rune whose end has not been written yet
}

// ID returns the artifact's id, which is the same on every attempt.
func (a *Artifact) ID() string { return a.id }
