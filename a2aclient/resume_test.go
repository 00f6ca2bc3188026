package a2aclient

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/dialect"
)

// numbered answers for a server with a log, as Parley is: events have their
// place as id, and a subscription with Last-Event-ID goes on behind it. The
// n-th stream is cut where cuts[n] says, in bytes; clean says how.
func numbered(s script, cuts []int, clean bool) func(x *exchange) {
	streams := 0
	return func(x *exchange) {
		from := 1
		switch x.op {
		case dialect.SubscribeToTask:
			after, _ := strconv.Atoi(x.header.Get("Last-Event-ID"))
			if after > 0 {
				from = after
			}
		case dialect.GetTask:
			x.json(s.at(len(s)))
			return
		}
		var bytes []byte
		for seq := from; seq <= len(s); seq++ {
			el := s[seq-1]
			if seq == from {
				el = &a2a.StreamResponse{Task: s.at(seq)}
			}
			bytes = append(bytes, x.event(strconv.Itoa(seq), el)...)
		}
		cut := len(bytes)
		if streams < len(cuts) {
			cut = min(cut, cuts[streams])
		}
		streams++
		x.stream(bytes[:cut])
		if cut < len(bytes) && !clean {
			x.cut()
		}
	}
}

// anonymous answers for a server without a log: its events have ids as of
// ids, or count from 1 in each connection, a subscription begins with the task as it stands, and a finished task
// cannot be subscribed to. Each cut costs the client two elements, which
// happen while nobody listens.
func anonymous(s script, cuts []int, clean bool, ids func() string) func(x *exchange) {
	streams, now := 0, 1
	return func(x *exchange) {
		if x.op == dialect.GetTask {
			x.json(s.at(now))
			return
		}
		if x.op == dialect.SubscribeToTask && now == len(s) {
			x.fail(a2a.Errorf(a2a.CodeUnsupportedOperation, "finished"))
			return
		}
		n, id := 0, ids
		if id == nil {
			id = func() string { n++; return strconv.Itoa(n) }
		}
		bytes := x.event(id(), &a2a.StreamResponse{Task: s.at(now)})
		ends := []int{0, len(bytes)}
		for _, el := range s[now:] {
			bytes = append(bytes, x.event(id(), el)...)
			ends = append(ends, len(bytes))
		}
		cut := len(bytes)
		if streams < len(cuts) {
			cut = min(cut, cuts[streams])
		}
		streams++
		sent := 0
		for _, e := range ends {
			if e <= cut {
				sent++
			}
		}
		now = min(len(s), max(now, now+sent-2)+2)
		x.stream(bytes[:cut])
		if cut < len(bytes) && !clean {
			x.cut()
		}
	}
}

// length returns how many bytes the first stream of a script has.
func length(binding string, s script, id func(i int) string) (all, first int) {
	x := &exchange{}
	if binding == a2a.BindingJSONRPC {
		x.id = []byte("1")
	}
	for i, el := range s {
		all += len(x.event(id(i), el))
		if i == 0 {
			first = all
		}
	}
	return all, first
}

func TestCutsAtEveryByteWithACursor(t *testing.T) {
	s := counting(3)
	want := "1 task:SUBMITTED, 2 WORKING, 3 chunk, 4 chunk, 5 chunk, 6 COMPLETED"
	both(t, func(t *testing.T, binding string) {
		all, first := length(binding, s, func(i int) string { return strconv.Itoa(i + 1) })
		for _, clean := range []bool{false, true} {
			for cut := range all {
				cuts := []int{cut, cut * 7 % all, cut * 3 % all}
				synctest.Test(t, func(t *testing.T) {
					f := &fake{handle: numbered(s, cuts, clean)}
					c, _ := inMemory(t, f, binding, nil)
					els, err := collect(c.SendStreamingMessage(t.Context(), hello()))
					if cut < first { // nobody knows the task
						var lost *TransportError
						if len(els) > 0 || !errors.As(err, &lost) || lost.Unreachable {
							t.Fatalf("cut at %d: %s, %v", cut, brief(els), err)
						}
						if n := len(f.seen()); n != 1 {
							t.Fatalf("cut at %d: %d requests: a message was sent again", cut, n)
						}
						return
					}
					if err != nil || brief(els) != want {
						t.Fatalf("cut at %v, clean %v:\n got %s, %v\nwant %s", cuts, clean, brief(els), err, want)
					}
				})
			}
		}
	})
}

