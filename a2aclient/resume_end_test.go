package a2aclient

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/wire"
)

func TestGivesUpAfterRetriesWithoutProgress(t *testing.T) {
	for _, retries := range []int{0, 3, -1} {
		synctest.Test(t, func(t *testing.T) {
			f := &fake{}
			c, p := inMemory(t, f, a2a.BindingJSONRPC, &Options{Retries: retries})
			s := counting(2)
			f.handle = func(x *exchange) {
				p.down = true
				x.stream(x.event("1", s[0]))
				x.cut()
			}
			start := time.Now()
			els, err := collect(c.SendStreamingMessage(t.Context(), hello()))
			var lost *TransportError
			if len(els) != 1 || !errors.As(err, &lost) || lost.Host != "agent.test" {
				t.Fatalf("%s, %v", brief(els), err)
			}
			want := max(c.opts.retries(), 0)
			if p.dials-1 != want || lost.Unreachable != (want > 0) {
				t.Errorf("retries %d: %d attempts, %v", retries, p.dials-1, err)
			}
			lo, hi := time.Duration(0), time.Duration(0)
			for i := range want {
				d := min(8*time.Second, 500*time.Millisecond<<i)
				lo, hi = lo+d/2, hi+d
			}
			if took := time.Since(start); took < lo || took > hi {
				t.Errorf("retries %d: took %v, want %v to %v", retries, took, lo, hi)
			}
		})
	}
}

// Progress starts the count anew: a stream may be cut any number of times.
func TestProgressResetsTheCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := counting(40)
		f := &fake{}
		f.handle = func(x *exchange) {
			if x.op == dialect.SubscribeToTask && x.n%3 != 0 {
				x.raw(http.StatusBadGateway, "text/html", "<html>bad gateway</html>")
				return
			}
			from := 1
			if id := x.header.Get("Last-Event-ID"); id != "" {
				from, _ = strconv.Atoi(id)
			}
			x.stream(x.event(strconv.Itoa(from), &a2a.StreamResponse{Task: s.at(from)}))
			if from < len(s) {
				x.write(x.event(strconv.Itoa(from+1), s[from]))
			}
			if from+1 < len(s) {
				x.cut()
			}
		}
		c, _ := inMemory(t, f, a2a.BindingHTTPJSON, &Options{Retries: 3})
		els, err := collect(c.SendStreamingMessage(t.Context(), hello()))
		if err != nil || len(els) != len(s) || fold(els) != string(s.at(len(s)).AppendJSON(nil)) {
			t.Fatalf("%s, %v", brief(els), err)
		}
	})
}

// A server of old may close each subscription behind a first event. Its client asks again,
// as there is no other way to hear of the end, but less and less often.
func TestSubscriptionsThatCloseAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, start, asked := counting(2), time.Now(), 0
		f := &fake{}
		f.handle = func(x *exchange) {
			state := s.at(2)
			if time.Since(start) > 10*time.Minute {
				state = s.at(len(s))
			}
			switch x.op {
			case dialect.GetTask:
				x.json(state)
			case dialect.SubscribeToTask:
				asked++
				x.stream(x.event("", s[1]))
			default:
				x.stream(x.event("", s[0]), x.event("", s[1]))
			}
		}
		c, _ := inMemory(t, f, a2a.BindingJSONRPC, nil)
		els, err := collect(c.SendStreamingMessage(t.Context(), hello()))
		if err != nil || len(els) == 0 || els[len(els)-1].State() != a2a.TaskStateCompleted {
			t.Fatalf("%s, %v", brief(els), err)
		}
		if most := 10*60/4 + 10; asked > most {
			t.Errorf("subscribed %d times in ten minutes, want %d at most", asked, most)
		}
	})
}

