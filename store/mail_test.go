package store_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/store"
)

// Messages that no node reads are dropped.
func TestMailIsDroppedAfterAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m store.Mailbox
		post := func(node, body string) {
			t.Helper()
			if err := m.Post(t.Context(), []store.Mail{{Node: node, Body: []byte(body)}}); err != nil {
				t.Fatal(err)
			}
		}
		want := func(node string, bodies ...string) {
			t.Helper()
			taken, err := m.Take(t.Context(), node, 9)
			if err != nil || len(taken) != len(bodies) {
				t.Errorf("%s got %d pieces, want %q: %v", node, len(taken), bodies, err)
				return
			}
			for i, b := range bodies {
				if string(taken[i].Body) != b {
					t.Errorf("%s got %q, want %q", node, taken[i].Body, b)
				}
			}
		}
		post("dead", "1")
		time.Sleep(store.MailKept - time.Second)
		post("dead", "2")
		time.Sleep(2 * time.Second)
		post("other", "3") // each Post sweeps
		want("dead", "2")
		post("dead", "4")
		time.Sleep(store.MailKept + time.Second)
		post("other", "5")
		want("dead")
		want("other", "5")
	})
}

// Post copies the body, and the caller of Take owns what it gets.
func TestMailIsNotShared(t *testing.T) {
	var m store.Mailbox
	body := []byte("body")
	if _, err := m.Take(t.Context(), "n", 1); err != nil {
		t.Fatal(err)
	}
	if err := m.Post(t.Context(), []store.Mail{{Node: "n", Body: body}, {Node: "n", Body: body}}); err != nil {
		t.Fatal(err)
	}
	clear(body)
	for range 2 {
		taken, err := m.Take(t.Context(), "n", 1)
		if err != nil || len(taken) != 1 || string(taken[0].Body) != "body" {
			t.Fatalf("%q, %v", taken, err)
		}
		clear(taken[0].Body)
	}
}
