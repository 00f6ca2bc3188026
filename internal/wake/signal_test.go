package wake

import (
	"sync"
	"testing"
)

func TestSignalReachesWhoWaitsBeforeAndAfter(t *testing.T) {
	var s Signal
	if s.Was() {
		t.Fatal("given at first")
	}
	before := s.Wait()
	select {
	case <-before:
		t.Fatal("the channel is closed before the signal is given")
	default:
	}
	s.Give()
	s.Give() // of two who give it none has to know of the other
	<-before
	<-s.Wait()
	var other Signal
	other.Give()
	<-other.Wait()
	if !s.Was() || !other.Was() {
		t.Error("not given")
	}
}

func TestSignalIsNotMissed(t *testing.T) {
	for range 200 {
		var s Signal
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() { <-s.Wait() })
		}
		wg.Go(s.Give)
		wg.Wait()
	}
}

func TestBellRingsForThoseWhoWaited(t *testing.T) {
	var b Bell
	b.Ring()
	first := b.Wait()
	if b.Wait() != first {
		t.Error("two who wait for the same have two channels")
	}
	b.Ring()
	<-first
	select {
	case <-b.Wait():
		t.Error("who waits after it rang must wait until it rings again")
	default:
	}
}
