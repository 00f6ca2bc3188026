package a2aclient

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/dialect"
)

// promise puts the retry extension on a client's card, with security schemes if
// secured.
func promise(c *Client, r dialect.Retry, secured bool) *Client {
	card := *c.Card()
	card.Capabilities.Extensions = []*a2a.AgentExtension{dialect.RetryExtension(r)}
	if secured {
		card.SecuritySchemes = map[string]*a2a.SecurityScheme{"b": {HTTPAuth: &a2a.HTTPAuthSecurityScheme{Scheme: "Bearer"}}}
	}
	c.card.Store(&card)
	return c
}

var toAll = dialect.Retry{Window: 24 * time.Hour, Anonymous: true}

// unanswering are the ways in which a call gets no answer.
var unanswering = map[string]func(x *exchange){
	"cut":      func(x *exchange) { x.cut() },
	"502":      func(x *exchange) { x.raw(502, "text/html", "<html>") },
	"503":      func(x *exchange) { x.raw(503, "", "") },
	"504":      func(x *exchange) { x.raw(504, "text/plain", "upstream timed out") },
	"draining": func(x *exchange) { x.fail(a2a.Errorf(a2a.CodeUnavailable, "the server is shutting down")) },
	"busy":     func(x *exchange) { x.w.Header().Set("Retry-After", "7"); x.fail(&a2a.Error{Code: a2a.CodeRateLimited}) },
	"busy till": func(x *exchange) {
		x.w.Header().Set("Retry-After", time.Now().Add(8*time.Second).UTC().Format(http.TimeFormat))
		x.raw(429, "", "")
	},
	"half an answer": func(x *exchange) {
		x.w.Header().Set("Content-Length", "1000")
		x.raw(200, "application/json", `{"task":`)
		x.cut()
	},
}

// whole answers as an agent does.
func whole(x *exchange) {
	s := counting(1)
	if x.op == dialect.SendMessage {
		x.json(&a2a.SendMessageResponse{Task: s.at(len(s))})
		return
	}
	numbered(s, nil, false)(x)
}

// sendBoth sends a message in both ways; what comes is a finished task, or an
// error.
var sendBoth = map[dialect.Op]func(ctx context.Context, c *Client, req *a2a.SendMessageRequest) error{
	dialect.SendMessage: func(ctx context.Context, c *Client, req *a2a.SendMessageRequest) error {
		res, err := c.SendMessage(ctx, req)
		if err == nil && res.Task.Status.State != a2a.TaskStateCompleted {
			return errors.New("not finished")
		}
		return err
	},
	dialect.SendStreamingMessage: func(ctx context.Context, c *Client, req *a2a.SendMessageRequest) error {
		els, err := collect(c.SendStreamingMessage(ctx, req))
		if got, want := brief(els), "1 task:SUBMITTED, 2 WORKING, 3 chunk, 4 COMPLETED"; err == nil && got != want {
			return fmt.Errorf("got %s, want %s", got, want)
		}
		return err
	},
}

// retried runs a test for each operation and binding in a bubble.
func retried(t *testing.T, test func(t *testing.T, binding string, op dialect.Op)) {
	both(t, func(t *testing.T, binding string) {
		for op := range sendBoth {
			t.Run(op.String(), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { test(t, binding, op) })
			})
		}
	})
}

