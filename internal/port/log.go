package port

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"
)

// throttled writes log records that anybody can cause at no cost: of each text one a
// minute, with the number of those that were left out since the last one.
type throttled struct {
	log *slog.Logger

	mu    sync.Mutex // protects the fields below
	texts map[string]*throttledText
}

type throttledText struct {
	at   time.Time // of the last one that was written
	more int       // left out since then
}

func newThrottled(log *slog.Logger) *throttled {
	return &throttled{log: log, texts: map[string]*throttledText{}}
}

// write writes a record, or counts it. text must be a constant.
func (t *throttled) write(level slog.Level, text string, attrs ...slog.Attr) {
	ctx := context.Background()
	if !t.log.Enabled(ctx, level) {
		return
	}
	t.mu.Lock()
	k, now := t.texts[text], time.Now()
	if k != nil && now.Sub(k.at) < time.Minute {
		k.more++
		t.mu.Unlock()
		return
	}
	if k == nil {
		k = new(throttledText)
		t.texts[text] = k
	}
	if k.more > 0 {
		attrs = append(attrs, slog.Int("more", k.more))
	}
	k.at, k.more = now, 0
	t.mu.Unlock()
	t.log.LogAttrs(ctx, level, text, attrs...)
}

// httpLog receives the log of net/http, most of which is about clients.
type httpLog struct{ to *throttled }

func (l httpLog) Write(p []byte) (int, error) {
	line := slog.String("line", strings.TrimSpace(strings.ToValidUTF8(string(p[:min(len(p), maxHTTPLine)]), "\uFFFD")))
	if bytes.Contains(p, []byte("panic serving")) {
		l.to.write(slog.LevelError, "a request ended in a panic", line)
	} else {
		l.to.write(slog.LevelDebug, "net/http reports", line)
	}
	return len(p), nil
}

// maxHTTPLine caps what is kept of a line of net/http's, in bytes.
const maxHTTPLine = 8 << 10
