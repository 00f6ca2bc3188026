package agent

import (
	"cmp"
	"log/slog"
	"runtime"
	"time"
)

// ExecMode says how Exec communicates with its command.
type ExecMode int

const (
	// ExecPlain: text goes in, text comes out.
	ExecPlain ExecMode = iota
	// ExecLines: both sides write JSON objects, one a line; see docs/exec.md.
	ExecLines
)

// ExecOptions adjusts Exec. A nil *ExecOptions means all defaults.
type ExecOptions struct {
	// Mode is ExecPlain or ExecLines.
	Mode ExecMode
	// Processes is how many processes, with ExecLines, are kept to serve many messages,
	// one after another. They are started when they are needed, each serves one task at
	// a time, and a process that breaks is replaced. Zero runs the command for each
	// message. No more than Processes are at work at a time, even if Concurrency is
	// higher.
	Processes int
	// Concurrency is how many commands are at work at a time; further runs wait, and
	// begin in the order in which they came. Commands that wait for an answer are
	// counted apart: at most as many may wait; beyond that the one that has waited
	// longest is ended, and run again from the top when its answer comes. Zero means
	// four for each processor.
	Concurrency int
	// Dir is the directory that commands run in. Empty means this process's. If the
	// command's path is relative, it is relative to Dir.
	Dir string
	// Env are variables in addition to this process's, as "NAME=value"; if a name
	// occurs more than once, the last one counts. Values may be secrets: none is ever
	// logged.
	Env []string
	// CleanEnv passes on only PATH, HOME, LANG and TZ of this process's variables.
	CleanEnv bool
	// Files passes files through two folders, PARLEY_IN and PARLEY_OUT. The first has
	// the files that the message carries as bytes, under names that are safe for
	// shells. Each file that the command leaves in the second becomes an artifact of
	// its name if the command succeeds: at most 100 of them, each of at most 16 MiB,
	// which count as output. Both folders are removed after the run; those of a killed
	// server are removed when the next run begins.
	Files bool
	// FilesDir is where the folders are made. Empty means os.TempDir().
	FilesDir string
	// Timeout bounds how long a command may be at work on one message; the time that it
	// waits for an answer does not count. Zero means no bound.
	Timeout time.Duration
	// Grace is how long a command may take to end after it was told to, before it
	// is killed. Zero means 5 s.
	Grace time.Duration
	// Memory caps the address space of each of the command's processes, in bytes
	// (RLIMIT_AS). Runtimes that reserve much more than they use, as those of Go,
	// Node and Java do, need gigabytes. Linux only: elsewhere runs fail. Zero means
	// no limit.
	Memory int64
	// MaxOutput caps what one run may print on standard output, files included, in
	// bytes. Zero means 64 MiB.
	MaxOutput int64
	// Logger gets what commands print on standard error: a record for each line, at
	// most 1 MiB for each run. Nil discards.
	Logger *slog.Logger
}

// keeps returns how many processes are kept for the next message.
func (o *ExecOptions) keeps() int {
	if o.Mode != ExecLines {
		return 0
	}
	return max(o.Processes, 0)
}

func (o *ExecOptions) concurrency() int {
	n, k := max(o.Concurrency, 0), o.keeps()
	if n > 0 && k > 0 {
		return min(n, k)
	}
	return cmp.Or(n, k, 4*min(runtime.NumCPU(), runtime.GOMAXPROCS(0))) // a server may have raised the latter
}

func (o *ExecOptions) timeout() time.Duration { return max(o.Timeout, 0) }

func (o *ExecOptions) grace() time.Duration { return cmp.Or(max(o.Grace, 0), 5*time.Second) }

func (o *ExecOptions) memory() int64 { return max(o.Memory, 0) }

func (o *ExecOptions) maxOutput() int64 { return cmp.Or(max(o.MaxOutput, 0), 64<<20) }

func (o *ExecOptions) logger() *slog.Logger { return cmp.Or(o.Logger, slog.New(slog.DiscardHandler)) }
