// Command a2ago is a server of the SDK for Go, made as its README and its example
// for JSON-RPC make one, with the agent of the bench. One thing is not the
// default: its store in memory lists tasks only for users who have a name, so
// everybody gets one.
package main

import (
	"context"
	"fmt"
	"iter"
	"log"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/a2aproject/a2a-go/v2/a2asrv/taskstore"

	"github.com/parley-a2a/parley/bench/script"
)

func main() {
	slog.SetLogLoggerLevel(slog.LevelWarn) // as Parley's server: what is logged costs time
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	handler := a2asrv.NewHandler(executor{}, a2asrv.WithTaskStore(taskstore.NewInMemory(&taskstore.InMemoryStoreConfig{
		Authenticator: func(context.Context) (string, error) { return "somebody", nil },
	})))
	card := &a2a.AgentCard{
		Name: "bench", Description: "The agent of the bench.", Version: "1.0.0",
		SupportedInterfaces: []*a2a.AgentInterface{
			a2a.NewAgentInterface("http://"+l.Addr().String()+"/", a2a.TransportProtocolJSONRPC),
		},
		Capabilities:       a2a.AgentCapabilities{Streaming: true},
		DefaultInputModes:  []string{"text/plain"},
		DefaultOutputModes: []string{"text/plain"},
		Skills:             []a2a.AgentSkill{{ID: "echo", Name: "Echo", Description: "Says it again.", Tags: []string{"bench"}}},
	}
	mux := http.NewServeMux()
	mux.Handle(a2asrv.WellKnownAgentCardPath, a2asrv.NewStaticAgentCardHandler(card))
	mux.Handle("/", a2asrv.NewJSONRPCHandler(handler))
	fmt.Println("READY", l.Addr())
	log.Fatal(http.Serve(l, mux))
}

type executor struct{}

func (executor) Execute(ctx context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		emit := func(ev a2a.Event) bool { return yield(ev, nil) }
		status := func(s a2a.TaskState) bool { return emit(a2a.NewStatusUpdateEvent(ec, s, nil)) }
		artifact := func(name string, p *a2a.Part) bool {
			ev := a2a.NewArtifactEvent(ec, p)
			ev.Artifact.Name, ev.LastChunk = name, true
			return emit(ev)
		}
		id := a2a.NewArtifactID()
		chunk := func(i int, c script.Command) bool {
			ev := a2a.NewArtifactUpdateEvent(ec, id, a2a.NewTextPart(script.Chunk(i, c.Size)))
			ev.Artifact.Name, ev.Append, ev.LastChunk = "stream", i > 1, i == c.N
			return emit(ev)
		}

		text := ""
		var file *a2a.Part
		for _, p := range ec.Message.Parts {
			switch {
			case p.Text() != "":
				text = p.Text()
			case len(p.Raw()) > 0:
				file = p
			}
		}
		c := script.Parse(text)
		if !emit(a2a.NewSubmittedTask(ec, ec.Message)) {
			return
		}
		switch c.Word {
		case "stream":
			if !status(a2a.TaskStateWorking) {
				return
			}
			for i := 1; i <= c.N; i++ {
				if !chunk(i, c) {
					return
				}
			}
		case "pulse", "hold":
			if !status(a2a.TaskStateWorking) {
				return
			}
			var tick <-chan time.Time // hold has none
			if c.Every > 0 {
				t := time.NewTicker(c.Every)
				defer t.Stop()
				tick = t.C
			}
			for i := 1; ; i++ {
				select {
				case <-tick:
				case <-ctx.Done():
					return
				}
				if !chunk(i, c) {
					return
				}
			}
		case "file":
			if file == nil || !artifact("file", file) {
				return
			}
		default:
			if !artifact("echo", a2a.NewTextPart(c.Text)) {
				return
			}
		}
		status(a2a.TaskStateCompleted)
	}
}

func (executor) Cancel(ctx context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		yield(a2a.NewStatusUpdateEvent(ec, a2a.TaskStateCanceled, nil), nil)
	}
}
