package terminal

import (
	"testing"
	"testing/synctest"
	"time"
)

// The seconds stay, however long the words in front of them are.
func TestAWaitKeepsItsSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, out := screen(30, false)
		w := s.Wait("waiting for the agent")
		time.Sleep(1500 * time.Millisecond)
		synctest.Wait()
		w.Say("working: reading a great many files · task 0123456789")
		time.Sleep(time.Second)
		synctest.Wait()
		w.Stop()
		want := eraseLine + "waiting for the agent · 1s" + eraseLine + "working: reading a grea… · 2s" + eraseLine
		if got := out.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}
