package a2a

import (
	"context"
	"time"
)

// Notifier takes push notifications to their receivers (specification §4.3.3).
// Package a2aserver has the one over HTTP. It may be called concurrently.
type Notifier interface {
	// Check says whether a configuration can be accepted, as far as that can be
	// known before the first delivery; if not, with an *Error that names
	// the field. host is whom its deliveries go to: those to one host are
	// bounded together and fail together.
	Check(ctx context.Context, c *TaskPushNotificationConfig) (host string, err error)

	// Notify makes one attempt, which ends with ctx at the latest. It keeps
	// nothing of it.
	Notify(ctx context.Context, n *Notification) Outcome
}

// Notification is one event of a task on its way to a webhook.
type Notification struct {
	ID     string // of the delivery: the same in every attempt, also after a restart
	Source string // see TaskPushNotificationConfig.Source
	Config *TaskPushNotificationConfig
	// Version is the one in which the configuration was made.
	Version Version
	Event   *StreamResponse
	// Task is the task as of the event, if the version sends it (WholeTask);
	// otherwise nil.
	Task *Task
	Seq  int64 // of the event
}

// Outcome is what became of an attempt.
type Outcome struct {
	Verdict Verdict
	After   time.Duration // with DeliverAgain: not before this; the receiver asked for it
	// Reason says why it failed, for operators, without secrets and without what
	// the receiver said.
	Reason string
	// Down means that nothing came back from the host at all, or that it says it
	// is not well: others that wait for it need not try now.
	Down bool
}

// Verdict is what follows from an attempt.
type Verdict int

const (
	// Delivered means that the receiver has it.
	Delivered Verdict = iota
	// DeliverAgain means that it may take it next time.
	DeliverAgain
	// GiveUp means that it will never take this one, perhaps others.
	GiveUp
	// DisableConfig means that it wants no more of this configuration's.
	DisableConfig
)
