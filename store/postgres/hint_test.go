package postgres

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/parley-a2a/parley/internal/pgtest"
	"github.com/parley-a2a/parley/store"
)

func mustOpen(t testing.TB, address string, o *Options) *Store {
	t.Helper()
	s, err := Open(t.Context(), address, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// eventually waits until f is true.
func eventually(t testing.TB, what string, f func() bool) {
	t.Helper()
	for limit := time.Now().Add(time.Minute); !f(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("%s: not after a minute", what)
		}
	}
}

// known reports whether s hears, and how many other stores it knows.
func (s *Store) known() (hears bool, peers int) {
	s.hints.mu.Lock()
	defer s.hints.mu.Unlock()
	return s.hints.hears.Load(), len(s.hints.peers)
}

// met waits until stores know each other.
func met(t testing.TB, stores ...*Store) {
	t.Helper()
	for _, s := range stores {
		eventually(t, "the stores know each other", func() bool {
			hears, peers := s.known()
			return hears && peers >= len(stores)-1
		})
	}
}

// heard records the hints of a store's watcher.
type heard struct {
	mu    sync.Mutex
	hints []store.Hint
}

func listenTo(t testing.TB, s *Store) *heard {
	h := &heard{}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	began := make(chan struct{})
	go func() {
		defer close(done)
		close(began)
		_ = s.Watch(ctx, func(hint store.Hint) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.hints = append(h.hints, hint)
		})
	}()
	<-began
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return h
}

func (h *heard) has(f func(store.Hint) bool) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.ContainsFunc(h.hints, f)
}

func (h *heard) clear() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.hints = nil
}

func isLost(h store.Hint) bool { return h.Lost }

func isMail(node string) func(store.Hint) bool {
	return func(h store.Hint) bool { return h.Node == node }
}

func post(t testing.TB, s *Store, node string) {
	t.Helper()
	if err := s.Post(t.Context(), []store.Mail{{Node: node, Body: []byte("x")}}); err != nil {
		t.Fatal(err)
	}
}

// TestMessages: each message arrives, or a hint that some were lost, in every size.
func TestMessages(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	sender := strings.Repeat("s", senderSize)
	for _, n := range []int{0, 1, 2, 100, 600, 738, 800, 1024, 4000, 5000} {
		for _, nodes := range []int{0, 1, 50, 300} {
			var m message
			said := map[store.Hint]bool{}
			var all []store.Hint
			for range n {
				all = append(all, store.Hint{Task: r.Uint64() | 1})
			}
			for i := range nodes {
				all = append(all, store.Hint{Node: fmt.Sprint("node \xff", i)})
			}
			all = append(all, store.Hint{Work: true})
			for _, h := range all {
				said[h] = true
			}
			m.add(all)
			payload := m.encode(sender)
			if len(payload) > maxPayload || strings.ContainsFunc(payload, func(r rune) bool { return r < ' ' || r > '~' }) {
				t.Fatalf("%d tasks: a payload of %d bytes: %.100s", n, len(payload), payload)
			}
			from, got := decode(payload)
			if from != sender {
				t.Errorf("from %q", from)
			}
			if slices.ContainsFunc(got, isLost) {
				if n < 600 && nodes < 100 {
					t.Errorf("%d tasks and %d nodes are too many", n, nodes)
				}
				continue
			}
			for _, h := range got {
				if !said[h] {
					t.Errorf("%+v was not said", h)
				}
				delete(said, h)
			}
			if len(said) > 0 {
				t.Errorf("%d tasks and %d nodes: %d were not heard", n, nodes, len(said))
			}
		}
	}
}

// FuzzDecode: any user of the database may notify.
func FuzzDecode(f *testing.F) {
	sender := strings.Repeat("s", senderSize)
	for _, payload := range []string{"", " ", sender, sender + " ", sender + " h w l", sender + " tAAAAAAAAAAE", sender + " nYQ n", sender + " tx nx x", sender + "  t" + strings.Repeat("_", 9000), "\x00\xff"} {
		f.Add(payload)
	}
	f.Fuzz(func(t *testing.T, payload string) {
		from, said := decode(payload)
		if from == "" && len(said) > 0 || from != "" && len(from) != senderSize {
			t.Errorf("from %q: %v", from, said)
		}
		if len(said) > len(payload) {
			t.Errorf("%d hints of %d bytes", len(said), len(payload))
		}
		for _, h := range said {
			if h == (store.Hint{}) {
				t.Error("an empty hint")
			}
		}
	})
}