func TestContextEndsEverything(t *testing.T) {
	why := errors.New("had enough")
	for name, script := range map[string]func(x *exchange, p *pipes){
		"reading": func(x *exchange, _ *pipes) {
			x.stream(x.event("1", counting(1)[0]))
			<-x.r.Context().Done()
		},
		"waiting to resume": func(x *exchange, p *pipes) {
			p.down = true
			x.stream(x.event("1", counting(1)[0]))
			x.cut()
		},
		"before the header": func(x *exchange, _ *pipes) { <-x.r.Context().Done() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fake{}
				c, p := inMemory(t, f, a2a.BindingJSONRPC, nil)
				f.handle = func(x *exchange) { script(x, p) }
				ctx, cancel := context.WithCancelCause(t.Context())
				time.AfterFunc(9*time.Second, func() { cancel(why) })
				start := time.Now()
				_, err := collect(c.SendStreamingMessage(ctx, hello()))
				if err != why || time.Since(start) != 9*time.Second {
					t.Errorf("%v after %v", err, time.Since(start))
				}
			})
		})
	}
}

// Leaving the loop releases the connection, so that the server sees it.
func TestLeavingTheLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gone := make(chan struct{})
		f := &fake{handle: func(x *exchange) {
			x.stream(x.event("1", counting(1)[0]))
			<-x.r.Context().Done()
			close(gone)
		}}
		c, _ := inMemory(t, f, a2a.BindingJSONRPC, nil)
		for _, err := range c.SendStreamingMessage(t.Context(), hello()) {
			if err != nil {
				t.Fatal(err)
			}
			break
		}
		<-gone // the bubble fails if this never comes
	})
}

// A task that goes on but cannot be subscribed to any more is polled.
func TestSubscriptionRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := counting(3)
		f := &fake{}
		f.handle = func(x *exchange) {
			switch x.op {
			case dialect.SendStreamingMessage:
				x.stream(x.event("", s[0]))
				x.cut()
			case dialect.GetTask:
				x.json(s.at(min(len(s), 1+x.n/2)))
			default:
				x.fail(a2a.Errorf(a2a.CodeTaskNotFound, "no active execution"))
			}
		}
		c, _ := inMemory(t, f, a2a.BindingHTTPJSON, nil)
		els, err := collect(c.SendStreamingMessage(t.Context(), hello()))
		if err != nil || fold(els) != string(s.at(len(s)).AppendJSON(nil)) {
			t.Errorf("%s, %v", brief(els), err)
		}
	})
}

func TestTaskThatIsGoneAfterACut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		f.handle = func(x *exchange) {
			if x.op == dialect.SendStreamingMessage {
				x.stream(x.event("1", counting(1)[0]))
				x.cut()
			}
			x.fail(a2a.Errorf(a2a.CodeTaskNotFound, "no such task"))
		}
		c, _ := inMemory(t, f, a2a.BindingJSONRPC, nil)
		els, err := collect(c.SendStreamingMessage(t.Context(), hello()))
		if !errors.Is(err, a2a.ErrTaskNotFound) || len(els) != 1 {
			t.Errorf("%s, %v", brief(els), err)
		}
	})
}

// A follow-up that is cut before the first element goes on only if the task
// has the message.
func TestFollowUpCutBeforeTheFirstElement(t *testing.T) {
	for _, taken := range []bool{true, false} {
		for _, header := range []bool{true, false} {
			t.Run(fmt.Sprintf("taken=%v header=%v", taken, header), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := counting(2)
					sends := 0
					f := &fake{}
					f.handle = func(x *exchange) {
						now := s.at(2)
						if taken {
							now.History = []*a2a.Message{{MessageID: "m1", Role: a2a.RoleUser}}
						}
						switch x.op {
						case dialect.SendStreamingMessage:
							sends++
							if header {
								x.stream([]byte(": hello\n\n"))
							}
							x.cut()
						case dialect.GetTask:
							x.json(now)
						default:
							x.stream(x.event("5", &a2a.StreamResponse{Task: now}), x.event("6", s[2]), x.event("7", s[3]), x.event("8", s[4]))
						}
					}
					c, _ := inMemory(t, f, a2a.BindingJSONRPC, nil)
					req := hello()
					req.Message.TaskID = "t1"
					els, err := collect(c.SendStreamingMessage(t.Context(), req))
					var lost *TransportError
					switch {
					case sends != 1:
						t.Errorf("sent %d times", sends)
					case taken && (err != nil || brief(els) != "5 task:WORKING, 6 chunk, 7 chunk, 8 COMPLETED"):
						t.Errorf("%s, %v", brief(els), err)
					case !taken && (len(els) > 0 || !errors.As(err, &lost)):
						t.Errorf("%s, %v", brief(els), err)
					}
				})
			})
		}
	}
}

