// Command trpc is a server of trpc-a2a-go, made as its README makes one, with the
// agent of the bench. One option is not the default: by default events beyond
// the 1,024 that a subscriber's queue holds are dropped; here the agent waits.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"time"

	"trpc.group/trpc-go/trpc-a2a-go/protocol"
	"trpc.group/trpc-go/trpc-a2a-go/server"
	"trpc.group/trpc-go/trpc-a2a-go/taskmanager"

	"github.com/parley-a2a/parley/bench/script"
)

func main() {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	manager, err := taskmanager.NewMemoryTaskManager(processor{}, taskmanager.WithTaskSubscriberBlockingSend(true))
	if err != nil {
		log.Fatal(err)
	}
	card := server.AgentCard{
		Name: "bench", Description: "The agent of the bench.", Version: "1.0.0", URL: "http://" + l.Addr().String() + "/",
		Capabilities:       server.AgentCapabilities{Streaming: new(true)},
		DefaultInputModes:  []string{protocol.KindText},
		DefaultOutputModes: []string{protocol.KindText},
		Skills:             []server.AgentSkill{{ID: "echo", Name: "Echo", Tags: []string{"bench"}}},
	}
	s, err := server.NewA2AServer(card, manager)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("READY", l.Addr())
	log.Fatal(http.Serve(l, s.Handler()))
}

type processor struct{}

// ProcessMessage answers a message that is not streamed when its task has ended,
// for the framework leaves that to the agent.
func (processor) ProcessMessage(
	_ context.Context, message protocol.Message, options taskmanager.ProcessOptions, h taskmanager.TaskHandler,
) (*taskmanager.MessageProcessingResult, error) {
	id, err := h.BuildTask(nil, message.ContextID)
	if err != nil {
		return nil, err
	}
	if options.Streaming {
		sub, err := h.SubscribeTask(&id)
		if err != nil {
			return nil, err
		}
		go func() {
			defer sub.Close()
			if err := work(h, id, message); err != nil {
				log.Print(err)
			}
		}()
		return &taskmanager.MessageProcessingResult{StreamingEvents: sub}, nil
	}
	if options.Blocking {
		if err := work(h, id, message); err != nil {
			return nil, err
		}
	} else {
		go func() {
			if err := work(h, id, message); err != nil {
				log.Print(err)
			}
		}()
	}
	t, err := h.GetTask(&id)
	if err != nil {
		return nil, err
	}
	return &taskmanager.MessageProcessingResult{Result: t.Task()}, nil
}

func work(h taskmanager.TaskHandler, id string, message protocol.Message) error {
	text := ""
	var file *protocol.FilePart
	for _, p := range message.Parts {
		switch p := p.(type) {
		case *protocol.TextPart:
			text = p.Text
		case *protocol.FilePart:
			file = p
		}
	}
	c := script.Parse(text)
	status := func(s protocol.TaskState) error { return h.UpdateTaskState(&id, s, nil) }
	artifact := func(name string, p protocol.Part) error {
		return h.AddArtifact(&id, *protocol.NewArtifactWithID(&name, nil, []protocol.Part{p}), true, false)
	}
	artifactID := protocol.GenerateArtifactID()
	chunk := func(i int) error {
		return h.AddArtifact(&id, protocol.Artifact{
			ArtifactID: artifactID, Parts: []protocol.Part{new(protocol.NewTextPart(script.Chunk(i, c.Size)))},
		}, i == c.N, i > 1)
	}
	switch c.Word {
	case "stream":
		if err := status(protocol.TaskStateWorking); err != nil {
			return err
		}
		for i := 1; i <= c.N; i++ {
			if err := chunk(i); err != nil {
				return err
			}
		}
	case "pulse":
		if err := status(protocol.TaskStateWorking); err != nil {
			return err
		}
		tick := time.NewTicker(c.Every)
		defer tick.Stop()
		for i := 1; ; i++ {
			<-tick.C
			if err := chunk(i); err != nil {
				return err
			}
		}
	case "hold":
		return status(protocol.TaskStateWorking)
	case "file":
		if file == nil {
			return errors.New("there is no file")
		}
		if err := artifact("file", file); err != nil {
			return err
		}
	default:
		if err := artifact("echo", new(protocol.NewTextPart(c.Text))); err != nil {
			return err
		}
	}
	return status(protocol.TaskStateCompleted)
}
