package terminal

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

func TestOutageIsToldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lines []string
		o := &Outage{Say: func(line string) { lines = append(lines, line) }}
		cut := errors.New("cut")
		o.Lost("t1", cut)
		time.Sleep(blink - time.Millisecond)
		o.Lost("t1", nil) // a blink
		time.Sleep(time.Hour)
		o.Lost("t1", cut)
		o.Lost("t1", cut)
		time.Sleep(blink)
		synctest.Wait()
		o.Lost("t1", cut)
		time.Sleep(time.Hour)
		o.Lost("t1", nil)
		o.Lost("", cut)
		o.Stop()
		time.Sleep(time.Hour)
		o.Lost("t2", cut)
		time.Sleep(time.Hour)
		o.Stop() // given up; the next message of a conversation has outages of its own
		o.Lost("t3", cut)
		time.Sleep(time.Hour)
		o.Lost("t3", nil)
		if want := []string{
			"connection lost; trying again (task t1)", "connected again",
			"connection lost; trying again (task t2)",
			"connection lost; trying again (task t3)", "connected again",
		}; !slices.Equal(lines, want) {
			t.Errorf("said %q", lines)
		}
	})
}