func TestCutsAnywhereWithoutACursor(t *testing.T) {
	s := counting(6)
	want := string(s.at(len(s)).AppendJSON(nil))
	ids := map[string]func() string{
		"none":    func() string { return "" },
		"random":  func() string { return fmt.Sprintf("%x-%x", rand.Uint64(), rand.Uint64()) },
		"numbers": func() string { return strconv.FormatUint(rand.Uint64()>>1, 10) },
		"same":    func() string { return "7" },
		"counted": nil, // within a connection
	}
	for name, id := range ids {
		t.Run(name, func(t *testing.T) {
			both(t, func(t *testing.T, binding string) {
				all, _ := length(binding, s, func(int) string { return "" })
				step := 3
				if name != "none" {
					step = 17
				}
				for cut := 0; cut < all; cut += step {
					for _, clean := range []bool{false, true} {
						synctest.Test(t, func(t *testing.T) {
							f := &fake{handle: anonymous(s, []int{cut, cut * 5 % all}, clean, id)}
							c, _ := inMemory(t, f, binding, nil)
							els, err := collect(c.SubscribeToTask(t.Context(), &a2a.SubscribeToTaskRequest{ID: "t1"}))
							if err != nil {
								t.Fatalf("cut at %d, clean %v: %s, %v", cut, clean, brief(els), err)
							}
							if got := fold(els); got != want {
								t.Fatalf("cut at %d, clean %v:\n got %s\nwant %s\nfrom %s", cut, clean, got, want, brief(els))
							}
						})
					}
				}
			})
		})
	}
}

// A subscription that a caller begins behind a cursor keeps it from the first
// request on.
func TestAfterIsTheFirstCursor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{handle: numbered(counting(3), []int{1}, false)}
		c, _ := inMemory(t, f, a2a.BindingJSONRPC, nil)
		els, err := collect(c.SubscribeToTask(t.Context(), &a2a.SubscribeToTaskRequest{ID: "t1", After: 4}))
		if want := "4 task:WORKING, 5 chunk, 6 COMPLETED"; err != nil || brief(els) != want {
			t.Fatalf("got %s, %v, want %s", brief(els), err, want)
		}
		for _, r := range f.seen() {
			if id := r.header.Get("Last-Event-ID"); id != "4" {
				t.Errorf("%v with Last-Event-ID %q", r.op, id)
			}
		}
	})
}

func TestCursorThatTheServerForgot(t *testing.T) {
	s := counting(4)
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		f.handle = func(x *exchange) {
			switch {
			case x.op == dialect.SendStreamingMessage:
				x.stream(x.event("1", s[0]), x.event("2", s[1]), x.event("3", s[2]))
				x.cut()
			case x.header.Get("Last-Event-ID") != "":
				x.fail(a2a.Invalid("Last-Event-ID", "is not an event of this task"))
			case x.op == dialect.GetTask:
				x.json(s.at(4))
			default:
				x.stream(x.event("1", &a2a.StreamResponse{Task: s.at(4)}), x.event("2", s[4]), x.event("3", s[5]), x.event("4", s[6]))
			}
		}
		c, _ := inMemory(t, f, a2a.BindingJSONRPC, nil)
		els, err := collect(c.SendStreamingMessage(t.Context(), hello()))
		if err != nil || fold(els) != string(s.at(7).AppendJSON(nil)) {
			t.Fatalf("%s, %v", brief(els), err)
		}
		if got, want := brief(els), "1 task:SUBMITTED, 2 WORKING, 3 chunk, 0 task:WORKING, 0 chunk, 0 chunk, 0 COMPLETED"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

// Servers differ in how a subscription goes on.
func TestSubscriptionsThatDoNotBeginWithTheTask(t *testing.T) {
	s := counting(4)
	for name, rest := range map[string]struct {
		ids  []string
		want string
	}{
		"behind the cursor": {[]string{"4", "5", "6", "7"}, "1 task:SUBMITTED, 2 WORKING, 3 chunk, 4 chunk, 5 chunk, 6 chunk, 7 COMPLETED"},
		"without ids":       {[]string{"", "", "", ""}, "1 task:SUBMITTED, 2 WORKING, 3 chunk, 0 task:WORKING, 0 chunk, 0 chunk, 0 chunk, 0 COMPLETED"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fake{}
				f.handle = func(x *exchange) {
					switch x.op {
					case dialect.SendStreamingMessage:
						x.stream(x.event("1", s[0]), x.event("2", s[1]), x.event("3", s[2]))
						x.cut()
					case dialect.GetTask:
						x.json(s.at(3))
					default:
						x.stream(x.event(rest.ids[0], s[3]), x.event(rest.ids[1], s[4]), x.event(rest.ids[2], s[5]), x.event(rest.ids[3], s[6]))
					}
				}
				c, _ := inMemory(t, f, a2a.BindingHTTPJSON, nil)
				els, err := collect(c.SendStreamingMessage(t.Context(), hello()))
				if err != nil || brief(els) != rest.want {
					t.Fatalf("\n got %s, %v\nwant %s", brief(els), err, rest.want)
				}
				if fold(els) != string(s.at(7).AppendJSON(nil)) {
					t.Error(fold(els))
				}
			})
		})
	}
}

