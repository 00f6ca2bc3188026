package terminal

import (
	"sync"
	"time"
)

// blink is how long a connection may be lost before anybody is told.
const blink = 2 * time.Second

// Outage tells of a connection that stays lost. Its method Lost is what a2aclient
// calls.
type Outage struct {
	// Say gets each line.
	Say func(line string)

	mu    sync.Mutex  // protects the fields below
	timer *time.Timer // nil: connected
	said  bool
}

// Lost says that the connection is lost, or with a nil error that it is there again.
func (o *Outage) Lost(taskID string, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case err == nil:
		o.stopLocked()
		if o.said {
			o.said = false
			o.Say("connected again")
		}
	case o.timer == nil && !o.said:
		line := "connection lost; trying again"
		if taskID != "" {
			line += " (task " + taskID + ")"
		}
		o.timer = time.AfterFunc(blink, func() {
			o.mu.Lock()
			defer o.mu.Unlock()
			if o.timer != nil && !o.said {
				o.said = true
				o.Say(line)
			}
		})
	}
}

// Stop forgets a loss: nobody tries again.
func (o *Outage) Stop() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.stopLocked()
	o.said = false
}

func (o *Outage) stopLocked() {
	if o.timer != nil {
		o.timer.Stop()
		o.timer = nil
	}
}
