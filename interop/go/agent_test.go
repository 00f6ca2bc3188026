package interop

import (
	"context"
	"fmt"
	"iter"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2acompat/a2av0"
	grpcv0 "github.com/a2aproject/a2a-go/v2/a2agrpc/v0"
	grpcv1 "github.com/a2aproject/a2a-go/v2/a2agrpc/v1"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/a2aproject/a2a-go/v2/a2asrv/taskstore"
	"google.golang.org/grpc"
)

// foreign is a server made with a2a-go: all bindings, in 1.0 and 0.3.
type foreign struct {
	url string
	log *switchboard
}

func serveForeign(t *testing.T) *foreign { return serveForeignAgent(t, agent{}) }

func serveForeignAgent(t *testing.T, ag a2asrv.AgentExecutor) *foreign {
	t.Helper()
	// Its store lists tasks for users that have a name.
	handler := a2asrv.NewHandler(ag, a2asrv.WithTaskStore(taskstore.NewInMemory(&taskstore.InMemoryStoreConfig{
		Authenticator: func(context.Context) (string, error) { return "somebody", nil },
	})))

	rpc, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gs := grpc.NewServer()
	grpcv1.NewHandler(handler).RegisterWith(gs)
	grpcv0.NewHandler(handler).RegisterWith(gs)
	go gs.Serve(rpc)
	t.Cleanup(gs.Stop)

	web, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	url := "http://" + web.Addr().String()
	card := &a2a.AgentCard{
		Name: "A foreign agent", Description: "Answers as the demo agent does.", Version: "1.0.0",
		Capabilities:       a2a.AgentCapabilities{Streaming: true},
		DefaultInputModes:  []string{"text/plain"},
		DefaultOutputModes: []string{"text/plain"},
		Skills:             []a2a.AgentSkill{{ID: "echo", Name: "Echo", Description: "Says it again.", Tags: []string{"test"}}},
	}
	for _, version := range []a2a.ProtocolVersion{"1.0", "0.3"} {
		for binding, at := range map[a2a.TransportProtocol]string{
			a2a.TransportProtocolJSONRPC:  url + "/" + string(version) + "/rpc",
			a2a.TransportProtocolHTTPJSON: url + "/" + string(version) + "/rest",
			a2a.TransportProtocolGRPC:     rpc.Addr().String(),
		} {
			card.SupportedInterfaces = append(card.SupportedInterfaces,
				&a2a.AgentInterface{URL: at, ProtocolBinding: binding, ProtocolVersion: version})
		}
	}
	mux := http.NewServeMux()
	mux.Handle(a2asrv.WellKnownAgentCardPath, a2asrv.NewAgentCardHandler(a2av0.NewStaticAgentCardProducer(card)))
	mux.Handle("/1.0/rpc", a2asrv.NewJSONRPCHandler(handler))
	mux.Handle("/1.0/rest/", http.StripPrefix("/1.0/rest", a2asrv.NewRESTHandler(handler)))
	mux.Handle("/0.3/rpc", a2av0.NewJSONRPCHandler(handler))
	mux.Handle("/0.3/rest/", http.StripPrefix("/0.3/rest", a2av0.NewRESTHandler(handler)))

	f := &foreign{url: url, log: &switchboard{found: true}}
	hs := &http.Server{Handler: f.log.watch(mux)}
	go hs.Serve(web)
	t.Cleanup(func() { hs.Close() })
	return f
}

// watch records in the transcript of the check that runs.
func (s *switchboard) watch(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		said := s.to
		s.mu.Unlock()
		if said != nil {
			said.watch(h).ServeHTTP(w, r)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// agent is the demo agent as far as the checks go.
type agent struct{}

func (agent) Execute(ctx context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		var text string
		for _, p := range ec.Message.Parts {
			if text = p.Text(); text != "" {
				break
			}
		}
		command, arg, _ := strings.Cut(text, " ")
		emit := func(ev a2a.Event) bool { return yield(ev, nil) }
		says := func(text string) *a2a.Message {
			return a2a.NewMessageForTask(a2a.MessageRoleAgent, ec, a2a.NewTextPart(text))
		}
		status := func(s a2a.TaskState, text string) bool {
			var m *a2a.Message
			if text != "" {
				m = says(text)
			}
			return emit(a2a.NewStatusUpdateEvent(ec, s, m))
		}
		artifact := func(name string, parts ...*a2a.Part) bool {
			ev := a2a.NewArtifactEvent(ec, parts...)
			ev.Artifact.Name, ev.LastChunk = name, true
			return emit(ev)
		}

		if ec.StoredTask != nil {
			name := "answer"
			if ec.StoredTask.Status.State == a2a.TaskStateAuthRequired {
				name, text = "auth", "authorized"
			}
			_ = artifact(name, a2a.NewTextPart(text)) && status(a2a.TaskStateCompleted, "")
			return
		}
		if command == "message" {
			m := a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart(arg))
			m.ContextID = ec.ContextID
			emit(m)
			return
		}
		if !emit(a2a.NewSubmittedTask(ec, ec.Message)) {
			return
		}
		switch command {
		case "ask":
			status(a2a.TaskStateInputRequired, arg)
			return
		case "auth":
			status(a2a.TaskStateAuthRequired, "credentials, please")
			return
		case "fail":
			status(a2a.TaskStateFailed, arg)
			return
		case "reject":
			status(a2a.TaskStateRejected, arg)
			return
		case "sleep":
			if !status(a2a.TaskStateWorking, "sleeping") {
				return
			}
			seconds, _ := strconv.ParseFloat(arg, 64)
			select {
			case <-time.After(time.Duration(seconds * float64(time.Second))):
			case <-ctx.Done():
				return
			}
		case "stream":
			if !status(a2a.TaskStateWorking, "") {
				return
			}
			var n, ms int
			fmt.Sscan(arg, &n, &ms)
			id := a2a.NewArtifactID()
			for i := 1; i <= n; i++ {
				time.Sleep(time.Duration(ms) * time.Millisecond)
				ev := a2a.NewArtifactUpdateEvent(ec, id, a2a.NewTextPart(fmt.Sprintf("chunk %d\n", i)))
				ev.Artifact.Name, ev.Append, ev.LastChunk = "stream", i > 1, i == n
				if !emit(ev) {
					return
				}
			}
		case "file":
			if !artifact("file", pixel, report) {
				return
			}
		case "data":
			if !artifact("data", a2a.NewDataPart(map[string]any{
				"answer": 42.0, "ok": true, "list": []any{1.0, "two", nil},
				"nested": map[string]any{"pi": 3.5, "text": "héllo"},
			})) {
				return
			}
		default:
			if !artifact("echo", a2a.NewTextPart(arg)) {
				return
			}
		}
		status(a2a.TaskStateCompleted, "")
	}
}

func (agent) Cancel(ctx context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		yield(a2a.NewStatusUpdateEvent(ec, a2a.TaskStateCanceled, nil), nil)
	}
}