func TestWhereStreamsEnd(t *testing.T) {
	working, input, auth := a2a.TaskStateWorking, a2a.TaskStateInputRequired, a2a.TaskStateAuthRequired
	tests := []struct {
		name      string
		subscribe bool
		state     a2a.TaskState
		cut       bool
		ids       bool
		resumes   bool
	}{
		{"send closed on a question", false, input, false, true, false},
		{"send closed on a question, without ids", false, input, false, false, false},
		{"send cut on a question", false, input, true, true, false},
		{"send closed on an authorization", false, auth, false, true, false},
		{"send cut on an authorization", false, auth, true, true, true},
		{"send closed at work", false, working, false, true, true},
		{"subscription closed on a question", true, input, false, true, true},
		{"subscription closed on a question, without ids", true, input, false, false, false},
		{"subscription cut on a question", true, input, true, false, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := script{counting(0)[0], status(tt.state), status(a2a.TaskStateCompleted)}
				id := func(i int) string {
					if tt.ids {
						return strconv.Itoa(i)
					}
					return ""
				}
				f := &fake{}
				f.handle = func(x *exchange) {
					switch {
					case x.n == 0:
						x.stream(x.event(id(1), s[0]), x.event(id(2), s[1]))
						if tt.cut {
							x.cut()
						}
					case x.op == dialect.GetTask:
						x.json(s.at(2))
					default:
						x.stream(x.event(id(2), &a2a.StreamResponse{Task: s.at(2)}), x.event(id(3), s[2]))
					}
				}
				c, _ := inMemory(t, f, a2a.BindingHTTPJSON, nil)
				seq := c.SendStreamingMessage(t.Context(), hello())
				if tt.subscribe {
					seq = c.SubscribeToTask(t.Context(), &a2a.SubscribeToTaskRequest{ID: "t1"})
				}
				els, err := collect(seq)
				if err != nil {
					t.Fatal(err)
				}
				if resumed := len(f.seen()) > 1; resumed != tt.resumes {
					t.Errorf("resumed: %v; %s", resumed, brief(els))
				}
			})
		})
	}
}

// A subscription that goes on for a send stream ends where that would have.
func TestResumedSendEndsAtTheQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := script{counting(0)[0], status(a2a.TaskStateWorking), status(a2a.TaskStateInputRequired)}
		f := &fake{}
		f.handle = func(x *exchange) {
			if x.n == 0 {
				x.stream(x.event("1", s[0]), x.event("2", s[1]))
				x.cut()
			}
			x.stream(x.event("2", &a2a.StreamResponse{Task: s.at(2)}), x.event("3", s[2]))
			<-x.r.Context().Done() // a subscription stays open
		}
		c, _ := inMemory(t, f, a2a.BindingJSONRPC, nil)
		els, err := collect(c.SendStreamingMessage(t.Context(), hello()))
		if want := "1 task:SUBMITTED, 2 WORKING, 3 INPUT_REQUIRED"; err != nil || brief(els) != want {
			t.Errorf("got %s, %v, want %s", brief(els), err, want)
		}
	})
}

