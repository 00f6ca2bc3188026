package agent

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// kept are the variables that ExecOptions.CleanEnv leaves.
var kept = []string{"PATH", "HOME", "LANG", "TZ"}

// ours are variables that a command gets from this server or not at all: the values of
// an outer server would be wrong.
var ours = []string{
	"PARLEY_TASK_ID", "PARLEY_CONTEXT_ID", "PARLEY_ATTEMPT", "PARLEY_CALLER", "PARLEY_TENANT",
	"PARLEY_IN", "PARLEY_OUT", "PARLEY_MODE", "PARLEY_PROCESS", "TRACEPARENT", "TRACESTATE",
}

// environ returns the variables that every process of the command gets.
func (c *command) environ() []string {
	env := slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains(ours, name) || c.opts.CleanEnv && !slices.Contains(kept, name)
	})
	env = append(env, c.opts.Env...)
	if c.opts.Mode == ExecLines {
		return append(env, "PARLEY_MODE=lines")
	}
	return append(env, "PARLEY_MODE=plain")
}

// about returns the variables of a process that is run for one message. attempt counts
// the runs from the top.
func about(t *Turn, attempt int, f *folders) []string {
	task, caller := t.Task(), t.Caller()
	env := []string{
		"PARLEY_TASK_ID=" + task.ID,
		"PARLEY_CONTEXT_ID=" + task.ContextID,
		fmt.Sprintf("PARLEY_ATTEMPT=%d", attempt),
		"PARLEY_CALLER=" + caller.Subject,
		"PARLEY_TENANT=" + caller.Tenant,
	}
	if trace := caller.Trace; trace != "" {
		env = append(env, "TRACEPARENT="+trace)
		if caller.TraceState != "" { // meaningless without the other (W3C Trace Context §3.3)
			env = append(env, "TRACESTATE="+caller.TraceState)
		}
	}
	if f != nil {
		env = append(env, "PARLEY_IN="+f.in, "PARLEY_OUT="+f.out)
	}
	for i, v := range env {
		env[i] = strings.ReplaceAll(v, "\x00", "") // no variable can hold a NUL
	}
	return env
}
