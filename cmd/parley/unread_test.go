package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
	"github.com/parley-a2a/parley/internal/mcpserver"
	"github.com/parley-a2a/parley/internal/port/porttest"
	"github.com/parley-a2a/parley/internal/receiver"
)

// The servers of parley mcp and of parley push listen close a connection whose peer does
// not read, and one that asks nothing more.
func TestLocalServersCloseWhatIsNotRead(t *testing.T) {
	servers := map[string]func(ctx context.Context, l net.Listener) error{
		"mcp": func(ctx context.Context, l net.Listener) error {
			return serveMCP(ctx, l, mcpserver.New(nil, &a2a.AgentCard{Name: "agent"}, nil))
		},
		"push listen": func(ctx context.Context, l net.Listener) error {
			v, err := a2aclient.NewWebhookVerifier(a2aclient.WebhookOptions{Unsigned: true, AnySource: true})
			if err != nil {
				return err
			}
			return receiver.New(v, receiver.Options{Out: io.Discard}).Serve(ctx, l)
		},
	}
	for name, serve := range servers {
		for how, x := range map[string]struct {
			reads bool
			want  time.Duration
		}{
			"reads nothing": {false, 30 * time.Second},
			"is idle":       {true, 2 * time.Minute},
		} {
			t.Run(name+", which "+how, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					l := porttest.NewPipes()
					ctx, cancel := context.WithCancel(t.Context())
					served := make(chan error, 1)
					go func() { served <- serve(ctx, l) }()
					near := l.Dial()
					began := time.Now()
					fmt.Fprint(near, "PUT /nothing HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\n\r\n")
					if x.reads {
						res, err := http.ReadResponse(bufio.NewReader(near), nil)
						if err != nil {
							t.Fatal(err)
						}
						_, _ = io.Copy(io.Discard, res.Body)
						_, _ = near.Read(make([]byte, 1)) // until it is closed
					} else {
						closed := make(chan struct{})
						go func() {
							defer close(closed)
							// Once it is closed nothing more is taken.
							for {
								if _, err := io.Copy(near, strings.NewReader("x")); err != nil {
									return
								}
							}
						}()
						<-closed
					}
					if d := time.Since(began); d != x.want {
						t.Errorf("closed after %v, want %v", d, x.want)
					}
					cancel()
					if err := <-served; err != nil {
						t.Error(err)
					}
					near.Close()
				})
			})
		}
	}
}
