package a2a

import (
	"context"
	"time"
)

// Notifier delivers push notifications to their receivers (specification §4.3.3).
// Package a2aserver has the one over HTTP. Its methods may be called concurrently.
type Notifier interface {
	// Check reports whether a configuration can be accepted, as far as that can be known
	// before the first delivery. If not, the error is an *Error that names the field.
	// host is where its deliveries go: deliveries to one host share its limits and are
	// paused together when it fails.
	Check(ctx context.Context, c *TaskPushNotificationConfig) (host string, err error)

	// Notify makes one attempt, which ends when ctx does at the latest. It does not
	// retain n.
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

// Outcome is the result of an attempt.
type Outcome struct {
	Verdict Verdict
	After   time.Duration // with DeliverAgain: the shortest pause before it, as the receiver asked
	// Reason says why it failed, for operators, without secrets and without text of the
	// receiver's.
	Reason string
	// Down means that the host did not answer or said that it is unavailable: other
	// deliveries to it need not try now.
	Down bool
}

// Verdict says what to do after an attempt.
type Verdict int

const (
	// Delivered means that the receiver accepted it.
	Delivered Verdict = iota
	// DeliverAgain means that another attempt may succeed.
	DeliverAgain
	// GiveUp means that the receiver will never accept this notification; it may accept
	// later ones.
	GiveUp
	// DisableConfig means that the receiver wants no more notifications of this
	// configuration.
	DisableConfig
)
