package storetest

import (
	"bytes"
	"fmt"
	"sync"
	"testing"

	"github.com/parley-a2a/parley/store"
)

var mailBehaviours = []behaviour{
	{"mail comes once, in its sender's order", testMail},
	{"mail is any bytes", testMailBytes},
	{"of two who take mail each gets some", testMailRace},
}

func send(t testing.TB, st store.Store, all ...store.Mail) {
	t.Helper()
	if err := st.Post(t.Context(), all); err != nil {
		t.Fatalf("post: %v", err)
	}
}

// receive takes messages and returns their bodies.
func receive(t testing.TB, st store.Store, node string, limit int) (bodies []string) {
	t.Helper()
	taken, err := st.Mail(t.Context(), node, limit)
	if err != nil {
		t.Fatalf("mail of %s: %v", node, err)
	}
	for _, l := range taken {
		if l.Node != node {
			t.Errorf("%s got mail for %s", node, l.Node)
		}
		bodies = append(bodies, string(l.Body))
	}
	return bodies
}

func testMail(t testing.TB, open Opener) {
	st := start(t, open)
	for _, limit := range []int{0, -1} {
		if _, err := st.Mail(t.Context(), "a", limit); err == nil {
			t.Errorf("a limit of %d is no error", limit)
		}
	}
	send(t, st)
	same(t, "an empty box", receive(t, st, "a", 9), []string{})
	send(t, st, store.Mail{Node: "a", Body: []byte("1")}, store.Mail{Node: "b", Body: []byte("2")}, store.Mail{Node: "a", Body: []byte("3")})
	send(t, st, store.Mail{Node: "a", Body: []byte("4")})
	same(t, "the first two", receive(t, st, "a", 2), []string{"1", "3"})
	send(t, st, store.Mail{Node: "a", Body: []byte("5")})
	same(t, "the rest", receive(t, st, "a", 9), []string{"4", "5"})
	same(t, "an empty box", receive(t, st, "a", 9), []string{})
	same(t, "another's", receive(t, st, "b", 9), []string{"2"})
	same(t, "a stranger's", receive(t, st, "c", 9), []string{})

	var all []store.Mail
	var want []string
	for i := range 500 {
		all = append(all, store.Mail{Node: "many", Body: fmt.Append(nil, i)})
		want = append(want, fmt.Sprint(i))
	}
	send(t, st, all[:300]...)
	send(t, st, all[300:]...)
	var got []string
	for {
		page := receive(t, st, "many", 70)
		if got = append(got, page...); len(page) < 70 {
			break
		}
	}
	same(t, "many", got, want)
}

func testMailBytes(t testing.TB, open Opener) {
	st := start(t, open)
	nodes := []string{"", " ", "A", "a", "a\x00", "\xff", "日本"}
	bodies := []string{"", "\x00\xff", string(bytes.Repeat([]byte("0123456789abcdef"), 1<<16))}
	for _, n := range nodes {
		for _, b := range bodies {
			send(t, st, store.Mail{Node: n, Body: []byte(b + n)})
		}
	}
	for _, n := range nodes {
		var want []string
		for _, b := range bodies {
			want = append(want, b+n)
		}
		same(t, fmt.Sprintf("the box of %q", n), receive(t, st, n, 9), want)
	}
	if send(t, st, store.Mail{Node: "nil"}); len(receive(t, st, "nil", 9)) != 1 {
		t.Error("mail without a body is lost")
	}
}

func testMailRace(t testing.TB, open Opener) {
	st := start(t, open)
	mailAtOnce(t, st, st)
}

// mailAtOnce makes many senders and two receivers work at the same time.
func mailAtOnce(t testing.TB, stores ...store.Store) {
	t.Helper()
	const senders, each = 4, 50
	type piece struct{ sender, n int }
	var mu sync.Mutex
	seen := map[piece]bool{}
	note := func(taken []store.Mail, err error) {
		if err != nil {
			t.Errorf("mail: %v", err)
		}
		last := map[int]int{} // messages that a failed transaction of another receiver put back come later
		for _, l := range taken {
			var p piece
			if _, err := fmt.Sscan(string(l.Body), &p.sender, &p.n); err != nil {
				t.Errorf("mail %q: %v", l.Body, err)
			}
			if before, ok := last[p.sender]; ok && before >= p.n {
				t.Errorf("%d of sender %d came after %d", p.n, p.sender, before)
			}
			last[p.sender] = p.n
			mu.Lock()
			if seen[p] {
				t.Errorf("%+v came twice", p)
			}
			seen[p] = true
			mu.Unlock()
		}
	}
	var sending, taking sync.WaitGroup
	for s := range senders {
		sending.Go(func() {
			for n := range each {
				if err := stores[s%len(stores)].Post(t.Context(), []store.Mail{{Node: "box", Body: fmt.Append(nil, s, " ", n)}}); err != nil {
					t.Errorf("post: %v", err)
				}
			}
		})
	}
	sent := make(chan struct{})
	for _, st := range stores {
		taking.Go(func() {
			for {
				select {
				case <-sent:
					return
				default:
					taken, err := st.Mail(t.Context(), "box", 3)
					note(taken, err)
				}
			}
		})
	}
	sending.Wait()
	close(sent)
	taking.Wait()
	taken, err := stores[0].Mail(t.Context(), "box", senders*each)
	note(taken, err)
	if len(seen) != senders*each {
		t.Errorf("%d of %d pieces came", len(seen), senders*each)
	}
}
