package proxy_test

import (
	"context"
	"log"
	"net"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/agent/proxy"
)

// A server in front of an agent that forgets its tasks when it is restarted, and
// speaks an old version: callers have any version, and what they were told stays.
func Example() {
	ctx := context.Background()
	p, err := proxy.New("https://agent.example", &proxy.Options{Bearer: "token of this server"})
	if err != nil {
		log.Fatal(err)
	}
	defer p.Close()
	card, err := p.Card(ctx)
	if err != nil {
		log.Fatal(err)
	}
	card.Name += ", kept"
	s, err := parley.New(card, p, nil)
	if err != nil {
		log.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:7275")
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(s.Serve(ctx, l))
}