func TestHostileNotifications(t *testing.T) {
	pgtest.Require(t)
	address := cluster.Database(t)
	a, b := mustOpen(t, address, nil), mustOpen(t, address, nil)
	met(t, a, b)
	h := listenTo(t, b)
	for _, payload := range []string{"", " ", "x", strings.Repeat("x", 7000), "'; DROP SCHEMA parley", strings.Repeat("z", senderSize) + " tAAA nAA= w l \x01 ü", b.hints.sender + " w"} {
		if err := a.notify(payload); err != nil {
			t.Fatalf("%.20q: %v", payload, err)
		}
	}
	for i := range 50 { // any number of senders
		if err := a.notify(fmt.Sprintf("%0*d h", senderSize, i)); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "mail is hinted", func() bool {
		// Besides the greeting of a new sender, the message says only that something was
		// lost.
		post(t, a, "node")
		return h.has(isMail("node"))
	})
}

// TestAlone: nothing is sent while no other store could hear it, and a new store hears at
// once.
func TestAlone(t *testing.T) {
	pgtest.Require(t)
	address := cluster.Database(t)
	a := mustOpen(t, address, nil)
	met(t, a)
	a.hints.mu.Lock()
	clear(a.hints.peers) // on a busy machine the first try to listen may have taken too long, see listen
	a.hints.mu.Unlock()
	a.tell(store.Hint{Work: true})
	if m := a.hints.take(); !m.empty() {
		t.Errorf("alone it says %+v", m)
	}
	for range 3 {
		b := mustOpen(t, address, nil)
		met(t, a, b)
		h := listenTo(t, b)
		eventually(t, "mail is hinted", func() bool {
			post(t, a, "node")
			return h.has(isMail("node"))
		})
		b.Close()
		a.hints.age(time.Now().Add(hereKept + hereEvery))
		if _, peers := a.known(); peers != 0 {
			t.Errorf("%d of those that are gone are known", peers)
		}
	}
}

func TestHintsOfManyTasks(t *testing.T) {
	pgtest.Require(t)
	address := cluster.Database(t)
	a, b := mustOpen(t, address, nil), mustOpen(t, address, nil)
	met(t, a, b)
	h := listenTo(t, b)
	const n = 5000
	var all []store.Hint
	for i := range n {
		all = append(all, store.Hint{Task: uint64(i + 1)})
	}
	eventually(t, "everything is heard, or that something was lost", func() bool {
		if h.has(isLost) {
			return true
		}
		a.tell(all...)
		seen := map[uint64]bool{}
		h.mu.Lock()
		defer h.mu.Unlock()
		for _, hint := range h.hints {
			seen[hint.Task] = true
		}
		return len(seen) >= n
	})
}

func TestListenerComesBack(t *testing.T) {
	t.Parallel() // it waits most of the time
	c := pgtest.New(t, nil)
	address := c.Database(t)
	a, b := mustOpen(t, address, nil), mustOpen(t, address, nil)
	met(t, a, b)
	h := listenTo(t, b)
	again := func(what string) {
		t.Helper()
		eventually(t, what+": that hints were lost is told", func() bool { return h.has(isLost) })
		h.clear()
		eventually(t, what+": mail is hinted", func() bool {
			// Failures here are not what this test is about.
			_ = a.Post(t.Context(), []store.Mail{{Node: "node"}})
			return h.has(isMail("node"))
		})
		h.clear()
	}
	for range 3 {
		h.clear()
		if err := c.Exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'"); err != nil {
			t.Fatal(err)
		}
		again("a connection that was ended")
	}
	for _, mode := range []string{pgtest.Fast, pgtest.Immediate} {
		h.clear()
		if err := c.Stop(mode); err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		again("a restart, " + mode)
	}
}

