package agent

import "log/slog"

// Log returns a logger whose records name the task, its context, the attempt, the
// caller and, if the run is traced, the trace.
func (t *Turn) Log(l *slog.Logger) *slog.Logger {
	task, caller := t.Task(), t.Caller()
	about := append(make([]any, 0, 10), "task", task.ID, "context", task.ContextID, "attempt", t.Attempt())
	if caller.Subject != "" {
		about = append(about, "caller", caller.Subject)
	}
	if id := traceID(caller.Trace); id != "" {
		about = append(about, "trace_id", id)
	}
	return l.With(about...)
}

// traceID returns the trace id of a traceparent; "" if there is none.
func traceID(traceparent string) string {
	const begin, end = len("00-"), len("00-") + 32
	if len(traceparent) <= end || traceparent[end] != '-' {
		return ""
	}
	return traceparent[begin:end]
}