// An agent that thinks for long over a server without keep-alives looks dead
// every 45 s, and is not.
func TestSilenceIsACutButNoFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := counting(2)
		start := time.Now()
		f := &fake{}
		f.handle = func(x *exchange) {
			done := time.Since(start) > 20*time.Minute
			switch {
			case x.op == dialect.GetTask && done:
				x.json(s.at(len(s)))
			case x.op == dialect.GetTask:
				x.json(s.at(2))
			default:
				x.stream(x.event("", &a2a.StreamResponse{Task: s.at(2)}))
				<-x.r.Context().Done()
			}
		}
		c, _ := inMemory(t, f, a2a.BindingJSONRPC, nil)
		els, err := collect(c.SubscribeToTask(t.Context(), &a2a.SubscribeToTaskRequest{ID: "t1"}))
		if want := "0 task:WORKING, 0 task:COMPLETED"; err != nil || brief(els) != want {
			t.Errorf("got %s, %v, want %s", brief(els), err, want)
		}
		if took := time.Since(start); took < 20*time.Minute || took > 21*time.Minute {
			t.Errorf("took %v", took)
		}
	})
}

func TestKeepAlivesKeepAStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := counting(1)
		f := &fake{}
		f.handle = func(x *exchange) {
			x.stream(x.event("1", s[0]))
			for range 100 {
				time.Sleep(40 * time.Second)
				x.write([]byte(": keep-alive\n\n"))
			}
			x.write(x.event("2", s[1]), x.event("3", s[2]), x.event("4", s[3]))
		}
		c, _ := inMemory(t, f, a2a.BindingJSONRPC, nil)
		els, err := collect(c.SendStreamingMessage(t.Context(), hello()))
		if err != nil || len(els) != 4 || len(f.seen()) != 1 {
			t.Errorf("got %s, %v, with %d requests", brief(els), err, len(f.seen()))
		}
	})
}

// Bytes that come one by one make the same stream.
func TestByteByByte(t *testing.T) {
	both(t, func(t *testing.T, binding string) {
		synctest.Test(t, func(t *testing.T) {
			s := counting(2)
			f := &fake{}
			f.handle = func(x *exchange) {
				x.stream()
				for i, el := range s {
					for _, b := range x.event(strconv.Itoa(i+1), el) {
						time.Sleep(40 * time.Millisecond)
						x.write([]byte{b})
					}
				}
			}
			c, _ := inMemory(t, f, binding, nil)
			els, err := collect(c.SendStreamingMessage(t.Context(), hello()))
			if want := "1 task:SUBMITTED, 2 WORKING, 3 chunk, 4 chunk, 5 COMPLETED"; err != nil || brief(els) != want || len(f.seen()) != 1 {
				t.Errorf("got %s, %v, want %s", brief(els), err, want)
			}
		})
	})
}

// The time a caller spends on an element is not the server's silence.
func TestSlowCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{handle: numbered(counting(4), nil, false)}
		c, _ := inMemory(t, f, a2a.BindingJSONRPC, nil)
		n := 0
		for _, err := range c.SendStreamingMessage(t.Context(), hello()) {
			if err != nil {
				t.Fatal(err)
			}
			n++
			time.Sleep(10 * time.Minute)
		}
		if n != 7 || len(f.seen()) != 1 {
			t.Errorf("%d elements with %d requests", n, len(f.seen()))
		}
	})
}
