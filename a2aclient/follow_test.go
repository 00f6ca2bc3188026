package a2aclient

import (
	"context"
	"errors"
	"iter"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/a2a"
)

var errEnough = errors.New("enough")

// scripted is an agent that answers from scripts.
type scripted struct {
	a2a.Unimplemented
	stream  []any // *a2a.StreamResponse or error, of the streaming operations
	sent    []*a2a.SendMessageRequest
	send    *a2a.SendMessageResponse
	gets    []any // *a2a.Task or error; the last one repeats
	gotAt   []time.Duration
	started time.Time
}

func (s *scripted) SendStreamingMessage(_ context.Context, req *a2a.SendMessageRequest) iter.Seq2[*a2a.StreamResponse, error] {
	s.sent = append(s.sent, req)
	return s.play
}

func (s *scripted) SubscribeToTask(context.Context, *a2a.SubscribeToTaskRequest) iter.Seq2[*a2a.StreamResponse, error] {
	return s.play
}

func (s *scripted) play(yield func(*a2a.StreamResponse, error) bool) {
	for _, step := range s.stream {
		r, _ := step.(*a2a.StreamResponse)
		err, _ := step.(error)
		if !yield(r, err) || err != nil {
			return
		}
	}
}

func (s *scripted) SendMessage(_ context.Context, req *a2a.SendMessageRequest) (*a2a.SendMessageResponse, error) {
	s.sent = append(s.sent, req)
	return s.send, nil
}

func (s *scripted) GetTask(ctx context.Context, _ *a2a.GetTaskRequest) (*a2a.Task, error) {
	s.gotAt = append(s.gotAt, time.Since(s.started))
	step := s.gets[0]
	if len(s.gets) > 1 {
		s.gets = s.gets[1:]
	}
	if err, ok := step.(error); ok {
		return nil, err
	}
	return step.(*a2a.Task), ctx.Err()
}

func task(s a2a.TaskState) *a2a.Task {
	return &a2a.Task{ID: "t1", ContextID: "c1", Status: a2a.TaskStatus{State: s}}
}

func first(s a2a.TaskState) *a2a.StreamResponse { return &a2a.StreamResponse{Task: task(s)} }

func changed(s a2a.TaskState) *a2a.StreamResponse {
	return &a2a.StreamResponse{StatusUpdate: &a2a.TaskStatusUpdateEvent{TaskID: "t1", ContextID: "c1", Status: a2a.TaskStatus{State: s}}}
}

// states runs a sequence and returns what it showed.
func states(seq iter.Seq2[*a2a.StreamResponse, error]) (list []string, err error) {
	for r, err := range seq {
		if err != nil {
			return list, err
		}
		if r.Message != nil {
			list = append(list, "message")
		} else {
			list = append(list, r.State().String()[len("TASK_STATE_"):])
		}
	}
	return list, nil
}

func followerOf(s *scripted, streaming bool) *Follower {
	s.started = time.Now()
	return &Follower{Agent: s, Streams: streaming}
}

var request = &a2a.SendMessageRequest{Message: &a2a.Message{MessageID: "m1", Role: a2a.RoleUser, Parts: []*a2a.Part{a2a.TextPart("x")}}}

