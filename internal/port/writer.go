package port

import (
	"net/http"
	"time"

	"github.com/parley-a2a/parley/internal/budget"
)

// Writer is the writer of an answer. Each piece of WriteSize bytes has the time limit
// of a write, and all pieces have to go at minRate. Over HTTP/2 a client can stop one
// answer while it takes others, so that the connection does not show it.
type Writer struct {
	http.ResponseWriter
	rc    *http.ResponseController
	limit time.Duration // of each write
	since time.Time
	pace  Pace
	// flushed, if not nil, is called when all that was written has been flushed.
	flushed func()
}

// NewWriter returns a Writer of an answer whose writes have a time limit.
func NewWriter(w http.ResponseWriter, limit time.Duration) *Writer {
	p := new(Writer)
	p.Init(w, http.NewResponseController(w), limit, nil)
	return p
}

// Init makes w a Writer of the answer to, whose controller is rc. hold, if not nil, is
// the memory that the answer uses.
func (w *Writer) Init(to http.ResponseWriter, rc *http.ResponseController, limit time.Duration, hold *budget.Hold) {
	*w = Writer{ResponseWriter: to, rc: rc, limit: limit, since: time.Now(), pace: Pace{Hold: hold}}
}

// HoldUntilFlush makes hold the memory that the answer uses, and closes it with the
// next Flush.
func (w *Writer) HoldUntilFlush(hold *budget.Hold) { w.pace.Hold, w.flushed = hold, hold.Close }

func (w *Writer) Write(b []byte) (n int, err error) {
	began := time.Since(w.since)
	for {
		piece := b[n:min(len(b), n+WriteSize)]
		// Writers in tests have no deadlines, and need none.
		_ = w.rc.SetWriteDeadline(w.since.Add(began + w.pace.Allows(len(piece), w.limit, began)))
		k, err := w.ResponseWriter.Write(piece)
		now := time.Since(w.since)
		w.pace.Wrote(k, began, now)
		if n += k; err != nil || n == len(b) {
			return n, err
		}
		began = now
	}
}

// Flush leaves no deadline behind: one that passes while nothing is written would end
// the stream.
func (w *Writer) Flush() {
	_ = w.rc.SetWriteDeadline(time.Now().Add(w.limit))
	_ = w.rc.Flush() // the next write fails, too
	_ = w.rc.SetWriteDeadline(time.Time{})
	if w.flushed != nil {
		w.flushed()
	}
}

func (w *Writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }
