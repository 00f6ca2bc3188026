package openai

import (
	"errors"
	"time"
	"unicode/utf8"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
)

// output gathers the tokens of the answer, for each chunk of an artifact is
// written to disk: at most one for every so much time, or for maxChunk bytes. The
// first token of a while goes out at once. It belongs to the turn's goroutine.
type output struct {
	artifact *agent.Artifact
	every    time.Duration
	hold     bool // nothing goes out before the end: the answer is a JSON value

	buf   []byte
	last  time.Time // of the last chunk
	chunk int       // how many went out
	new   bool      // what comes next is another answer of the model
	from  int       // chunk when this answer began
	timer *time.Timer
}

// begin says that another answer of the model follows, or the same once more.
// Texts of two answers are paragraphs.
func (o *output) begin() {
	o.buf = o.buf[:0]
	o.new = o.chunk > 0
	o.from = o.chunk
}

// said reports whether something of this answer is out, so that it cannot be asked
// for again.
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

// due fires when what is gathered has to go out; never if there is nothing.
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

// close sends what is left as the last chunk.
func (o *output) close() error {
	if len(o.buf) == 0 || len(o.buf) > maxChunk {
		return errors.Join(o.flush(), o.artifact.Close())
	}
	err := o.artifact.Last(a2a.TextPart(string(o.buf)))
	o.buf = nil
	return err
}
