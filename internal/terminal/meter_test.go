package terminal

import (
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/internal/plain"
)

// slow is a body that takes a second for each MiB.
type slow struct{ left int }

func (s *slow) Read(p []byte) (int, error) {
	if s.left == 0 {
		return 0, io.EOF
	}
	time.Sleep(time.Second)
	n := min(len(p), 1<<20, s.left)
	s.left -= n
	return n, nil
}

func (s *slow) Close() error { return nil }

func TestMeter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lines []string
		s, out := screen(80, false)
		read := func(size int, total int64) {
			body := s.Meter(&slow{left: size}, "sending", total, func(line string) { lines = append(lines, line) })
			for buf := make([]byte, 1<<20); ; {
				if _, err := body.Read(buf); err != nil {
					break
				}
			}
			_ = body.Close()
		}
		read(1000, 1000)
		if out.Len() > 0 {
			t.Errorf("a small body shows %q", out.String())
		}
		read(2<<20, 2<<20)
		want := eraseLine + "sending ██████████░░░░░░░░░░  50% of 2.0 MiB" + eraseLine + "sending ████████████████████ 100% of 2.0 MiB" + eraseLine
		if out.String() != want {
			t.Errorf("a bar shows %q", out.String())
		}
		s.errIs = false
		read(25<<20, 0)
		if want := []string{"sending 10.0 MiB", "sending 20.0 MiB"}; !slices.Equal(lines, want) {
			t.Errorf("lines %q", lines)
		}
		if strings.Count(out.String(), eraseLine) != 3 {
			t.Errorf("lines came with %q", out.String())
		}
	})
}

func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lines []string
		s, out := screen(80, false)
		work := func(seconds int, total int64) {
			begin := time.Now()
			stop := s.Progress("importing", func() (int64, int64) { return int64(time.Since(begin) / time.Second), total },
				func(n int64) string { return plain.Count(n, "task") }, func(line string) { lines = append(lines, line) })
			time.Sleep(time.Duration(seconds)*time.Second + time.Second/8)
			stop()
			stop()
		}
		work(0, 4)
		if strings.ContainsFunc(out.String(), func(r rune) bool { return r >= ' ' && r != '[' && r != 'K' }) {
			t.Errorf("what is quick shows %q", out.String())
		}
		out.Reset()
		work(1, 4)
		if want := eraseLine + "importing █████░░░░░░░░░░░░░░░  25% of 4 tasks · 1s" + eraseLine; out.String() != want {
			t.Errorf("a bar shows %q", out.String())
		}
		out.Reset()
		s.errIs = false
		work(25, 0)
		if want := []string{"importing 10 tasks · 10s", "importing 20 tasks · 20s"}; !slices.Equal(lines, want) || out.Len() > 0 {
			t.Errorf("lines %q and %q", lines, out.String())
		}
	})
}
