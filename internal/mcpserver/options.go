package mcpserver

import (
	"cmp"
	"log/slog"
	"time"
)

// Options adjusts a Server. A nil *Options means all defaults.
type Options struct {
	// Skills makes a tool of each skill of the card, in place of send_message.
	Skills bool
	// Wait is how long a call waits for its task if the client did not ask for
	// progress. Zero means 50 s, because many clients give up after 60 s.
	Wait time.Duration
	// Poll is how often the task of an agent without streams is polled. Zero means 2 s.
	Poll time.Duration
	// MaxResult caps the text and the files of one result, in bytes. Zero means
	// 4 MiB.
	MaxResult int
	// Logger gets errors. Nil discards.
	Logger *slog.Logger
}

func (o *Options) wait() time.Duration { return cmp.Or(max(o.Wait, 0), 50*time.Second) }

func (o *Options) poll() time.Duration { return cmp.Or(max(o.Poll, 0), 2*time.Second) }

func (o *Options) maxResult() int { return cmp.Or(max(o.MaxResult, 0), 4<<20) }

func (o *Options) logger() *slog.Logger { return cmp.Or(o.Logger, slog.New(slog.DiscardHandler)) }
