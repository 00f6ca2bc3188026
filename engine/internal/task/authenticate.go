package task

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/telemetry"
)

func (h *host) Authenticate(ctx context.Context, prompt []*a2a.Part, wait func(context.Context) error) (*a2a.Message, error) {
	o := (*Owner)(h)
	question := o.status(a2a.TaskStateAuthRequired, &a2a.Message{Parts: prompt})
	if err := checkWords(question.Status.Status.Message); err != nil {
		return nil, err
	}
	name := promptOf(prompt)
	waited := make(chan error, 1)
	inner, stop := context.WithCancel(ctx)
	running := false
	waits := &o.parking.asking
	if wait != nil {
		waits = &o.parking.bound
	}
	o.count(waits, 1)
	defer o.count(waits, -1)
	defer func() {
		stop()
		if running {
			<-waited // wait must not go on when the agent does
		}
		o.mu.Lock()
		o.auth.heard = true
		o.mu.Unlock()
	}()
	var waiting asking
	for asked := false; ; {
		o.mu.Lock()
		if err := o.endedLocked(); err != nil {
			o.mu.Unlock()
			return nil, err
		}
		if m := o.auth.take(name); m != nil {
			o.mu.Unlock()
			waiting.answered(nil)
			return m, nil
		}
		if !asked && !o.auth.coming(name) {
			asked = true
			if err := o.sayLocked(question); err != nil {
				o.mu.Unlock()
				return nil, err
			}
			o.auth.asked(name)
			if wait != nil {
				running = true
				go waitFor(inner, wait, waited)
			}
		}
		wake := o.wake.Wait()
		o.mu.Unlock()
		if waiting.at.IsZero() {
			waiting = o.asks(telemetry.EventAuthenticate)
		}
		select {
		case <-wake:
		case err := <-waited:
			running = false
			waiting.answered(nil)
			return o.authorized(name, err)
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// authorized handles what the agent's wait function returned. A message that came at the same
// time is not lost.
func (o *Owner) authorized(prompt string, err error) (*a2a.Message, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if m := o.auth.take(prompt); m != nil {
		return m, nil
	}
	if err != nil {
		return nil, err
	}
	o.auth.heard, o.auth.given = true, true
	return nil, o.sayLocked(o.status(a2a.TaskStateWorking, nil))
}

// waitFor calls wait. A panic in it is the agent's failure and not the server's.
func waitFor(ctx context.Context, wait func(context.Context) error, waited chan<- error) {
	err := errors.New("the goroutine that waits for an authorization ended without returning")
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
		waited <- err
	}()
	err = wait(ctx)
}
