// Package output writes the results of parley's commands to standard output: as text for people
// and pipes, for a person at a terminal, or as the protocol's own JSON and forms made from it
// (a2a-cli §11).
package output

import (
	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/download"
	"github.com/parley-a2a/parley/internal/failure"
)

// Printer writes results in one format. Each method writes a complete result and flushes.
type Printer interface {
	// Sending shows a message that is about to be sent; only verbose text does.
	Sending(*a2a.Message) error
	// Sent shows the outcome of a send.
	Sent(*a2a.SendMessageResponse) error
	Task(*a2a.Task) error
	Tasks(*a2a.ListTasksResponse) error
	// Event shows an element of a stream as it arrives.
	Event(*a2a.StreamResponse) error
	// Saved lists the files to which a task's artifacts were saved.
	Saved([]*download.File) error
	// Doc shows any other document: doc as JSON, in the protocol's form if it is the protocol's,
	// or the output of text.
	Doc(doc any, text func(*Writer)) error
	// Unfinished names the task that a failure leaves behind; it shows nothing if the failure
	// itself goes to standard output.
	Unfinished(*a2a.Task) error
	// Failure shows a failure.
	Failure(*failure.Error) error
}