func TestFollowSend(t *testing.T) {
	peer := func(c a2a.Code) error { return &a2a.Error{Code: c, Peer: true} }
	message := &a2a.StreamResponse{Message: &a2a.Message{MessageID: "m2", Role: a2a.RoleAgent}}
	for _, c := range []struct {
		name   string
		polls  bool // the card offers no streams
		script scripted
		want   []string
		err    error
		sends  int
	}{
		{name: "a stream to its end", sends: 1, script: scripted{stream: []any{first(1), changed(2), changed(3)}}, want: []string{"SUBMITTED", "WORKING", "COMPLETED"}},
		{name: "a direct message", sends: 1, script: scripted{stream: []any{message}}, want: []string{"message"}},
		{name: "stops where the client is asked", sends: 1, script: scripted{stream: []any{first(2), changed(6), changed(3)}}, want: []string{"WORKING", "INPUT_REQUIRED"}},
		{name: "stops where authorization is wanted", sends: 1, script: scripted{stream: []any{first(2), changed(8), changed(3)}}, want: []string{"WORKING", "AUTH_REQUIRED"}},
		{name: "unspecified is no end", sends: 1, script: scripted{stream: []any{first(0), changed(3)}}, want: []string{"UNSPECIFIED", "COMPLETED"}},
		{
			name: "a stream that breaks is polled on", sends: 1,
			script: scripted{stream: []any{first(1), errors.New("cut")}, gets: []any{task(2), task(3)}},
			want:   []string{"SUBMITTED", "WORKING", "COMPLETED"},
		},
		{
			name: "a stream that just ends is polled on", sends: 1,
			script: scripted{stream: []any{first(1)}, gets: []any{task(3)}}, want: []string{"SUBMITTED", "COMPLETED"},
		},
		{
			name: "what the agent says to end a stream counts", sends: 1,
			script: scripted{stream: []any{first(1), peer(a2a.CodeUnsupportedOperation)}}, want: []string{"SUBMITTED"}, err: a2a.ErrUnsupportedOperation,
		},
		{
			name: "a break before the first event is not sent again", sends: 1,
			script: scripted{stream: []any{errors.New("cut")}}, err: errors.New("cut"),
		},
		{name: "no event at all", sends: 1, err: a2a.ErrInvalidAgentResponse},
		{
			name: "an agent that refuses to stream is sent to without", sends: 2,
			script: scripted{stream: []any{peer(a2a.CodeUnsupportedOperation)}, send: &a2a.SendMessageResponse{Task: task(2)}, gets: []any{task(3)}},
			want:   []string{"WORKING", "COMPLETED"},
		},
		{
			name: "polling", polls: true, sends: 1,
			script: scripted{send: &a2a.SendMessageResponse{Task: task(1)}, gets: []any{task(1), task(2), task(0), task(6)}},
			want:   []string{"SUBMITTED", "WORKING", "UNSPECIFIED", "INPUT_REQUIRED"},
		},
		{
			name: "polling a direct message", polls: true, sends: 1,
			script: scripted{send: &a2a.SendMessageResponse{Message: message.Message}}, want: []string{"message"},
		},
		{
			name: "polls that fail for a while", polls: true, sends: 1,
			script: scripted{send: &a2a.SendMessageResponse{Task: task(2)}, gets: []any{errors.New("reset"), peer(a2a.CodeUnavailable), task(3)}},
			want:   []string{"WORKING", "COMPLETED"},
		},
		{
			name: "a poll that fails for good", polls: true, sends: 1,
			script: scripted{send: &a2a.SendMessageResponse{Task: task(2)}, gets: []any{peer(a2a.CodeTaskNotFound)}},
			want:   []string{"WORKING"}, err: a2a.ErrTaskNotFound,
		},
		{
			name: "polls that fail too often", polls: true, sends: 1,
			script: scripted{send: &a2a.SendMessageResponse{Task: task(2)}, gets: []any{peer(a2a.CodeUnavailable)}},
			want:   []string{"WORKING"}, err: a2a.ErrUnavailable,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := c.script
				got, err := states(followerOf(&s, !c.polls).Send(t.Context(), request))
				if !slices.Equal(got, c.want) {
					t.Errorf("showed %v, want %v", got, c.want)
				}
				if (err == nil) != (c.err == nil) || err != nil && !errors.Is(err, c.err) && err.Error() != c.err.Error() {
					t.Errorf("error %v, want %v", err, c.err)
				}
				if len(s.sent) != c.sends {
					t.Errorf("sent %d times, want %d", len(s.sent), c.sends)
				}
				for _, r := range s.sent {
					if r.Message.MessageID != "m1" {
						t.Errorf("sent as %q, want the same id each time", r.Message.MessageID)
					}
				}
			})
		})
	}
	if request.Configuration != nil {
		t.Error("the caller's request was changed")
	}
}

// a2a-cli §9.3: bounded backoff, no busy loop.
func TestPollsSlowDownToTheInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{send: &a2a.SendMessageResponse{Task: task(2)}, gets: []any{task(2)}}
		ctx, cancel := context.WithTimeoutCause(t.Context(), 10*time.Second, errEnough)
		defer cancel()
		_, err := states(followerOf(s, false).Send(ctx, request))
		if !errors.Is(err, errEnough) {
			t.Errorf("error %v, want the timeout", err)
		}
		want := []time.Duration{250, 750, 1750, 3750, 5750, 7750, 9750}
		for i := range want {
			want[i] *= time.Millisecond
		}
		if !slices.Equal(s.gotAt, want) {
			t.Errorf("polled at %v, want %v", s.gotAt, want)
		}
	})
}

