package main

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"

	pb10 "github.com/parley-a2a/parley/internal/pb"
	pb03 "github.com/parley-a2a/parley/internal/pb/v03"
)

// dialects is scenario (j): (a) in each version and over each binding. gRPC is
// spoken by grpc-go's client, which costs the generator more than the rest: the
// server's processor time is what to compare there, unless the generator has
// cores to spare.
type dialects struct{}

const dialectsConns = 64

// spoken are the dialects. 1.0 JSON-RPC is what the others are compared to.
var spoken = []string{rpc10.name, rest10.name, grpc10, rpc03.name, rest03.name, grpc03, rpc02.name, rpc01.name}

const (
	grpc10 = "1.0 gRPC"
	grpc03 = "0.3 gRPC"
)

func (dialects) about() about {
	a := about{key: "j", title: "SendMessage \"echo\" in each version, over each binding", unit: "tasks/s", done: "task"}
	for _, what := range spoken[1:] {
		a.bars = append(a.bars, compared(dialectLabel(what, dialectsConns), dialectLabel(rpc10.name, dialectsConns), 0.6))
	}
	return a
}

func (dialects) cases(p *plan) []kase {
	conns := dialectsConns
	if p.short {
		conns = 4
	}
	var list []kase
	for _, what := range spoken {
		list = append(list, kase{label: dialectLabel(what, conns), conns: conns, what: what})
	}
	return list
}

func dialectLabel(what string, conns int) string {
	return fmt.Sprintf("%s, %d connections", what, conns)
}

// together says that the cases are measured in turn, too, since it is they that
// are compared.
func (dialects) together() {}

func (dialects) open(ctx context.Context, b *bench, of *contender, k kase) (bout, error) {
	if reason := of.lacks["j"]; reason != "" {
		return nil, lacks(reason)
	}
	return &loadBout{
		start: func(ctx context.Context) (*server, error) { return of.start(ctx, b) },
		load: func(srv *server) *load {
			return b.load(k, func(ctx context.Context, i int, until time.Time) (worker, error) {
				switch k.what {
				case grpc10, grpc03:
					return newGRPC(srv.addr, k.what, i)
				}
				for _, d := range []*dialect{rpc10, rest10, rpc03, rest03, rpc02, rpc01} {
					if d.name == k.what {
						return newSender(ctx, srv.addr, d, i, until)
					}
				}
				return nil, fmt.Errorf("no dialect %s", k.what)
			})
		},
	}, nil
}

// grpcSender is sender over gRPC.
type grpcSender struct {
	c    *grpc.ClientConn
	ids  ids
	echo func(ctx context.Context, c *grpc.ClientConn, id string) (completed bool, text string, err error)
}

func newGRPC(addr, version string, i int) (worker, error) {
	c, err := grpc.NewClient("passthrough:///"+addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, err
	}
	s := &grpcSender{c: c, ids: newIDs(i), echo: echo10}
	if version == grpc03 {
		s.echo = echo03
	}
	return s, nil
}

func (s *grpcSender) do(ctx context.Context, _ int) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	id := s.ids.next()
	completed, text, err := s.echo(ctx, s.c, id)
	if err == nil && (!completed || text != id) {
		err = fmt.Errorf("gRPC: the answer to %s is not a completed task with its text, but with %.40q", id, text)
	}
	return 1, err
}

func (s *grpcSender) close() { _ = s.c.Close() }

func invoke(ctx context.Context, c *grpc.ClientConn, service string, in, out proto.Message) error {
	return c.Invoke(ctx, "/"+service+".A2AService/SendMessage", in, out)
}

func echo10(ctx context.Context, c *grpc.ClientConn, id string) (bool, string, error) {
	in := &pb10.SendMessageRequest{Message: &pb10.Message{
		MessageId: id, Role: pb10.Role_ROLE_USER, Parts: []*pb10.Part{{Content: &pb10.Part_Text{Text: "echo " + id}}},
	}}
	var out pb10.SendMessageResponse
	if err := invoke(ctx, c, "lf.a2a.v1", in, &out); err != nil {
		return false, "", err
	}
	t := out.GetTask()
	text := ""
	for _, a := range t.GetArtifacts() {
		for _, p := range a.GetParts() {
			text += p.GetText()
		}
	}
	return t.GetStatus().GetState() == pb10.TaskState_TASK_STATE_COMPLETED, text, nil
}

func echo03(ctx context.Context, c *grpc.ClientConn, id string) (bool, string, error) {
	in := &pb03.SendMessageRequest{
		Request: &pb03.Message{
			MessageId: id, Role: pb03.Role_ROLE_USER, Content: []*pb03.Part{{Part: &pb03.Part_Text{Text: "echo " + id}}},
		},
		Configuration: &pb03.SendMessageConfiguration{Blocking: true},
	}
	var out pb03.SendMessageResponse
	if err := invoke(ctx, c, "a2a.v1", in, &out); err != nil {
		return false, "", err
	}
	t := out.GetTask()
	text := ""
	for _, a := range t.GetArtifacts() {
		for _, p := range a.GetParts() {
			text += p.GetText()
		}
	}
	return t.GetStatus().GetState() == pb03.TaskState_TASK_STATE_COMPLETED, text, nil
}