// After the last event comes at most a snapshot of the task, or an error.
func TestBehindTheLastEvent(t *testing.T) {
	s := counting(1)
	both(t, func(t *testing.T, binding string) {
		for name, tail := range map[string]func(x *exchange){
			"closed":     func(x *exchange) {},
			"cut":        func(x *exchange) { x.cut() },
			"stays open": func(x *exchange) { <-x.r.Context().Done() },
			"more":       func(x *exchange) { x.write(x.event("5", status(a2a.TaskStateWorking))) },
		} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					f := &fake{handle: func(x *exchange) {
						x.stream(x.event("1", s[0]), x.event("2", s[3]))
						tail(x)
					}}
					c, _ := inMemory(t, f, binding, nil)
					start := time.Now()
					els, err := collect(c.SendStreamingMessage(t.Context(), hello()))
					if want := "1 task:SUBMITTED, 2 COMPLETED"; err != nil || brief(els) != want || len(f.seen()) != 1 {
						t.Errorf("got %s, %v", brief(els), err)
					}
					if took := time.Since(start); took > linger {
						t.Errorf("took %v", took)
					}
				})
			})
		}
		synctest.Test(t, func(t *testing.T) {
			f := &fake{handle: func(x *exchange) {
				x.stream(x.event("1", s[0]), x.event("2", s[3]))
				x.write([]byte("event: error\ndata: " + string(x.failure(a2a.Errorf(a2a.CodeUnsupportedOperation, "too late"))) + "\n\n"))
			}}
			c, _ := inMemory(t, f, binding, nil)
			els, err := collect(c.SendStreamingMessage(t.Context(), hello()))
			if len(els) != 2 || !errors.Is(err, a2a.ErrUnsupportedOperation) || !strings.Contains(err.Error(), "too late") {
				t.Errorf("got %s, %v", brief(els), err)
			}
		})
	})
}

// TestATokenThatExpiresInAStream: the server ends the stream with a refusal, and the
// client goes on with the next token, once.
func TestATokenThatExpiresInAStream(t *testing.T) {
	s := counting(3)
	for _, c := range []struct {
		name     string
		good     string        // the last token that is taken
		lasts    time.Duration // a connection
		static   bool          // the token is the caller's own
		want     int           // elements
		requests int
	}{
		{name: "another token is good", good: "2", want: 6, requests: 2},
		{name: "another token is refused", good: "1", want: 2, requests: 2},
		{name: "each one expires at once", good: "9", want: 3, requests: 2},
		{name: "each one expires after a while", good: "9", lasts: 2 * steady, want: 6, requests: 5},
		{name: "there is no other", static: true, good: "1", want: 2, requests: 1},
	} {
		both(t, func(t *testing.T, binding string) {
			t.Run(c.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					streams := 0
					f := &fake{handle: func(x *exchange) {
						expired := &a2a.Error{Code: a2a.CodeUnauthenticated, Message: "the token has expired"}
						if x.header.Get("Authorization") > "Bearer "+c.good {
							x.fail(expired)
							return
						}
						streams++
						from, to := streams, streams+1
						if c.good == "2" && streams == 2 {
							to = len(s)
						}
						x.stream(x.event(strconv.Itoa(from), &a2a.StreamResponse{Task: s.at(from)}))
						for n := from; n < to; n++ {
							x.write(x.event(strconv.Itoa(n+1), s[n]))
						}
						if to < len(s) {
							time.Sleep(c.lasts)
							name := map[bool]string{true: "error"}[x.id == nil]
							x.write(wire.AppendEvent(nil, "", name, x.failure(expired)))
						}
					}}
					asked := 0
					o := &Options{Token: func(context.Context, *a2a.AgentCard, *url.URL) (string, error) {
						asked++
						return strconv.Itoa(asked), nil
					}}
					if c.static {
						o.Bearer = "1"
					}
					client, _ := inMemory(t, f, binding, o)
					els, err := collect(client.SendStreamingMessage(t.Context(), hello()))
					if finished := c.want == len(s); len(els) != c.want || len(f.seen()) != c.requests || finished != (err == nil) || !finished && !errors.Is(err, a2a.ErrUnauthenticated) {
						t.Errorf("%s, %v in %d requests; want %d elements in %d", brief(els), err, len(f.seen()), c.want, c.requests)
					}
				})
			})
		})
	}
}
