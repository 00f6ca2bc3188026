package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/parley-a2a/parley/a2a"
)

// Artifact writes one artifact, in one piece or in chunks. It marks the first chunk,
// the appended ones and the last. It may be used from several goroutines; chunks then
// keep the order of the calls.
//
// A chunk is sent at once: there is no buffer to flush, and every Write is a chunk of
// its own (if that makes too many, wrap the artifact in a bufio.Writer). Chunks are
// durable before others see them.
//
// A call that returns an error has emitted nothing and changed nothing. Once the task
// has ended the error is ErrEnded; authors may ignore it.
//
//	w := t.Artifact("report.md")
//	defer w.Close()
//	fmt.Fprintln(w, "# Report")
type Artifact struct {
	host Host
	id   string
	name string

	// Description, Metadata and Extensions may be set before the first write; they are
	// sent with the first chunk.
	Description string
	Metadata    a2a.JSON
	Extensions  []string

	mu     sync.Mutex // protects the fields below, and keeps chunks in order
	begun  bool
	more   bool // more than one chunk was emitted
	closed bool
	rest   string // the beginning of a rune whose end has not been written yet
}

var (
	errClosed    = errors.New("agent: artifact is closed: its last chunk has been written")
	errEmptyPart = errors.New("agent: part without content")
)

// ID returns the artifact's id, which is the same on every attempt.
func (a *Artifact) ID() string { return a.id }

// Resume continues the artifact from an earlier attempt of this turn that a crash
// ended, and returns the parts that it has: what you write from now on is appended to
// them. On a first attempt, or if nothing was written, it returns none. Call it before
// the first write. Without it a second attempt begins the artifact anew, which is right
// for agents that cannot tell how far they got. If the last chunk was written already,
// there is nothing left to write, and a write is an error.
func (a *Artifact) Resume() []*a2a.Part {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.begun || a.host.Attempt() < 2 {
		return nil
	}
	for _, old := range a.host.Task().Artifacts {
		if old.ArtifactID == a.id {
			a.begun = true
			return old.Parts
		}
	}
	return nil
}

// Again makes the next chunk replace what was written so far instead of appending to it.
// It may follow the last chunk: a finished artifact then starts over.
func (a *Artifact) Again() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.begun, a.more, a.closed, a.rest = false, false, false, ""
}

// Write emits p as a chunk of one text part. Parts are text, so each byte that is not
// UTF-8 becomes U+FFFD; an incomplete rune at the end of p is held back until the next
// call. An empty p emits nothing.
func (a *Artifact) Write(p []byte) (int, error) { return a.WriteString(string(p)) }

// WriteString is Write for a string.
func (a *Artifact) WriteString(s string) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return 0, errClosed
	}
	text := a.rest + s
	n := whole(text)
	if n > 0 {
		if err := a.emit([]*a2a.Part{a2a.TextPart(validText(text[:n]))}, false); err != nil {
			return 0, err
		}
	}
	a.rest = strings.Clone(text[n:]) // three bytes must not keep a large text alive
	return len(s), nil
}

// Add emits parts as one chunk; without any it emits nothing. The parts must not be
// changed afterwards. An incomplete rune that Write held back is emitted before them,
// as U+FFFD.
func (a *Artifact) Add(parts ...*a2a.Part) error { return a.add(parts, false) }

// Last is Add and Close in one: it marks the chunk as the last. If it is also the first
// call, the artifact is one chunk. Without any parts it is Close.
func (a *Artifact) Last(parts ...*a2a.Part) error {
	if len(parts) == 0 {
		return a.Close()
	}
	return a.add(parts, true)
}

// Close ends the artifact. If something was written and no chunk was marked as the
// last, it emits a last chunk with one empty text part: a chunk is sent when it is
// written, before it is known to be the last, and the protocol requires a part in each
// chunk. (Use Last to avoid it.) A rune left incomplete by Write becomes U+FFFD. An
// artifact to which nothing was written is never sent. Closing twice is no error.
func (a *Artifact) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if text := validText(a.rest); !a.closed && (text != "" || a.begun) {
		if err := a.emit([]*a2a.Part{a2a.TextPart(text)}, true); err != nil {
			return err
		}
	}
	a.rest, a.closed = "", true
	return nil
}

// Join says that the texts written so far are pieces of one text: the task then holds
// texts that follow each other as one part. Streams, which have sent the chunks, and
// the log keep them. Call it once, at the end; it copies the text.
func (a *Artifact) Join() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.more {
		return nil
	}
	// An attempt begins the artifact anew, so each has a step of its own.
	name := fmt.Sprint(a2a.StepJoin, a.host.Attempt(), " ", a.id)
	_, err := a.host.Step(context.Background(), name, func(context.Context) (a2a.JSON, error) { return a2a.JSON("true"), nil })
	return err
}

func (a *Artifact) add(parts []*a2a.Part, last bool) error {
	for i, p := range parts {
		if p == nil || p.Kind == 0 {
			return fmt.Errorf("%w: part %d of artifact %q", errEmptyPart, i, a.name)
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return errClosed
	}
	if len(parts) == 0 {
		return nil
	}
	if a.rest != "" {
		parts = append([]*a2a.Part{a2a.TextPart(validText(a.rest))}, parts...)
	}
	if err := a.emit(parts, last); err != nil {
		return err
	}
	a.rest = ""
	a.closed = last
	return nil
}

// emit passes a chunk to the host. It needs a.mu held. The caller keeps the slice; a
// chunk of one part, the usual case, is one allocation.
func (a *Artifact) emit(parts []*a2a.Part, last bool) error {
	both := &struct {
		chunk a2a.Artifact
		part  [1]*a2a.Part
	}{}
	chunk := &both.chunk
	chunk.ArtifactID = a.id
	if len(parts) == 1 {
		both.part[0] = parts[0]
		chunk.Parts = both.part[:]
	} else {
		chunk.Parts = slices.Clone(parts)
	}
	if !a.begun {
		chunk.Name = a.name
		chunk.Description = a.Description
		chunk.Metadata = a.Metadata
		chunk.Extensions = a.Extensions
	}
	if err := a.host.Artifact(chunk, a.begun, last); err != nil {
		return err
	}
	a.more = a.begun
	a.begun = true
	return nil
}

// whole returns the length of s without an incomplete rune at its end.
func whole(s string) int {
	for i := len(s) - 1; i >= 0 && i > len(s)-utf8.UTFMax; i-- {
		if utf8.RuneStart(s[i]) {
			if utf8.FullRuneInString(s[i:]) {
				return len(s)
			}
			return i
		}
	}
	return len(s)
}

// validText returns s with each byte that is not UTF-8 as U+FFFD. (One for each byte,
// unlike strings.ToValidUTF8, so that the result does not depend on how the bytes were
// split over writes.)
func validText(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	var text strings.Builder
	text.Grow(len(s) + 2*utf8.UTFMax)
	for _, r := range s { // a range yields U+FFFD for each such byte
		text.WriteRune(r)
	}
	return text.String()
}
