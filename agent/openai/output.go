package openai

import (
	"errors"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
)

// output gathers the tokens of the answer, because each chunk of an artifact is written
// to disk: it emits at most one chunk per interval, or per maxChunk bytes. The first
// token after a pause is emitted at once; a timer emits what no later token does.
type output struct {
	artifact *agent.Artifact
	every    time.Duration
	hold     bool // emit nothing before the end: the answer is a JSON value

	buf   []byte
	last  time.Time // of the last chunk
	chunk int       // how many were emitted
	new   bool      // the next text belongs to another answer of the model
	from  int       // chunk when this answer began

	mu    sync.Mutex  // protects the fields above from the timer's goroutine, while it is not nil
	timer *time.Timer // nil while no tokens come
}

// begin says that another answer of the model follows, or the same once more. The texts
// of two answers are separate paragraphs.
func (o *output) begin() {
	o.buf = o.buf[:0]
	o.new = o.chunk > 0
	o.from = o.chunk
}

// said reports whether a part of this answer was emitted, so that the request cannot be
// repeated.
func (o *output) said() bool { return o.chunk > o.from }

func (o *output) add(text string) error {
	if text == "" || o.hold {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.new {
		o.new = false
		o.buf = append(o.buf, "\n\n"...)
	}
	o.buf = append(o.buf, text...)
	left := o.every - time.Since(o.last)
	switch {
	case len(o.buf) >= maxChunk || left <= 0:
		return o.flush()
	case o.timer == nil:
		o.timer = time.AfterFunc(left, o.late)
	default:
		o.timer.Reset(left)
	}
	return nil
}

// late emits the gathered text when the interval is over.
func (o *output) late() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.timer != nil {
		_ = o.flush() // an error comes again with the next token, or at the end
	}
}

// rest ends the timer when no more tokens come. The rest of the text stays.
func (o *output) rest() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.timer != nil {
		o.timer.Stop()
		o.timer = nil
	}
}

func (o *output) flush() error {
	for len(o.buf) > 0 {
		n := len(o.buf)
		if n > maxChunk {
			for n = maxChunk; n > maxChunk-utf8.UTFMax && !utf8.RuneStart(o.buf[n]); n-- {
			}
		}
		if _, err := o.artifact.WriteString(string(o.buf[:n])); err != nil {
			return err
		}
		o.buf = o.buf[:copy(o.buf, o.buf[n:])]
		o.chunk++
		o.last = time.Now()
	}
	return nil
}

// close emits the rest as the last chunk.
func (o *output) close() error {
	if len(o.buf) == 0 || len(o.buf) > maxChunk {
		return errors.Join(o.flush(), o.artifact.Close())
	}
	err := o.artifact.Last(a2a.TextPart(string(o.buf)))
	o.buf = nil
	return err
}