func TestMessagesWithoutAnAnswerAreSentAgain(t *testing.T) {
	for name, fail := range unanswering {
		t.Run(name, func(t *testing.T) {
			retried(t, func(t *testing.T, binding string, op dialect.Op) {
				f := &fake{handle: func(x *exchange) {
					if x.n < 3 {
						fail(x)
						return
					}
					whole(x)
				}}
				c, _ := inMemory(t, f, binding, nil)
				var log bytes.Buffer
				c.log = slog.New(slog.NewTextHandler(&log, nil))
				req := hello()
				req.Message.MessageID, req.Metadata = "", a2a.JSON(`{"a":1}`)
				began := time.Now()
				if err := sendBoth[op](t.Context(), promise(c, toAll, false), req); err != nil {
					t.Fatal(err)
				}
				took := time.Since(began)
				if least := 3 * 7 * time.Second; strings.HasPrefix(name, "busy") && took < least || took > 30*time.Second {
					t.Errorf("it took %v", took)
				}
				calls := f.seen()
				var first string
				for i, call := range calls {
					r, ok := call.req.(*a2a.SendMessageRequest)
					if !ok || call.op != op || r.Message.MessageID == "" {
						t.Fatalf("%v %+v", call.op, call.req)
					}
					if doc := mustJSON(t, r); i == 0 {
						first = doc
					} else if doc != first {
						t.Errorf("sent first %s\nthen       %s", first, doc)
					}
				}
				if len(calls) != 4 {
					t.Errorf("%d requests, want 4", len(calls))
				}
				if req.Message.MessageID != "" {
					t.Error("the caller's message was changed")
				}
				if n := strings.Count(log.String(), "is sent again"); n != 3 {
					t.Errorf("%d records of it:\n%s", n, log.String())
				}
			})
		})
	}
}

func TestMessagesAreSentAgainWhenTheServerIsBack(t *testing.T) {
	retried(t, func(t *testing.T, binding string, op dialect.Op) {
		f := &fake{handle: whole}
		c, p := inMemory(t, f, binding, nil)
		p.late = 7
		if err := sendBoth[op](t.Context(), promise(c, toAll, false), hello()); err != nil {
			t.Fatal(err)
		}
		if n := len(f.seen()); n != 1 || p.dials != 8 {
			t.Errorf("%d requests after %d dials", n, p.dials)
		}
	})
}

// A client that may not send again does not, whatever happens.
func TestMessagesAreNotSentAgainWithoutAPromise(t *testing.T) {
	known := dialect.Retry{Window: time.Hour}
	token := func(is string) func(context.Context, *a2a.AgentCard, *url.URL) (string, error) {
		return func(context.Context, *a2a.AgentCard, *url.URL) (string, error) { return is, nil }
	}
	for name, tt := range map[string]struct {
		o       Options
		retry   *dialect.Retry
		secured bool
		want    int // requests
	}{
		"no extension":               {Options{Bearer: "x"}, nil, true, 1},
		"anonymous":                  {Options{}, &known, true, 1},
		"credentials for nobody":     {Options{Bearer: "x"}, &known, false, 1},
		"no time":                    {Options{}, &dialect.Retry{Anonymous: true}, true, 1},
		"retries switched off":       {Options{Retries: -1}, &toAll, true, 1},
		"bearer":                     {Options{Bearer: "x"}, &known, true, 2},
		"key":                        {Options{APIKey: "x"}, &known, true, 2},
		"a token":                    {Options{Token: token("x")}, &known, true, 2},
		"no token":                   {Options{Token: token("")}, &known, true, 1},
		"a token for nobody":         {Options{Token: token("x")}, &known, false, 1},
		"a header":                   {Options{Header: http.Header{"authorization": {"Basic x"}}}, &known, true, 2},
		"anonymous, who are welcome": {Options{}, &toAll, false, 2},
	} {
		t.Run(name, func(t *testing.T) {
			retried(t, func(t *testing.T, binding string, op dialect.Op) {
				f := &fake{handle: func(x *exchange) {
					if x.n == 0 {
						x.cut()
					}
					whole(x)
				}}
				o := tt.o
				c, _ := inMemory(t, f, binding, &o)
				if tt.retry != nil {
					promise(c, *tt.retry, tt.secured)
				}
				req := hello()
				req.IdempotencyKey = "a key is no promise"
				err := sendBoth[op](t.Context(), c, req)
				if n := len(f.seen()); n != tt.want || (err == nil) != (tt.want == 2) {
					t.Errorf("%d requests, want %d: %v", n, tt.want, err)
				}
			})
		})
	}
}

