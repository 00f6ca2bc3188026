package parley_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/auth"
)

// The whole of an agent. docs/first-hour.md shows the same lines.
func ExampleServe() {
	card := a2a.Card{Name: "greeter", Description: "Greets."}
	greeter := agent.Func(func(ctx context.Context, t *agent.Turn) error {
		return t.Reply("hello " + t.Text())
	})
	if err := parley.Serve("127.0.0.1:7275", card, greeter); err != nil {
		log.Fatal(err)
	}
}

// An agent that asks, and a client that streams and answers, in one program. Serve is
// the short form for a program that is the agent alone.
func Example() {
	card := a2a.Card{Name: "travel", Description: "Books journeys."}
	s, err := parley.New(card, agent.Func(func(ctx context.Context, t *agent.Turn) error {
		if err := t.Status("looking for a place"); err != nil {
			return err
		}
		city, err := t.Ask(ctx, "Which city?")
		if err != nil {
			return err
		}
		w := t.Artifact("booking.txt")
		fmt.Fprint(w, "booked: ")
		fmt.Fprintln(w, city.Text())
		return w.Close()
	}), nil) // nil: in memory, for everybody
	if err != nil {
		log.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, l) }()

	c, err := a2aclient.Dial(ctx, l.Addr().String(), nil)
	if err != nil {
		log.Fatal(err)
	}
	res, err := c.SendMessage(ctx, &a2a.SendMessageRequest{Message: a2a.UserText("a journey, please")})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Task.Status.State, res.Task.Status.Message.Text())

	answer := a2a.UserText("Paris")
	answer.TaskID = res.Task.ID
	for ev, err := range c.SendStreamingMessage(ctx, &a2a.SendMessageRequest{Message: answer}) {
		if err != nil {
			log.Fatal(err)
		}
		if ev.ArtifactUpdate != nil {
			fmt.Print(ev.ArtifactUpdate.Artifact.Parts[0].Text) // as it is written
		}
	}
	stop()
	if err := <-served; err != nil {
		log.Fatal(err)
	}
	// Output:
	// TASK_STATE_INPUT_REQUIRED Which city?
	// booked: Paris
}

// An agent below a path of a server that has other work, with gRPC beside it.
func ExampleServer_Mount() {
	echo := agent.Func(func(ctx context.Context, t *agent.Turn) error { return t.Reply("you said " + t.Text()) })
	s, err := parley.New(a2a.Card{Name: "echo", Description: "Says it again."}, echo, nil)
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	ran := make(chan error, 1)
	go func() { ran <- s.Run(ctx) }() // agents work while it runs

	mux := http.NewServeMux()
	mux.HandleFunc("GET /shop", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "the shop") })
	s.Mount(mux, "/agents/echo")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	own := &http.Server{Handler: mux, Protocols: new(http.Protocols), ReadHeaderTimeout: 10 * time.Second}
	own.Protocols.SetHTTP1(true)
	own.Protocols.SetUnencryptedHTTP2(true) // gRPC without TLS
	go func() { _ = own.Serve(l) }()
	defer own.Close()

	for _, binding := range []string{a2a.BindingJSONRPC, a2a.BindingHTTPJSON, a2a.BindingGRPC} {
		c, err := a2aclient.Dial(ctx, "http://"+l.Addr().String()+"/agents/echo", &a2aclient.Options{Bindings: []string{binding}})
		if err != nil {
			log.Fatal(err)
		}
		res, err := c.SendMessage(ctx, &a2a.SendMessageRequest{Message: a2a.UserText("hello")})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(c.Interface().ProtocolBinding, res.Message.Text())
	}
	stop()
	fmt.Println(<-ran)
	// Output:
	// JSONRPC you said hello
	// HTTP+JSON you said hello
	// GRPC you said hello
	// <nil>
}

