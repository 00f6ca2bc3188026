package terminal

import (
	"sync"
	"time"
)

// blink is how long a connection may be lost before a line is shown.
const blink = 2 * time.Second

// Outage reports a connection that stays lost. a2aclient calls its method Lost.
type Outage struct {
	// Say receives each line.
	Say func(line string)

	mu    sync.Mutex  // protects the fields below
	timer *time.Timer // nil: connected
	said  bool
}

// Lost reports that the connection is lost, or with a nil error that it is back.
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

// Stop ends the report of a loss, because the client no longer retries.
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