// An answer is an answer.
func TestAnswersAreNotAskedForAgain(t *testing.T) {
	late := func(after string) func(x *exchange) {
		return func(x *exchange) {
			x.w.Header().Set("Retry-After", after)
			x.fail(&a2a.Error{Code: a2a.CodeRateLimited})
		}
	}
	for name, answer := range map[string]func(x *exchange){
		"conflict":      func(x *exchange) { x.fail(&a2a.Error{Code: a2a.CodeConflict}) },
		"internal":      func(x *exchange) { x.fail(&a2a.Error{Code: a2a.CodeInternal}) },
		"500":           func(x *exchange) { x.raw(500, "text/html", "<html>") },
		"refused":       func(x *exchange) { x.fail(&a2a.Error{Code: a2a.CodeUnauthenticated}) },
		"busy":          func(x *exchange) { x.fail(&a2a.Error{Code: a2a.CodeRateLimited}) },
		"busy all day":  late("86400"),
		"busy till now": late("Mon, 01 Jan 1990 00:00:00 GMT"),
		"busy for odd":  late("-5"),
		"moved":         func(x *exchange) { x.w.Header().Set("Location", "http://elsewhere.test/"); x.raw(301, "", "") },
	} {
		t.Run(name, func(t *testing.T) {
			retried(t, func(t *testing.T, binding string, op dialect.Op) {
				f := &fake{handle: answer}
				c, _ := inMemory(t, f, binding, nil)
				err := sendBoth[op](t.Context(), promise(c, toAll, false), hello())
				if n := len(f.seen()); n != 1 || err == nil {
					t.Errorf("%d requests, %v", n, err)
				}
			})
		})
	}
}

// A conflict reaches the caller as what it is.
func TestConflictIsTold(t *testing.T) {
	retried(t, func(t *testing.T, binding string, op dialect.Op) {
		f := &fake{handle: func(x *exchange) { x.fail(&a2a.Error{Code: a2a.CodeConflict, Message: "used"}) }}
		c, _ := inMemory(t, f, binding, nil)
		if err := sendBoth[op](t.Context(), c, hello()); !errors.Is(err, a2a.ErrConflict) {
			t.Errorf("%v", err)
		}
	})
}

func TestRepeatsEnd(t *testing.T) {
	stop := errors.New("enough")
	for name, tt := range map[string]struct {
		retries, want int
		window        time.Duration
		until         time.Duration // the caller waits
	}{
		"at ten":             {0, 11, 24 * time.Hour, 0},
		"at three":           {3, 4, 24 * time.Hour, 0},
		"with the window":    {0, 3, 2 * time.Second, 0},
		"with the caller":    {0, 3, 24 * time.Hour, 1600 * time.Millisecond},
		"before they begin":  {0, 1, time.Nanosecond, 0},
		"in a short session": {1, 2, time.Hour, 0},
	} {
		t.Run(name, func(t *testing.T) {
			retried(t, func(t *testing.T, binding string, op dialect.Op) {
				f := &fake{handle: func(x *exchange) { x.cut() }}
				c, _ := inMemory(t, f, binding, &Options{Retries: tt.retries})
				promise(c, dialect.Retry{Window: max(tt.window, time.Second), Anonymous: true}, false)
				if tt.window < time.Second {
					c.Card().Capabilities.Extensions[0].Params = a2a.JSON(`{"window":1e-9,"anonymous":true}`)
				}
				ctx := t.Context()
				if tt.until > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeoutCause(ctx, tt.until, stop)
					defer cancel()
				}
				began := time.Now()
				err := sendBoth[op](ctx, c, hello())
				var lost *TransportError
				if tt.until > 0 && !errors.Is(err, stop) || tt.until == 0 && !errors.As(err, &lost) {
					t.Errorf("%v", err)
				}
				// Waits are random within half of themselves.
				if n := len(f.seen()); n < tt.want-1 && tt.window < time.Hour || n > tt.want+1 || tt.window >= time.Hour && tt.until == 0 && n != tt.want {
					t.Errorf("%d requests, want %d: %v", n, tt.want, err)
				}
				if took := time.Since(began); took > tt.window || took > time.Minute {
					t.Errorf("it took %v", took)
				}
			})
		})
	}
}

