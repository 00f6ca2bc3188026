package serve

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/parley-a2a/parley/a2aserver"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/plain"
	"github.com/parley-a2a/parley/internal/telemetry"
)

// newLogHandler returns the handler of the log: one line per record, with the
// attributes of its context; on a terminal, lines for people.
func newLogHandler(env *Env, level slog.Level, format string) slog.Handler {
	o := &slog.HandlerOptions{Level: level}
	switch {
	case format == logText:
		return telemetry.LogHandler(slog.NewTextHandler(env.Stderr, o))
	case format == logAuto && env.Terminal:
		return telemetry.LogHandler(&console{level: level, w: env.Stderr})
	}
	o.ReplaceAttr = func(_ []string, at slog.Attr) slog.Attr {
		if at.Value.Kind() == slog.KindDuration { // otherwise a number of nanoseconds
			at.Value = slog.StringValue(at.Value.Duration().String())
		}
		return at
	}
	return telemetry.LogHandler(slog.NewJSONHandler(env.Stderr, o))
}

// Values of --log-format.
const (
	logAuto = "auto"
	logText = "text"
	logJSON = "json"
)

// requests returns the logger for the lines of calls; nil for none.
func (h *Host) requests(f *Settings) *slog.Logger {
	on := f.requests
	if !f.set.Changed("log-requests") {
		on = h.env.Terminal || f.logLevel == "debug"
	}
	if !on {
		return nil
	}
	return h.log
}

// console is the log on a terminal. Calls are aligned lines. A command's standard error
// follows the command's name. Other records are a time, a level unless it is info, the
// message and its attributes, with a hint on a line of its own.
type console struct {
	level slog.Level
	w     io.Writer
	attrs []slog.Attr // of the logger, with their groups as prefix
	group string
}

func (c *console) Enabled(_ context.Context, level slog.Level) bool { return level >= c.level }

func (c *console) WithGroup(name string) slog.Handler {
	return &console{c.level, c.w, c.attrs, c.group + name + "."}
}

func (c *console) WithAttrs(attrs []slog.Attr) slog.Handler {
	own := slices.Clone(c.attrs)
	for _, at := range attrs {
		own = append(own, slog.Attr{Key: c.group + at.Key, Value: at.Value})
	}
	return &console{c.level, c.w, own, c.group}
}

func (c *console) Handle(_ context.Context, r slog.Record) error {
	var lines []string
	switch r.Message {
	case a2aserver.AuditRequest:
		lines = []string{requestLine(r)}
	case agent.StandardError:
		said := attrsOf(r)
		lines = []string{c.source() + " │ " + said["line"].String()}
	default:
		lines = c.lines(r)
	}
	var out strings.Builder
	for _, line := range lines {
		out.WriteString(strings.TrimRight(strings.ReplaceAll(plain.Text(line), "\n", " "), " ") + "\n")
	}
	_, err := io.WriteString(c.w, out.String())
	return err
}

// source is the name of the logger's agent, or else of its command.
func (c *console) source() (name string) {
	for _, at := range c.attrs {
		if at.Key == "agent" || at.Key == "command" && name == "" {
			name = at.Value.String()
		}
	}
	return name
}

// lines formats a record, with its hint below it.
func (c *console) lines(r slog.Record) []string {
	line, hint := r.Time.Format(time.TimeOnly)+"  ", ""
	switch {
	case r.Level >= slog.LevelError:
		line += "error: "
	case r.Level >= slog.LevelWarn:
		line += "warning: "
	case r.Level < slog.LevelInfo:
		line += "debug: "
	}
	line += r.Message
	add := func(at slog.Attr) {
		v := at.Value.Resolve()
		text := v.String()
		switch {
		case v.Kind() == slog.KindAny && v.Any() == nil || text == "", at.Key == "context", at.Key == "node", at.Key == "attempt" && text == "1": // the task's id is enough
			return
		case at.Key == "hint":
			hint = text
			return
		case v.Kind() == slog.KindDuration:
			text = elapsed(v.Duration().Seconds() * 1000)
		case strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r == '"' || r == '=' }):
			text = strconv.Quote(text)
		}
		line += "  " + at.Key + "=" + text
	}
	r.Attrs(func(at slog.Attr) bool {
		add(slog.Attr{Key: c.group + at.Key, Value: at.Value})
		return true
	})
	for _, at := range c.attrs {
		add(at)
	}
	if hint == "" {
		return []string{line}
	}
	return []string{line, "          " + hint}
}

func attrsOf(r slog.Record) map[string]slog.Value {
	all := make(map[string]slog.Value, r.NumAttrs())
	r.Attrs(func(at slog.Attr) bool {
		all[at.Key] = at.Value
		return true
	})
	return all
}

// requestLine formats one call: when it ended, who called, what was called, how it
// ended, how long it took, and its task and agent.
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

// elapsed formats a time with two or three digits.
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

// stopping logs that the server drains, and how long that may take. On a terminal it
// waits a second first, because most drains are quicker.
func (h *Host) stopping(drain time.Duration, served <-chan struct{}) {
	if h.env.Terminal {
		select {
		case <-served:
			return
		case <-time.After(time.Second):
		}
	}
	h.log.Info("stopping: no more messages are accepted, and agents are told to stop", "drain_timeout", max(0, drain).String())
}

// stopped logs what happens to tasks that were at work when the server ended.
func (h *Host) stopped() {
	left := h.server.Left()
	if !h.env.Terminal {
		h.log.Info("stopped", "unfinished", left, "lost", h.admin.engine.AtWork())
		return
	}
	said := "stopped"
	if left > 0 {
		resume, were := "resume", "were"
		if left == 1 {
			resume, were = "resumes", "was"
		}
		said += "; " + plain.Count(left, "unfinished task")
		switch {
		case h.location.Memory():
			said += " " + were + " in memory only and cannot resume"
		case h.location.Shared():
			said += " " + resume + " on another server, or at the next start"
		default:
			said += " " + resume + " at the next start"
		}
	}
	fmt.Fprintln(h.env.Stderr, said)
}
