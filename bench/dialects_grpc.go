package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"

	"github.com/parley-a2a/parley/bench/script"
	pb10 "github.com/parley-a2a/parley/internal/pb"
	pb03 "github.com/parley-a2a/parley/internal/pb/v03"
)

// grpcWorker is sender or streamer over gRPC, by grpc-go, on a connection of its
// own.
type grpcWorker struct {
	c       *grpc.ClientConn
	service string
	ids     ids
	n       int // chunks; zero is echo
	request func(id, text string) proto.Message
	answer  func() grpcAnswer
	event   func() grpcEvent
}

// grpcAnswer is what SendMessage returns.
type grpcAnswer struct {
	proto.Message
	read func() (completed bool, text string)
}

// grpcEvent is an element of a stream: a chunk has text.
type grpcEvent = grpcAnswer

func newGRPC(addr string, k setting, i int) (worker, error) {
	c, err := grpc.NewClient("passthrough:///"+addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, err
	}
	w := &grpcWorker{c: c, ids: newIDs(i), n: k.n}
	if k.what == grpc03 {
		w.service, w.request, w.answer, w.event = "/a2a.v1.A2AService/", request03, answer03, event03
	} else {
		w.service, w.request, w.answer, w.event = "/lf.a2a.v1.A2AService/", request10, answer10, event10
	}
	return w, nil
}

func (w *grpcWorker) close() { _ = w.c.Close() } // there is nothing to lose

func (w *grpcWorker) do(ctx context.Context, _ int) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	id := w.ids.next()
	if w.n > 0 {
		return 1, w.stream(ctx, id)
	}
	out := w.answer()
	if err := w.c.Invoke(ctx, w.service+"SendMessage", w.request(id, "echo "+id), out.Message); err != nil {
		return 0, err
	}
	if completed, text := out.read(); !completed || text != id {
		return 0, fmt.Errorf("gRPC: the answer to %s is not a completed task with its text, but with %.40q", id, text)
	}
	return 1, nil
}

func (w *grpcWorker) stream(ctx context.Context, id string) error {
	s, err := w.c.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, w.service+"SendStreamingMessage")
	if err != nil {
		return err
	}
	if err := errors.Join(s.SendMsg(w.request(id, fmt.Sprintf("stream %d %d", w.n, chunkSize))), s.CloseSend()); err != nil {
		return err
	}
	seen, completed := 0, false
	for {
		ev := w.event()
		err := s.RecvMsg(ev.Message)
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		end, text := ev.read()
		if text != "" {
			seen++
		}
		if completed || text != "" && text != script.Chunk(seen, chunkSize) {
			return fmt.Errorf("gRPC: not chunk %d: %v", seen, ev.Message)
		}
		completed = end
	}
	if seen != w.n || !completed {
		return fmt.Errorf("gRPC: the stream ended after %d of %d chunks, completed: %t", seen, w.n, completed)
	}
	return nil
}

func request10(id, text string) proto.Message {
	return &pb10.SendMessageRequest{Message: &pb10.Message{
		MessageId: id, Role: pb10.Role_ROLE_USER, Parts: []*pb10.Part{{Content: &pb10.Part_Text{Text: text}}},
	}}
}

func answer10() grpcAnswer {
	var out pb10.SendMessageResponse
	return grpcAnswer{&out, func() (bool, string) {
		text := ""
		for _, a := range out.GetTask().GetArtifacts() {
			text += text10(a)
		}
		return completed10(out.GetTask().GetStatus()), text
	}}
}

func event10() grpcEvent {
	var out pb10.StreamResponse
	return grpcEvent{&out, func() (bool, string) {
		return completed10(out.GetStatusUpdate().GetStatus()), text10(out.GetArtifactUpdate().GetArtifact())
	}}
}

func completed10(s *pb10.TaskStatus) bool { return s.GetState() == pb10.TaskState_TASK_STATE_COMPLETED }

func text10(a *pb10.Artifact) (text string) {
	for _, p := range a.GetParts() {
		text += p.GetText()
	}
	return text
}

func request03(id, text string) proto.Message {
	return &pb03.SendMessageRequest{
		Request: &pb03.Message{
			MessageId: id, Role: pb03.Role_ROLE_USER, Content: []*pb03.Part{{Part: &pb03.Part_Text{Text: text}}},
		},
		Configuration: &pb03.SendMessageConfiguration{Blocking: true},
	}
}

func answer03() grpcAnswer {
	var out pb03.SendMessageResponse
	return grpcAnswer{&out, func() (bool, string) {
		text := ""
		for _, a := range out.GetTask().GetArtifacts() {
			text += text03(a)
		}
		return completed03(out.GetTask().GetStatus()), text
	}}
}

func event03() grpcEvent {
	var out pb03.StreamResponse
	return grpcEvent{&out, func() (bool, string) {
		return completed03(out.GetStatusUpdate().GetStatus()), text03(out.GetArtifactUpdate().GetArtifact())
	}}
}

func completed03(s *pb03.TaskStatus) bool { return s.GetState() == pb03.TaskState_TASK_STATE_COMPLETED }

func text03(a *pb03.Artifact) (text string) {
	for _, p := range a.GetParts() {
		text += p.GetText()
	}
	return text
}