// Wherever the first stream is cut, every element comes once: before the first
// one the message is sent again, behind it the task is subscribed to.
func TestCutsAtEveryByteOfAMessageSentAgain(t *testing.T) {
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
					els, err := collect(promise(c, toAll, false).SendStreamingMessage(t.Context(), hello()))
					if err != nil || brief(els) != want {
						t.Fatalf("cut at %v, clean %v:\n got %s, %v\nwant %s", cuts, clean, brief(els), err, want)
					}
					begun := false
					for i, call := range f.seen() {
						if again := call.op == dialect.SendStreamingMessage; again && begun || !again && !begun {
							t.Fatalf("cut at %v: request %d is %v", cuts, i+1, call.op)
						}
						begun = begun || i >= len(cuts) || cuts[i] >= first
					}
				})
			}
		}
	})
}

// A message for a task is sent again, too, rather than looked for in it.
func TestMessagesForATaskAreSentAgain(t *testing.T) {
	retried(t, func(t *testing.T, binding string, op dialect.Op) {
		f := &fake{handle: func(x *exchange) {
			if x.n == 0 {
				x.cut()
			}
			whole(x)
		}}
		c, _ := inMemory(t, f, binding, nil)
		req := hello()
		req.Message.TaskID = "t1"
		if err := sendBoth[op](t.Context(), promise(c, toAll, false), req); err != nil {
			t.Fatal(err)
		}
		for _, call := range f.seen() {
			if call.op != op {
				t.Errorf("%v", call.op)
			}
		}
	})
}

// Where the agent turns out not to stream, the message without a stream is as
// safe as the one with it.
func TestMessagesAreSentAgainWithoutAStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{handle: func(x *exchange) {
			switch {
			case x.op == dialect.SendStreamingMessage:
				x.fail(&a2a.Error{Code: a2a.CodeMethodNotFound})
			case x.op == dialect.GetTask:
				x.fail(&a2a.Error{Code: a2a.CodeTaskNotFound})
			case x.n < 4:
				x.cut()
			default:
				whole(x)
			}
		}}
		c, _ := inMemory(t, f, a2a.BindingJSONRPC, nil)
		els, err := collect(promise(c, toAll, false).SendStreamingMessage(t.Context(), hello()))
		if want := "0 task:COMPLETED"; err != nil || brief(els) != want {
			t.Errorf("got %s, %v, want %s", brief(els), err, want)
		}
	})
}

// The caller goes on with a stream of its own, perhaps in another process.
func TestAfterOfAMessage(t *testing.T) {
	s := counting(3)
	both(t, func(t *testing.T, binding string) {
		synctest.Test(t, func(t *testing.T) {
			f := &fake{handle: func(x *exchange) {
				if x.header.Get("Last-Event-ID") != "4" {
					t.Errorf("behind %q", x.header.Get("Last-Event-ID"))
				}
				if x.n == 0 {
					x.cut()
				}
				x.stream(x.event("4", &a2a.StreamResponse{Task: s.at(4)}), x.event("5", s[4]), x.event("6", s[5]))
			}}
			c, _ := inMemory(t, f, binding, nil)
			req := hello()
			req.After = 4
			els, err := collect(promise(c, toAll, false).SendStreamingMessage(t.Context(), req))
			if want := "4 task:WORKING, 5 chunk, 6 COMPLETED"; err != nil || brief(els) != want {
				t.Errorf("got %s, %v, want %s", brief(els), err, want)
			}
		})
	})
}

// taps keeps the headers of requests with a message, as they are spelt, and
// breaks each request.
type taps struct {
	headers []http.Header
	bodies  []string
}