// An agent that limits its callers and says when to come back is not polled before.
func TestPollsComeWhenTheAgentAsksForThem(t *testing.T) {
	busy := func(d time.Duration) error { return &a2a.Error{Code: a2a.CodeRateLimited, Peer: true, RetryAfter: d} }
	synctest.Test(t, func(t *testing.T) {
		minute := busy(time.Minute)
		s := &scripted{gets: []any{task(2), minute, minute, minute, minute, task(3)}}
		got, err := states(followerOf(s, false).Watch(t.Context(), &a2a.GetTaskRequest{ID: "t1"}))
		if want := []string{"WORKING", "COMPLETED"}; err != nil || !slices.Equal(got, want) || s.gotAt[5]-s.gotAt[1] != 4*time.Minute {
			t.Errorf("showed %v, %v at %v", got, err, s.gotAt)
		}
		s = &scripted{gets: []any{task(2), busy(time.Hour), task(3)}}
		if _, err := states(followerOf(s, false).Watch(t.Context(), &a2a.GetTaskRequest{ID: "t1"})); !errors.Is(err, a2a.ErrRateLimited) {
			t.Errorf("error %v, want that of an agent that is busy for long", err)
		}
	})
}

func TestWatchPollsOneTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{gets: []any{task(2), task(2), task(5)}}
		got, err := states(followerOf(s, true).Watch(t.Context(), &a2a.GetTaskRequest{ID: "t1"}))
		if want := []string{"WORKING", "CANCELED"}; err != nil || !slices.Equal(got, want) {
			t.Errorf("showed %v, %v; want %v", got, err, want)
		}
	})
}

func TestSubscribeFallsBackToPolling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{stream: []any{first(2), errors.New("cut")}, gets: []any{task(4)}}
		got, err := states(followerOf(s, true).Subscribe(t.Context(), "t1"))
		if want := []string{"WORKING", "FAILED"}; err != nil || !slices.Equal(got, want) {
			t.Errorf("showed %v, %v; want %v", got, err, want)
		}
		s = &scripted{stream: []any{a2a.ErrUnsupportedOperation}}
		if _, err := states(followerOf(s, true).Subscribe(t.Context(), "t1")); !errors.Is(err, a2a.ErrUnsupportedOperation) {
			t.Errorf("error %v, want what the agent said", err)
		}
	})
}

// An agent that returns at once may return the question that the message answers.
func TestAnswersArePolledPastTheirQuestion(t *testing.T) {
	asks := func(text string) *a2a.Task {
		q := task(a2a.TaskStateInputRequired)
		q.Status.Message = &a2a.Message{MessageID: "q", Role: a2a.RoleAgent, Parts: []*a2a.Part{a2a.TextPart(text)}}
		return q
	}
	answer := &a2a.SendMessageRequest{Message: &a2a.Message{MessageID: "m2", Role: a2a.RoleUser, TaskID: "t1", Parts: []*a2a.Part{a2a.TextPart("x")}}}
	for _, c := range []struct {
		name   string
		script scripted
		want   []string
		last   time.Duration // poll
	}{
		{
			name:   "the question that it answers",
			script: scripted{send: &a2a.SendMessageResponse{Task: asks("where?")}, gets: []any{asks("where?"), asks("where?"), task(2), task(3)}},
			want:   []string{"INPUT_REQUIRED", "WORKING", "COMPLETED"}, last: 3750 * time.Millisecond,
		},
		{
			name:   "another question",
			script: scripted{send: &a2a.SendMessageResponse{Task: asks("when?")}, gets: []any{asks("where?")}},
			want:   []string{"INPUT_REQUIRED"},
		},
		{
			name:   "an agent that does not react",
			script: scripted{send: &a2a.SendMessageResponse{Task: asks("where?")}, gets: []any{asks("where?")}},
			want:   []string{"INPUT_REQUIRED"}, last: answerTime - 250*time.Millisecond + 2*time.Second,
		},
		{
			name:   "a task that needs authorization still",
			script: scripted{send: &a2a.SendMessageResponse{Task: task(8)}, gets: []any{task(8)}},
			want:   []string{"AUTH_REQUIRED"}, last: authTime + 2*time.Second,
		},
		{
			name:   "a task that the message authorizes",
			script: scripted{send: &a2a.SendMessageResponse{Task: task(8)}, gets: []any{task(8), task(8), task(3)}},
			want:   []string{"AUTH_REQUIRED", "COMPLETED"}, last: 750 * time.Millisecond,
		},
		{
			name:   "a task that the message begins",
			script: scripted{send: &a2a.SendMessageResponse{Task: task(2)}, gets: []any{a2a.ErrTaskNotFound, task(6)}},
			want:   []string{"WORKING", "INPUT_REQUIRED"}, last: 250 * time.Millisecond,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := c.script
				got, err := states(followerOf(&s, false).Send(t.Context(), answer))
				if last := s.gotAt[len(s.gotAt)-1]; err != nil || !slices.Equal(got, c.want) || last > c.last {
					t.Errorf("showed %v, %v, polled until %v; want %v until %v", got, err, last, c.want, c.last)
				}
			})
		})
	}
}
