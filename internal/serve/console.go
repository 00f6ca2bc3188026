package serve

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math"
	"strings"
	"time"

	"github.com/parley-a2a/parley/a2aserver"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/plain"
	"github.com/parley-a2a/parley/internal/telemetry"
)

// newLogHandler returns the handler of the log: a record a line, with what its context
// knows, and on a terminal
// the lines of a console.
func newLogHandler(env *Env, level slog.Level, format string) slog.Handler {
	o := &slog.HandlerOptions{Level: level}
	if format == logJSON || format == logAuto && !env.Terminal {
		return telemetry.LogHandler(slog.NewJSONHandler(env.Stderr, o))
	}
	var h slog.Handler = slog.NewTextHandler(env.Stderr, o)
	if env.Terminal {
		h = &console{Handler: h, w: env.Stderr}
	}
	return telemetry.LogHandler(h)
}

// Values of --log-format.
const (
	logAuto = "auto"
	logText = "text"
	logJSON = "json"
)

// requests returns where the lines of calls go; nil for nowhere.
func (h *Host) requests(f *Settings) *slog.Logger {
	on := f.requests
	if _, said := f.from["log-requests"]; !said {
		on = h.env.Terminal || f.logLevel == "debug"
	}
	if !on {
		return nil
	}
	return h.log
}

// console is the log on a terminal. Calls are aligned lines, and what a command
// prints on standard error stands behind its name; all other records are those of
// the handler below.
type console struct {
	slog.Handler
	w     io.Writer
	named map[string]string // the attributes of the logger that are texts
}

func (c *console) WithAttrs(attrs []slog.Attr) slog.Handler {
	own := &console{c.Handler.WithAttrs(attrs), c.w, map[string]string{}}
	for name, value := range c.named {
		own.named[name] = value
	}
	for _, at := range attrs {
		own.named[at.Key] = at.Value.String()
	}
	return own
}

func (c *console) Handle(ctx context.Context, r slog.Record) error {
	var line string
	switch r.Message {
	case a2aserver.AuditRequest:
		line = requestLine(r)
	case agent.StandardError:
		said := attrsOf(r)
		line = c.source() + " │ " + said["line"].String()
	default:
		return c.Handler.Handle(ctx, r)
	}
	_, err := io.WriteString(c.w, strings.TrimRight(strings.ReplaceAll(plain.Text(line), "\n", " "), " ")+"\n")
	return err
}

// source is the name of the agent that the logger is for, or else of its command.
func (c *console) source() string {
	if name := c.named["agent"]; name != "" {
		return name
	}
	return c.named["command"]
}

func attrsOf(r slog.Record) map[string]slog.Value {
	all := make(map[string]slog.Value, r.NumAttrs())
	r.Attrs(func(at slog.Attr) bool {
		all[at.Key] = at.Value
		return true
	})
	return all
}

// requestLine is one call: when it ended, who called, what was called, how it ended,
// how long it took, and of which task and agent it was.
func requestLine(r slog.Record) string {
	all := attrsOf(r)
	text := func(name string) string {
		if v, ok := all[name]; ok {
			return v.String()
		}
		return "-"
	}
	line := fmt.Sprintf("%s  %-15s  %-20s  %-36s  %-17s  %6s",
		r.Time.Format(time.TimeOnly), text("caller"), text("op"), text("task"), text("result"), elapsed(all["ms"].Float64()))
	if name, ok := all["agent"]; ok {
		line += "  " + name.String()
	}
	if n, ok := all["skipped"]; ok {
		line += fmt.Sprintf("  (%s before it not shown)", plain.Count(n.Int64(), "call"))
	}
	return line
}

// elapsed is a time in two or three digits.
func elapsed(ms float64) string {
	switch {
	case ms < 0.95:
		return fmt.Sprintf("%.1fms", ms)
	case ms < 999.5:
		return fmt.Sprintf("%.0fms", ms)
	case ms < 60_000:
		return fmt.Sprintf("%.1fs", ms/1000)
	}
	return time.Duration(math.Round(ms/1000) * float64(time.Second)).String()
}

// stopped says what becomes of tasks that were at work when the server ended.
func (h *Host) stopped() {
	left := h.server.Left()
	if !h.env.Terminal {
		h.log.Info("stopped", "unfinished", left)
		return
	}
	said := "stopped"
	if left > 0 {
		goes, are := "go on", "were"
		if left == 1 {
			goes, are = "goes on", "was"
		}
		said += "; " + plain.Count(left, "task")
		switch {
		case h.location.Memory():
			said += " " + are + " in memory only and will not go on"
		case h.location.Shared():
			said += " " + goes + " on another server, or at the next start"
		default:
			said += " " + goes + " at the next start"
		}
	}
	fmt.Fprintln(h.env.Stderr, said)
}
