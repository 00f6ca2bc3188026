// Package output writes what a command of parley has to say on standard output: as
// text for people and pipes, for a person at a terminal, or as the protocol's own JSON
// and what is made of it (a2a-cli §11).
package output

import (
	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/download"
	"github.com/parley-a2a/parley/internal/failure"
)

// Printer writes results in one format. Each method writes whole and flushes.
type Printer interface {
	// Sending shows a message on its way out; only verbose text does.
	Sending(*a2a.Message) error
	// Sent shows the outcome of a send.
	Sent(*a2a.SendMessageResponse) error
	Task(*a2a.Task) error
	Tasks(*a2a.ListTasksResponse) error
	Push(*a2a.TaskPushNotificationConfig) error
	Pushes(*a2a.ListTaskPushNotificationConfigsResponse) error
	PushDeleted(taskID, id string) error
	// Event shows an element of a stream as it arrives.
	Event(*a2a.StreamResponse) error
	// Saved lists what a task's artifacts were saved as.
	Saved([]*download.File) error
	// Card shows a card; chosen is the interface that calls go to, nil if the
	// card has none that this program speaks.
	Card(card *a2a.AgentCard, chosen *a2a.AgentInterface, validated bool) error
	// Doc shows a document of ours: the JSON of doc, or what text writes.
	Doc(doc any, text func(*Writer)) error
	// Unfinished names the task that a failure leaves behind; nothing where
	// standard output has the failure itself.
	Unfinished(*a2a.Task) error
	// Failure shows what went wrong.
	Failure(*failure.Error) error
}
