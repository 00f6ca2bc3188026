package main

import (
	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/download"
	"github.com/parley-a2a/parley/internal/failure"
	"github.com/parley-a2a/parley/internal/serve"
)

// printer writes results to standard output: as text for people and pipes, or
// as the protocol's own JSON (a2a-cli §11). Each method writes whole and
// flushes.
type printer interface {
	// sending shows a message on its way out; only verbose text does.
	sending(*a2a.Message) error
	// sent shows the outcome of a send.
	sent(*a2a.SendMessageResponse) error
	task(*a2a.Task) error
	tasks(*a2a.ListTasksResponse) error
	push(*a2a.TaskPushNotificationConfig) error
	pushes(*a2a.ListTaskPushNotificationConfigsResponse) error
	pushDeleted(taskID, id string) error
	// event shows an element of a stream as it arrives.
	event(*a2a.StreamResponse) error
	// saved lists what a task's artifacts were saved as.
	saved([]*download.File) error
	// card shows a card; chosen is the interface that calls go to, nil if the
	// card has none that this program speaks.
	card(card *a2a.AgentCard, chosen *a2a.AgentInterface, validated bool) error
	settings([]serve.Value) error
	// checked shows a file without mistakes.
	checked(checkedFile) error
	// unfinished names the task that a failure leaves behind; nothing where
	// standard output has the failure itself.
	unfinished(*a2a.Task) error
	// failure shows what went wrong.
	failure(*failure.Error) error
}