// TestNewcomerWhileListenerIsAway: a store that started while another one did not listen
// hears the other's hints as soon as that one listens again.
func TestNewcomerWhileListenerIsAway(t *testing.T) {
	t.Parallel()
	address := copied(t)
	p := newProxy(t, cluster.Address())
	a := mustOpen(t, address, &Options{Listen: cluster.Via(p.address(), nameOf(address))})
	met(t, a)
	p.set(func() { p.down = true })
	p.cut()
	eventually(t, "it does not listen", func() bool { hears, _ := a.known(); return !hears })

	all, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer all.Close(context.Background())
	if _, err := all.Exec(t.Context(), "LISTEN "+channel); err != nil {
		t.Fatal(err)
	}
	b := mustOpen(t, address, nil)
	met(t, b)
	h := listenTo(t, b)
	post(t, a, "node")
	for answered := false; !answered; { // which a does not hear
		n, err := all.WaitForNotification(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		answered = strings.HasPrefix(n.Payload, b.hints.sender) && strings.Contains(n.Payload, " "+wordLost)
	}
	p.set(func() { p.down = false })
	eventually(t, "it listens again", func() bool { hears, _ := a.known(); return hears })
	a.tell(store.Hint{Task: 7})
	eventually(t, "the task is hinted", func() bool { return h.has(func(h store.Hint) bool { return h.Task == 7 }) })
}

func TestNoListen(t *testing.T) {
	pgtest.Require(t)
	address := cluster.Database(t)
	off := address + "&listen=off"
	a, b := mustOpen(t, off, nil), mustOpen(t, address, nil)
	h, silent := listenTo(t, b), listenTo(t, a)
	met(t, b)
	post(t, a, "from the silent one")
	post(t, b, "to the silent one")
	post(t, mustOpen(t, address, nil), "end")
	eventually(t, "mail of a third is hinted", func() bool { return h.has(isMail("end")) || h.has(isLost) })
	if h.has(isMail("from the silent one")) || silent.has(func(store.Hint) bool { return true }) {
		t.Error("hints are off and were sent, or heard")
	}
}

// TestListenAddress: the listening connection may use another address.
func TestListenAddress(t *testing.T) {
	pgtest.Require(t)
	address := cluster.Database(t)
	a := mustOpen(t, address, &Options{Listen: address + "&pool_max_conns=3"})
	b := mustOpen(t, address, nil)
	met(t, a, b)
	const secret = "swordfish"
	for _, bad := range []string{"postgres://u:" + secret + "@host:port/x", "postgres://u:" + secret + "@h/x?sslmode=nonsense"} {
		for _, open := range []func() (*Store, error){
			func() (*Store, error) { return Open(t.Context(), address, &Options{Listen: bad}) },
			func() (*Store, error) { return Open(t.Context(), bad, nil) },
		} {
			if _, err := open(); err == nil || strings.Contains(err.Error(), secret) {
				t.Errorf("%s: %v", bad, err)
			}
		}
	}
}

// TestHintsDoNotArrive: a listener that hears nothing logs what to do, once.
func TestHintsDoNotArrive(t *testing.T) {
	t.Parallel() // it waits most of the time
	pgtest.Require(t)
	var mu sync.Mutex
	var log strings.Builder
	logger := slog.New(slog.NewTextHandler(logTo(func(b []byte) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		return log.Write(b)
	}), &slog.HandlerOptions{Level: slog.LevelWarn}))
	// It listens in another database, as if a pooler held everything back.
	elsewhere := cluster.Database(t)
	s := mustOpen(t, cluster.Database(t), &Options{Listen: elsewhere, Logger: logger})
	eventually(t, "it says so", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return strings.Contains(log.String(), "listen=")
	})
	post(t, s, "node") // all else works
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if n := strings.Count(log.String(), "listen=off"); n != 1 {
		t.Errorf("it says so %d times", n)
	}
}

type logTo func([]byte) (int, error)

func (l logTo) Write(b []byte) (int, error) { return l(b) }

// BenchmarkHint measures the time from a Post until another store has heard of it.
func BenchmarkHint(b *testing.B) {
	pgtest.Require(b)
	address := cluster.Database(b)
	from, to := mustOpen(b, address, nil), mustOpen(b, address, nil)
	met(b, from, to)
	heard := make(chan string, 4096)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = to.Watch(ctx, func(h store.Hint) {
			if h.Node != "" {
				heard <- h.Node
			}
		})
	}()
	defer func() { cancel(); <-done }()
	var took []time.Duration
	n := 0
	for b.Loop() {
		n++
		node := fmt.Sprint("node ", n)
		began := time.Now()
		from.tell(store.Hint{Node: node})
		for got := ""; got != node; {
			select {
			case got = <-heard:
			case <-time.After(time.Second):
				from.tell(store.Hint{Node: node}) // it did not watch yet
			}
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
}
