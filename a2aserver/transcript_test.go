package a2aserver

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/test/transcripts"
)

// TestTranscripts plays testdata/wire against the server, as its README describes: the
// transcript has the service's request and answer, or else the canned service answers.
func TestTranscripts(t *testing.T) {
	files, err := transcripts.Load("../testdata/wire")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d transcripts, %v", len(files), err)
	}
	for _, f := range files {
		if f.Foreign {
			continue // what only other servers send
		}
		t.Run(f.Name, func(t *testing.T) {
			vars := transcripts.Vars{}
			for i, x := range f.Exchanges {
				t.Run(fmt.Sprint(i+1), func(t *testing.T) { play(t, x, vars) })
			}
		})
	}
}

func play(t *testing.T, x *transcripts.Exchange, vars transcripts.Vars) {
	s := &scripted{t: t, x: x, vars: vars}
	var svc a2a.Service = canned{}
	card := cannedCard()
	switch {
	case x.OfCard() && x.Answer != nil:
		card = new(a2a.AgentCard)
		if err := card.UnmarshalJSON([]byte(x.Answer[0])); err != nil {
			t.Fatal(err)
		}
		s.asked = true // such a request does not reach the service
	case x.Answer != nil:
		svc = s
	}
	var head []string
	for _, h := range x.Request.Header {
		head = append(head, h[0]+": "+vars.Fill(h[1]))
	}
	method, target, _ := strings.Cut(x.Request.Line, " ")
	w := do(New(svc, card, nil), method, vars.Fill(target), vars.Fill(x.Request.Body), head...)

	if got := fmt.Sprint(w.Code); got != x.Response.Line {
		t.Errorf("status %s, want %s", got, x.Response.Line)
	}
	for _, h := range x.Response.Header {
		if got := w.Header().Get(h[0]); got != h[1] {
			t.Errorf("%s: %q, want %q", h[0], got, h[1])
		}
	}
	events := w.Header().Get("Content-Type") == transcripts.EventStream
	if err := vars.MatchBody(x.Response.Body, w.Body.String(), events); err != nil {
		t.Errorf("%v\nin %s", err, w.Body)
	}
	if x.Answer != nil && !s.asked {
		t.Error("the service was not asked")
	}
}

// scripted is the service of one exchange.
type scripted struct {
	a2a.Unimplemented
	t     *testing.T
	x     *transcripts.Exchange
	vars  transcripts.Vars
	asked bool
}

// answers compares the request with the transcript and returns the transcript's answer.
func (s *scripted) answers(op dialect.Op, req any) []any {
	s.asked = true
	want := s.x.Service
	if want == nil {
		want = s.x.Call
		switch r := req.(type) { // a transcript's call does not have these
		case *a2a.SendMessageRequest:
			r.Legacy = nil
			if c := r.Configuration; c != nil && byDefault(&c.TimelineLength) && reflect.ValueOf(*c).IsZero() {
				r.Configuration = nil
			}
		case *a2a.GetTaskRequest:
			byDefault(&r.TimelineLength)
		case *a2a.SubscribeToTaskRequest:
			r.Legacy, r.Timeline = nil, false
		case *a2a.TaskPushNotificationConfig:
			if r.Legacy = nil; r.ProtocolVersion == "1.1" {
				r.ProtocolVersion = ""
			}
		case *a2a.GetTaskPushNotificationConfigRequest:
			r.Legacy = nil
		}
	}
	if want != nil {
		if op.String() != want.Op {
			s.t.Errorf("the service is asked for %s, not %s", op, want.Op)
		}
		if err := s.vars.Match(want.Doc, transcripts.RequestDoc(req)); err != nil {
			s.t.Errorf("the service's request: %v", err)
		}
	}
	var list []any
	for _, doc := range s.x.Answer {
		v, err := transcripts.Answer(op, s.vars.Fill(doc))
		if err != nil {
			s.t.Fatalf("the answer: %v", err)
		}
		list = append(list, v)
	}
	return list
}

// byDefault removes the timeline's length that the draft's codec has set.
func byDefault(n **int32) bool {
	if *n == nil || **n != a2a.MaxTimeline {
		return false
	}
	*n = nil
	return true
}

func one[T any](s *scripted, op dialect.Op, req any) (res *T, err error) {
	switch v := s.answers(op, req)[0].(type) {
	case error:
		return nil, v
	case *T:
		return v, nil
	}
	return nil, nil // of a delete
}

func (s *scripted) SendMessage(_ context.Context, req *a2a.SendMessageRequest) (*a2a.SendMessageResponse, error) {
	return one[a2a.SendMessageResponse](s, dialect.SendMessage, req)
}

func (s *scripted) SendStreamingMessage(_ context.Context, req *a2a.SendMessageRequest) elements {
	return yields(s.answers(dialect.SendStreamingMessage, req)...)
}

func (s *scripted) SubscribeToTask(_ context.Context, req *a2a.SubscribeToTaskRequest) elements {
	return yields(s.answers(dialect.SubscribeToTask, req)...)
}

func (s *scripted) GetTask(_ context.Context, req *a2a.GetTaskRequest) (*a2a.Task, error) {
	return one[a2a.Task](s, dialect.GetTask, req)
}

func (s *scripted) ListTasks(_ context.Context, req *a2a.ListTasksRequest) (*a2a.ListTasksResponse, error) {
	return one[a2a.ListTasksResponse](s, dialect.ListTasks, req)
}

func (s *scripted) CancelTask(_ context.Context, req *a2a.CancelTaskRequest) (*a2a.Task, error) {
	return one[a2a.Task](s, dialect.CancelTask, req)
}

func (s *scripted) CreateTaskPushNotificationConfig(_ context.Context, req *a2a.TaskPushNotificationConfig) (*a2a.TaskPushNotificationConfig, error) {
	return one[a2a.TaskPushNotificationConfig](s, dialect.CreateTaskPushNotificationConfig, req)
}

func (s *scripted) GetTaskPushNotificationConfig(_ context.Context, req *a2a.GetTaskPushNotificationConfigRequest) (*a2a.TaskPushNotificationConfig, error) {
	return one[a2a.TaskPushNotificationConfig](s, dialect.GetTaskPushNotificationConfig, req)
}

func (s *scripted) ListTaskPushNotificationConfigs(_ context.Context, req *a2a.ListTaskPushNotificationConfigsRequest) (*a2a.ListTaskPushNotificationConfigsResponse, error) {
	return one[a2a.ListTaskPushNotificationConfigsResponse](s, dialect.ListTaskPushNotificationConfigs, req)
}

func (s *scripted) DeleteTaskPushNotificationConfig(_ context.Context, req *a2a.DeleteTaskPushNotificationConfigRequest) error {
	_, err := one[a2a.Task](s, dialect.DeleteTaskPushNotificationConfig, req)
	return err
}

func (s *scripted) GetExtendedAgentCard(_ context.Context, req *a2a.GetExtendedAgentCardRequest) (*a2a.AgentCard, error) {
	return one[a2a.AgentCard](s, dialect.GetExtendedAgentCard, req)
}
