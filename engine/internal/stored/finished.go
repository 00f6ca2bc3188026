package stored

import (
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/store"
)

// finished is the stored form of a finished task.
type finished struct {
	key        store.Key
	context    string
	state      a2a.TaskState
	updated    time.Time
	head, body []byte // must not be changed
}

// Final reports whether a task is finished and can never change.
func Final(t *a2a.Task) bool {
	return t.Status.State.Terminal() && !t.Version.Reopens()
}

func finishedOf(rec *store.Record) finished {
	return finished{
		key: rec.Key, context: rec.Context, state: a2a.TaskState(rec.State), updated: rec.Updated,
		head: rec.Seal.Head, body: rec.Seal.Body,
	}
}

// task returns the task that a request asks for, encoded if the request allows it; nil if not
// all of the task is in its bytes.
func (f *finished) task(req *a2a.GetTaskRequest) (*a2a.Task, error) {
	if req.Encoded {
		if task := f.encoded(f.body, req.HistoryLength); task != nil {
			return task, nil
		}
	}
	task := f.encoded(f.body, nil)
	if task == nil {
		return nil, nil
	}
	if err := task.Decode(); err != nil {
		return nil, Failed(err, "read sealed task "+f.key.ID)
	}
	return task.LimitHistory(req.HistoryLength), nil
}

// encoded returns the task in its stored bytes, without its artifacts if body is nil. It
// returns nil if a2a.ReadStored does.
func (f *finished) encoded(body []byte, history *int32) *a2a.Task {
	task := a2a.ReadStored(f.head, body, history)
	if task != nil {
		task.ID, task.ContextID = f.key.ID, f.context
		task.Status.State, task.Status.Timestamp = f.state, f.updated
	}
	return task
}
