package mcpserver

import (
	"log/slog"
	"time"
)

// Options adjusts a Server. A nil *Options means all defaults.
type Options struct {
	// Skills makes a tool of each skill of the card, in place of send_message.
	Skills bool
	// Wait is for how long a call waits for its task where the client did not ask
	// for progress. Zero means 50 s, for many clients give up after 60 s.
	Wait time.Duration
	// Poll is how often a task of an agent without streams is looked at. Zero means
	// 2 s.
	Poll time.Duration
	// MaxResult caps the text and the files of one result, in bytes. Zero means
	// 4 MiB.
	MaxResult int
	// Logger gets what goes wrong. Nil discards.
	Logger *slog.Logger
}

func (o *Options) skills() bool { return o != nil && o.Skills }

func (o *Options) wait() time.Duration {
	if o == nil || o.Wait <= 0 {
		return 50 * time.Second
	}
	return o.Wait
}

func (o *Options) poll() time.Duration {
	if o == nil || o.Poll <= 0 {
		return 2 * time.Second
	}
	return o.Poll
}

func (o *Options) maxResult() int {
	if o == nil || o.MaxResult <= 0 {
		return 4 << 20
	}
	return o.MaxResult
}

func (o *Options) logger() *slog.Logger {
	if o == nil || o.Logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return o.Logger
}
