package a2aclient

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/parley-a2a/parley/a2a"
)

// A Follower reports polls that fail, and when they work again.
func TestFollowerTellsOfLostConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{gets: []any{task(2), errors.New("reset"), task(2), task(3)}}
		var told []string
		f := followerOf(s, false)
		f.Lost = func(id string, err error) {
			if err == nil {
				told = append(told, id+" again")
			} else {
				told = append(told, id+" lost: "+err.Error())
			}
		}
		if _, err := states(f.Watch(t.Context(), &a2a.GetTaskRequest{ID: "t1"})); err != nil {
			t.Fatal(err)
		}
		if want := []string{"t1 lost: reset", "t1 again"}; !slices.Equal(told, want) {
			t.Errorf("told %q, want %q", told, want)
		}
	})
}
