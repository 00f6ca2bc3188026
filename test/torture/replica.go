package torture

import (
	"bytes"
	"context"
	"io"
	"os/exec"
	"sync"
	"time"
)

// replica is one of several servers at one database, through all its lives. It
// belongs to the driver's one goroutine.
type replica struct {
	*server
	w    *world
	n    int
	line *line // nil: it goes to the database by itself

	away  bool          // it is meant to be down
	up    chan struct{} // closed once this life was ready
	ended func()        // ends looking whether it is
	tasks sync.WaitGroup
}

func (w *world) newReplica(o *FleetOptions, n int) (*replica, error) {
	listen := o.Listen
	if listen == nil {
		listen = func(n int) (string, error) { return FreePort(o.Seed + uint64(n)*37) }
	}
	addr, err := listen(n)
	if err != nil {
		return nil, err
	}
	var l *line
	at := ""
	if o.Database != nil {
		if l, err = newLine(o.Database.Dial); err != nil {
			return nil, err
		}
		at = l.addr()
	}
	life := &Options{Addr: addr, Server: func(life int) *exec.Cmd {
		if life == 0 && o.Old != nil && n < o.replicas() { // not one that judges
			return o.Old(addr, at)
		}
		return o.Replica(addr, at)
	}}
	log := newLastLines(&marked{to: w.log, mark: []byte{'r', '0' + byte(n), ' '}})
	return &replica{server: newServer(life, log), w: w, n: n, line: l, ended: func() {}}, nil
}

// start begins the next life.
func (r *replica) start() error {
	if err := r.begin(); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	up, gone := make(chan struct{}), r.gone
	r.up, r.away, r.ended = up, false, cancel
	r.tasks.Go(func() {
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for !r.ready(ctx) {
			select {
			case <-tick.C:
			case <-gone:
				return
			case <-ctx.Done():
				return
			}
		}
		close(up)
	})
	return nil
}

// end ends a life as kill -9 does.
func (r *replica) end() {
	r.away = true
	r.ended()
	r.kill()
	r.tasks.Wait()
}

// wasUp reports whether this life was ready.
func (r *replica) wasUp() bool {
	select {
	case <-r.up:
		return true
	default:
		return false
	}
}

func (r *replica) close() {
	r.end()
	if r.line != nil {
		r.line.close()
	}
}

// marked is a writer that begins each line with a mark.
type marked struct {
	to   io.Writer
	mark []byte
	rest []byte // a line that has not ended
}

func (m *marked) Write(p []byte) (int, error) {
	m.rest = append(m.rest, p...)
	end := bytes.LastIndexByte(m.rest, '\n') + 1
	if end == 0 {
		return len(p), nil
	}
	var out []byte
	for line := range bytes.Lines(m.rest[:end]) {
		out = append(append(out, m.mark...), line...)
	}
	m.rest = append([]byte(nil), m.rest[end:]...)
	if _, err := m.to.Write(out); err != nil {
		return 0, err
	}
	return len(p), nil
}
