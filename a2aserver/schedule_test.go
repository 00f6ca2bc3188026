package a2aserver

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"
)

// diary notes the times at which it was called, and returns the next of its list.
type diary struct {
	a     *schedule
	times []time.Duration
	again []time.Duration // how long from then; 0 is never
}

func (d *diary) due(now time.Duration) time.Duration {
	d.times = append(d.times, now)
	if len(d.again) == 0 || d.again[0] == 0 {
		return 0
	}
	wait := d.again[0]
	d.again = d.again[1:]
	return now + wait
}

// Every entry is called exactly at its times, by one timer, and none after end.
func TestSchedule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &schedule{started: time.Now()}
		r := rand.New(rand.NewPCG(1, 1))
		const n = 500
		var items [n]*alarm
		var want [n][]time.Duration
		var diaries [n]*diary
		for i := range n {
			d := &diary{a: a}
			at := time.Duration(1+r.IntN(100)) * time.Second
			want[i] = append(want[i], at)
			for range r.IntN(5) {
				wait := time.Duration(1+r.IntN(100)) * time.Second
				d.again = append(d.again, wait)
				at += wait
				want[i] = append(want[i], at)
			}
			diaries[i], items[i] = d, &alarm{who: d}
			a.set(items[i], want[i][0]+time.Duration(r.IntN(3))*time.Hour) // replaced by the next call
			a.set(items[i], want[i][0])
		}
		time.Sleep(150*time.Second + time.Millisecond)
		synctest.Wait()
		cut := map[int]bool{}
		for i := range n {
			if r.IntN(2) == 0 {
				cut[i] = true
				a.end(items[i])
				a.end(items[i])
				a.set(items[i], a.now()+time.Second) // too late
			}
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		for i := range n {
			due := want[i]
			for cut[i] && len(due) > 0 && due[len(due)-1] > 150*time.Second {
				due = due[:len(due)-1]
			}
			if len(diaries[i].times) != len(due) {
				t.Fatalf("%d: asked at %v, want %v", i, diaries[i].times, due)
			}
			for j := range due {
				if diaries[i].times[j] != due[j] {
					t.Fatalf("%d: asked at %v, want %v", i, diaries[i].times, due)
				}
			}
			if items[i].place != 0 {
				t.Errorf("%d is still in the schedule", i)
			}
		}
		if len(a.queue) != 0 || a.next != 0 {
			t.Errorf("%d items are left, timer at %v", len(a.queue), a.next)
		}
	})
}

// An entry that returns a time in the past does not stop the clock.
func TestScheduleOfTheImpatient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &schedule{started: time.Now()}
		d := &diary{a: a, again: []time.Duration{-1, -1, -1, 0}}
		it := &alarm{who: d}
		a.set(it, time.Second)
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(d.times) != 4 {
			t.Errorf("asked at %v", d.times)
		}
		a.end(it)
	})
}
