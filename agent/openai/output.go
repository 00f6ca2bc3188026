package openai

import (
	"errors"
	"time"
	"unicode/utf8"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
)

// output gathers the tokens of the answer, because each chunk of an artifact is written
// to disk: it emits at most one chunk per interval, or per maxChunk bytes. The first
// token after a pause is emitted at once. It belongs to the turn's goroutine.
type output struct {
	artifact *agent.Artifact
	every    time.Duration
	hold     bool // emit nothing before the end: the answer is a JSON value

	buf   []byte
	last  time.Time // of the last chunk
	chunk int       // how many were emitted
	new   bool      // the next text belongs to another answer of the model
	from  int       // chunk when this answer began
	timer *time.Timer
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
	if o.new {
		o.new = false
		o.buf = append(o.buf, "\n\n"...)
	}
	o.buf = append(o.buf, text...)
	if len(o.buf) >= maxChunk || time.Since(o.last) >= o.every {
		return o.flush()
	}
	return nil
}

// due fires when the gathered text must be emitted; never if there is none.
func (o *output) due() <-chan time.Time {
	if len(o.buf) == 0 {
		return nil
	}
	left := o.every - time.Since(o.last)
	if o.timer == nil {
		o.timer = time.NewTimer(left)
	} else {
		o.timer.Reset(left)
	}
	return o.timer.C
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