func (p *taps) RoundTrip(r *http.Request) (*http.Response, error) {
	if body, _ := io.ReadAll(r.Body); bytes.Contains(body, []byte("hello")) {
		p.headers = append(p.headers, r.Header.Clone())
		p.bodies = append(p.bodies, string(body))
	}
	return nil, io.ErrUnexpectedEOF
}

// The key travels over every binding. net/http takes its header for leave to
// send a request again by itself, which is not ours to give where the agent
// promises nothing: then it is spelt so that it does not see it.
func TestIdempotencyKeyIsSent(t *testing.T) {
	for _, binding := range bindings {
		for _, version := range []string{"0.1", "0.3", "1.0", "1.1"} {
			if !speaks(version, binding) {
				continue
			}
			for op := range sendBoth {
				for _, safe := range []bool{false, true} {
					t.Run(fmt.Sprintf("%s %s %s %v", binding, version, op, safe), func(t *testing.T) {
						synctest.Test(t, func(t *testing.T) {
							p := &taps{}
							card := cardAt("http://agent.test", binding)
							card.SupportedInterfaces[0].ProtocolVersion = version
							c, err := New(card, &Options{HTTPClient: &http.Client{Transport: p}, Retries: 1})
							if err != nil {
								t.Fatal(err)
							}
							spelt := "idempotency-key"
							if safe {
								promise(c, toAll, false)
								spelt = "Idempotency-Key"
							}
							req := hello()
							_ = sendBoth[op](t.Context(), c, req)
							req.IdempotencyKey = `k "1" \`
							_ = sendBoth[op](t.Context(), c, req)
							if want := map[bool]int{false: 2, true: 4}[safe]; len(p.headers) != want {
								t.Fatalf("%d requests, want %d", len(p.headers), want)
							}
							for i, h := range p.headers {
								var names []string
								for name, values := range h {
									if strings.EqualFold(name, "idempotency-key") && len(values) > 0 {
										names = append(names, name+": "+strings.Join(values, "|"))
									}
								}
								want := spelt + `: "k \"1\" \\"`
								if i < len(p.headers)/2 {
									want = ""
									if safe && version == "0.1" { // which has no ids of messages
										want = spelt + `: "m1"`
									}
								}
								if got := strings.Join(names, ", "); got != want {
									t.Errorf("request %d: %q, want %q", i+1, got, want)
								}
							}
							if safe && p.bodies[2] != p.bodies[3] && binding != a2a.BindingJSONRPC { // which counts its requests
								t.Errorf("sent first %q\nthen %q", p.bodies[2], p.bodies[3])
							}
							for _, key := range []string{strings.Repeat("k", 256), "a\nb", "é"} {
								req.IdempotencyKey = key
								if err := sendBoth[op](t.Context(), c, req); !errors.Is(err, a2a.ErrInvalidParams) {
									t.Errorf("key %.9q: %v", key, err)
								}
							}
						})
					})
				}
			}
		}
	}
}

// A message that may have come through in a version with ids of messages does
// not go to an interface without: it would be another one there.
func TestMessagesAreNotSentAgainInAVersionWithoutIDs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &taps{}
		card := cardAt("http://agent.test", a2a.BindingHTTPJSON, a2a.BindingJSONRPC)
		card.SupportedInterfaces[1].ProtocolVersion = "0.1"
		down := false
		c, err := New(card, &Options{HTTPClient: &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
			if down {
				return nil, &net.OpError{Op: "dial", Net: "tcp", Err: net.ErrClosed}
			}
			down = true
			return p.RoundTrip(r)
		})}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := promise(c, toAll, false).SendMessage(t.Context(), hello()); err == nil || len(p.bodies) != 1 {
			t.Errorf("%v; %q", err, p.bodies)
		}
		if v := c.Version(); v != "1.0" {
			t.Errorf("version %s", v)
		}
	})
}
