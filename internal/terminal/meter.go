package terminal

import (
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"time"

	"github.com/parley-a2a/parley/internal/plain"
)

// worthMetering is the minimum size of a body for which progress is shown, in bytes.
const worthMetering = 1 << 20

// Pauses between two updates of a meter: of a rewritten bar, and of lines.
const (
	barPause  = 200 * time.Millisecond
	linePause = 10 * time.Second
)

// Meter returns a body that shows how much of it was read: as a bar in the status line,
// otherwise as a line every ten seconds. total is its length, 0 or less if it is not known. A
// small body is returned unchanged.
func (s *Screen) Meter(body io.ReadCloser, what string, total int64, line func(string)) io.ReadCloser {
	if total > 0 && total < worthMetering {
		return body
	}
	return &meter{ReadCloser: body, s: s, what: what, total: total, line: line, told: time.Now()}
}

// meter belongs to the goroutine that reads it, except for Close.
type meter struct {
	io.ReadCloser
	s     *Screen
	what  string
	total int64
	line  func(string)

	read int64
	told time.Time

	begun, closed atomic.Bool // it uses the status line; another goroutine than the reader may close it
}

func (m *meter) Read(p []byte) (int, error) {
	n, err := m.ReadCloser.Read(p)
	m.read += int64(n)
	if m.read >= worthMetering && err == nil && !m.closed.Load() {
		m.tell(time.Now())
	}
	if err != nil {
		m.end()
	}
	return n, err
}

func (m *meter) tell(now time.Time) {
	pause := linePause
	if m.s.Rewrites() {
		pause = barPause
	}
	if now.Sub(m.told) < pause {
		return
	}
	m.told = now
	if !m.s.Rewrites() {
		m.line(m.text())
		return
	}
	if m.begun.CompareAndSwap(false, true) {
		m.s.meters.Add(1)
	}
	m.s.Status(m.text())
}

func (m *meter) text() string { return howFar(m.what, m.read, m.total, plain.Bytes) }

// howFar formats progress, with a bar if the total is known.
func howFar(what string, done, total int64, word func(int64) string) string {
	if total <= 0 {
		return what + " " + word(done)
	}
	const width = 20
	full := int(min(done, total) * width / total)
	return fmt.Sprintf("%s %s%s %3d%% of %s", what, strings.Repeat("█", full), strings.Repeat("░", width-full), min(done, total)*100/total, word(total))
}

func (m *meter) end() {
	if m.begun.CompareAndSwap(true, false) {
		m.s.meters.Add(-1)
		m.s.Status("")
	}
}

func (m *meter) Close() error {
	m.closed.Store(true)
	m.end()
	return m.ReadCloser.Close()
}
