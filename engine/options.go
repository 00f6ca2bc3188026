package engine

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/budget"
)

// Options adjusts an Engine. A nil *Options means all defaults.
type Options struct {
	// Logger gets what operators should know: failed runs, store trouble,
	// take-overs. Nil discards.
	Logger *slog.Logger
	// MeterProvider measures tasks, runs, commits and webhooks: docs/observability.md
	// has the metrics. It may be called with locks of the engine's stores held, and must
	// not call the engine. Nil measures nothing.
	MeterProvider metric.MeterProvider
	// CreateAfter is how long an agent may think before its task comes into
	// being; a direct answer within that time leaves no task. Zero means
	// 100 ms. With ReturnImmediately a tenth of it counts.
	CreateAfter time.Duration
	// CancelWait is how long an agent may run after its task was cancelled before the
	// task is canceled without it. Zero means 2 s.
	CancelWait time.Duration
	// DrainWait is how long Run waits for agents when it ends. Zero means 10 s.
	// The tasks of those that take longer count as lost.
	DrainWait time.Duration
	// StoreWait is how long a failing store is tried again before a task's
	// agent is told to stop, to be run again when the store works. Zero means
	// 30 s.
	StoreWait time.Duration
	// MaxLost is how many processes a task may lose before it fails, counted since it began or
	// since its client last answered a question. It applies if its agent does not say otherwise
	// (agent.OnLost). Zero means 3.
	MaxLost int
	// TakeUp is how many tasks of dead processes are begun again at a time: each counts until
	// its agent has emitted something, for 250 ms at most. Zero means 256.
	TakeUp int
	// Capacity is how many tasks may be at work here at a time, without those that wait
	// for their client. Work beyond it waits in the store until this process or another
	// one has capacity: a new task is SUBMITTED meanwhile, and a direct answer then is a
	// completed task. Only an agent whose client has just sent an authorization continues
	// in any case, because no other process may have that. Zero means that all begin at
	// once.
	//
	// An agent that waits for another task keeps its slot. If every slot is held by an
	// agent that waits for a task of the same server, they deadlock: give the tasks that
	// others wait for a server of their own, or limit both in time (Limits.Wall).
	Capacity int
	// DeadAfter is how long another process may be silent before its tasks are taken over; it
	// must be the same in all processes. Zero means that only this process uses the store: all
	// others count as dead.
	DeadAfter time.Duration
	// Poll is how often, with DeadAfter, the store is asked for the tasks that are read here
	// and at work in other processes, in case a hint was lost. One request covers all of them.
	// Zero means 1 s.
	Poll time.Duration
	// Retries says when a repeated message is recognized.
	Retries Retries
	// LongPoll is how long GetTask with CurrentGeneration waits for a change. Zero means 30 s.
	LongPoll time.Duration
	// Retention deletes tasks that have not changed for long. The zero value
	// keeps all.
	Retention Retention
	// Limits bound what a task may use.
	Limits Limits
	// Cache is how many bytes of finished tasks are kept in memory, to be read without the
	// store; until the next garbage collection the process may use as much again. Zero means 64
	// MiB, less than zero none. With DeadAfter there is no cache, because other processes may
	// delete what is in it.
	Cache int64
	// Memory limits the memory that large data takes together on its way to clients and
	// receivers. Operations reserve it before they read what they answer, through the hold in
	// their context (budget.From); deliveries of webhooks reserve it themselves. Nil means no
	// limit.
	Memory *budget.Budget
	// Work is how many bytes the large tasks in memory may take together: those at work, and
	// those whose agents wait for their clients. The latter leave memory if others need it, the
	// largest and oldest first. Only tasks of more than 16 KiB count, with the content of their
	// logs. The tasks of one caller may have a quarter of it, or one task that is larger. A
	// message for which there is no room waits, and is refused as Unavailable after 30 s;
	// output of agents does not wait. Zero means three quarters of Memory's bytes, or no limit
	// without Memory; less than zero means no limit.
	Work int64
	// Push delivers notifications. Nil: there are none, and the operations on push
	// configurations answer PushNotificationNotSupported, as they do if the card does not have
	// the capability.
	Push a2a.Notifier
	// ExtendedCard returns the card that GetExtendedAgentCard answers to a caller, which must
	// not be changed afterwards; nil if there is none for that caller. A nil function means
	// that none is configured.
	ExtendedCard func(context.Context, a2a.Caller) (*a2a.AgentCard, error)
	// TracerProvider makes the spans of agents' runs and steps. Nil: nothing is traced. The
	// span in the context of a run gives access to the provider, too.
	TracerProvider trace.TracerProvider
	// TraceContent writes the messages of clients and agents into the spans of runs, as
	// gen_ai.input.messages and gen_ai.output.messages; agents that call models do the same
	// (telemetry.Content). Such content is usually private.
	TraceContent bool
}

// filled returns a copy of o, which may be nil, with the defaults.
func (o *Options) filled() *Options {
	var f Options
	if o != nil {
		f = *o
	}
	f.Logger = cmp.Or(f.Logger, slog.New(slog.DiscardHandler))
	f.CreateAfter = cmp.Or(f.CreateAfter, 100*time.Millisecond)
	f.CancelWait = cmp.Or(f.CancelWait, 2*time.Second)
	f.DrainWait = cmp.Or(f.DrainWait, 10*time.Second)
	f.StoreWait = cmp.Or(f.StoreWait, 30*time.Second)
	f.MaxLost = cmp.Or(f.MaxLost, 3)
	f.TakeUp = cmp.Or(f.TakeUp, 256)
	f.Poll = cmp.Or(f.Poll, time.Second)
	f.LongPoll = cmp.Or(f.LongPoll, 30*time.Second)
	if f.DeadAfter != 0 {
		f.Cache = -1
	}
	return &f
}
