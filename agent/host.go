package agent

import (
	"context"
	"iter"

	"github.com/parley-a2a/parley/a2a"
)

// Host is what a Turn needs from its runner. The engine and the tests of this package
// implement it; authors never see it.
//
// Methods may be called from several goroutines. Those that emit return ErrEnded if the
// task has ended. Authors may ignore it: nothing they do after that is visible to
// others.
type Host interface {
	// Message is the message of the turn. It must not be changed.
	Message() *a2a.Message
	// Task is a copy of the task so far, emissions of this turn included. It
	// has an id and a context id even before the task exists for others.
	Task() *a2a.Task
	// Accepted are the media types that the client accepts, or none if it did not say.
	Accepted() []string
	// Metadata is the metadata of the request that brought the message, an object or
	// empty.
	Metadata() a2a.JSON
	Caller() a2a.Caller
	// Version is the protocol version in which the task was created, such as "1.0";
	// "0.3" stands for 0.2, too.
	Version() string
	// Attempt counts the runs of this turn from the top, 1 or more.
	Attempt() int

	// Status changes the task's state. message may be nil; the host gives it
	// ids. A terminal state ends the task.
	Status(state a2a.TaskState, message *a2a.Message) error
	// Artifact emits a chunk: its parts are appended to the artifact with this id or,
	// with add false, begin it anew. The host owns a and its parts afterwards.
	Artifact(a *a2a.Artifact, add, last bool) error
	// Reply answers with parts: as a direct message if others cannot see a task yet,
	// otherwise by completing the task.
	Reply(parts []*a2a.Part) error
	// Next returns the next message of the task that this turn has not consumed, except
	// answers to Authenticate. If there is none yet, the task becomes input-required,
	// with the prompt as status message, and Next waits.
	Next(ctx context.Context, prompt []*a2a.Part) (*a2a.Message, error)
	// Authenticate makes the task auth-required, with the prompt as status message, and
	// returns the client's next message, whose content is not stored. If wait is not
	// nil it runs meanwhile; if it returns first, the task is at work again and there
	// is no message. wait has returned when Authenticate returns.
	Authenticate(ctx context.Context, prompt []*a2a.Part, wait func(context.Context) error) (*a2a.Message, error)
	// Step returns the recorded result of the turn's next step of this name, or runs fn
	// and records its result. An error is not recorded; the next call with this name is
	// then the same step again.
	Step(ctx context.Context, name string, fn func(context.Context) (a2a.JSON, error)) (a2a.JSON, error)
	// NewArtifactID returns an id for the n-th artifact of the turn (from 0).
	// The same n gives the same id on every attempt.
	NewArtifactID(n int) string

	// References are the caller's tasks that the message refers to, in its
	// order; unknown ones are left out.
	References(ctx context.Context) ([]*a2a.Task, error)
	// Siblings yields the caller's other tasks of the same context, newest
	// first, with artifacts.
	Siblings(ctx context.Context) iter.Seq2[*a2a.Task, error]
}