// An agent behind the authentication of a server that has its own: each caller has tasks
// of its own.
func ExampleServer_Handler() {
	greeter := agent.Func(func(ctx context.Context, t *agent.Turn) error {
		return t.Reply("hello " + t.Caller().Subject)
	})
	s, err := parley.New(a2a.Card{Name: "greeter", Description: "Greets."}, greeter, nil)
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ran := make(chan error, 1)
	go func() { ran <- s.Run(ctx) }() // agents work while it runs

	users := map[string]string{"Bearer t0ken": "ann"}
	own := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, ok := users[r.Header.Get("Authorization")]
		if !ok && !strings.HasPrefix(r.URL.Path, "/.well-known/") { // cards and keys are public
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		ctx := a2a.WithCaller(r.Context(), a2a.Caller{Subject: user})
		s.Handler().ServeHTTP(w, r.WithContext(ctx))
	}))
	defer own.Close()

	for _, token := range []string{"t0ken", "gu3ss"} {
		c, err := a2aclient.Dial(ctx, own.URL, &a2aclient.Options{Bearer: token})
		if err != nil {
			log.Fatal(err)
		}
		res, err := c.SendMessage(ctx, &a2a.SendMessageRequest{Message: a2a.UserText("hi")})
		if errors.Is(err, a2a.ErrUnauthenticated) {
			fmt.Println("refused")
			continue
		} else if err != nil {
			log.Fatal(err)
		}
		fmt.Println(res.Message.Text())
	}
	stop()
	fmt.Println(<-ran)
	// Output:
	// hello ann
	// refused
	// <nil>
}

// A server that signs its card, and a client that calls it only if the card is signed with
// a key that it trusts.
func ExampleServer_signed() {
	key, err := auth.GenerateKey("ES256")
	if err != nil {
		log.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	s, err := parley.New(a2a.Card{Name: "demo"}, agent.Demo(), &parley.Options{
		PublicURL: "http://" + l.Addr().String(), // what is signed does not come from a request
		CardKeys:  []*auth.Key{key},
	})
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, l) }()

	other, err := auth.GenerateKey("ES256")
	if err != nil {
		log.Fatal(err)
	}
	for _, trusted := range []*auth.Key{key, other} {
		c, err := a2aclient.Dial(ctx, l.Addr().String(), &a2aclient.Options{
			CheckCard: func(ctx context.Context, doc []byte) ([]byte, error) {
				v, err := auth.VerifyJSON(ctx, doc, auth.KeySet{trusted.Public()}, nil)
				if err == nil {
					err = v.Err()
				}
				if err != nil {
					return nil, err
				}
				return v.Good().Payload.JSON, nil // what was signed, and nothing else
			},
		})
		if errors.Is(err, auth.ErrUnknownKey) {
			fmt.Println("refused")
			continue
		} else if err != nil {
			log.Fatal(err)
		}
		fmt.Println(c.Card().Name)
	}
	stop()
	fmt.Println(<-served)
	// Output:
	// demo
	// refused
	// <nil>
}

// Two agents on one port, of which one is at / as well.
func ExampleNewHost() {
	says := func(word string) agent.Agent {
		return agent.Func(func(ctx context.Context, t *agent.Turn) error { return t.Reply(word + " " + t.Text()) })
	}
	s, err := parley.NewHost([]parley.Hosted{
		{Name: "hello", Default: true, Card: a2a.AgentCard{Name: "Greeter"}, Agent: says("hello")},
		{Name: "bye", Card: a2a.AgentCard{Name: "Leaver"}, Agent: says("good bye")},
	}, nil)
	if err != nil {
		log.Fatal(err)
	}
	// s.Serve runs it; this is what a client finds first.
	for _, path := range []string{"/", "/agents/hello", "/agents/bye"} {
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		line, _, _ := strings.Cut(w.Body.String(), "\n")
		fmt.Println(path, line)
	}
	// Output:
	// / "Greeter" is an agent that speaks A2A 1.0, 0.3, 0.2, 0.1, 1.1.
	// /agents/hello "Greeter" is an agent that speaks A2A 1.0, 0.3, 0.2, 0.1, 1.1.
	// /agents/bye "Leaver" is an agent that speaks A2A 1.0, 0.3, 0.2, 0.1, 1.1.
}
