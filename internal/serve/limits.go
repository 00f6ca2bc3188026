package serve

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"github.com/spf13/pflag"

	"github.com/parley-a2a/parley/a2aserver"
	"github.com/parley-a2a/parley/engine"
	"github.com/parley-a2a/parley/internal/failure"
	"github.com/parley-a2a/parley/internal/flagvalue"
)

// limitFlags bound callers and their tasks. Zero means no limit, except for the
// body.
type limitFlags struct {
	rate                               float64
	burst, streams                     int
	running, runningEach, messages     int
	capacity                           int
	parts, depth, hops                 int
	connections, connectionsOfAddress  int
	body, bodies, part, task, artifact int64
	wall                               time.Duration
}

// Defaults if users of other machines may call, or if callers need credentials.
const (
	openRate        = 100
	openBurst       = 200
	openStreams     = 200
	openRunning     = 10_000
	openRunningEach = 200
)

func (f *limitFlags) register(fs *pflag.FlagSet) {
	open := func(n int) string { return fmt.Sprintf(" (default %d*)", n) }
	fs.Float64Var(&f.rate, "rate", 0, "`requests` per second of one caller, on average"+open(openRate))
	fs.IntVar(&f.burst, "burst", 0, "`requests` of one caller at once (default twice the rate)")
	fs.IntVar(&f.streams, "max-streams", 0, "open `streams` of one caller"+open(openStreams))
	fs.IntVar(&f.running, "max-running", 0, "`tasks` at work at a time"+open(openRunning))
	fs.IntVar(&f.runningEach, "max-running-per-caller", 0, "`tasks` of one caller at work at a time"+open(openRunningEach))
	fs.IntVar(&f.capacity, "capacity", 0, "`tasks` at work in this process at a time; more are accepted and wait until this process, or another one of the same store, has capacity")
	fs.Var(flagvalue.Span(&f.wall), "max-task-time", "`duration` that a task may be at work before it fails, without waits for its client")
	f.task = 64 << 20
	fs.Var(flagvalue.Size(&f.task), "max-task-size", "`size` of a task's log with its artifacts; a larger task fails")
	fs.Var(flagvalue.Size(&f.artifact), "max-artifact-size", "`size` of an artifact; the task of a larger one fails")
	fs.IntVar(&f.messages, "max-messages", 0, "`messages` from its client that a task accepts")
	f.body = 8 << 20
	fs.Var(flagvalue.Size(&f.body), "max-body", "`size` of a request's body; there is always a limit")
	f.bodies = 128 << 20
	fs.Var(flagvalue.Size(&f.bodies), "max-bodies", "`size` of all bodies over 256KiB being received, together; one caller gets a quarter. More wait, for 30 s at most")
	fs.IntVar(&f.parts, "max-parts", 1000, "`parts` of a message")
	fs.Var(flagvalue.Size(&f.part), "max-part-size", "`size` of a part's content")
	fs.IntVar(&f.depth, "max-depth", 64, "`levels` that metadata and data may be nested")
	fs.IntVar(&f.hops, "max-hops", 16, "`agents` that a message may have passed through, against agents that call each other in circles")
	fs.IntVar(&f.connections, "max-connections", 0, "`connections` at a time; a new one beyond that closes an idle one, or waits (default half of ulimit -n)")
	fs.IntVar(&f.connectionsOfAddress, "max-connections-per-address", 0, "`connections` from one address; a new one beyond that closes an idle one of its own, or is closed. A proxy counts as one address (default half of --max-connections, none for this machine's own addresses)")
}

func (f *limitFlags) check() error {
	switch {
	case f.rate < 0 || math.IsNaN(f.rate) || math.IsInf(f.rate, 0):
		return failure.Usagef("--rate must be a number of requests per second").WithHint("0 means no limit")
	case f.body == 0:
		return failure.Usagef("--max-body must be at least 1 byte").WithHint("there is always a limit; the default is 8MiB")
	case f.wall < 0:
		return failure.Usagef("--max-task-time cannot be negative").WithHint("0 means no limit")
	}
	for name, n := range map[string]int{
		"burst": f.burst, "max-streams": f.streams, "max-running": f.running, "max-running-per-caller": f.runningEach, "capacity": f.capacity,
		"max-messages": f.messages, "max-parts": f.parts, "max-depth": f.depth, "max-hops": f.hops,
		"max-connections": f.connections, "max-connections-per-address": f.connectionsOfAddress,
	} {
		if n < 0 {
			return failure.Usagef("--%s cannot be negative", name).WithHint("0 means no limit")
		}
	}
	return nil
}

// settle fills in the defaults for a server that users of other machines may call.
func (f *limitFlags) settle(fs *pflag.FlagSet) {
	fill := func(name string, set func()) {
		if !fs.Changed(name) {
			set()
		}
	}
	if !fs.Changed("rate") {
		f.rate = openRate
		fill("burst", func() { f.burst = openBurst })
	}
	fill("max-streams", func() { f.streams = openStreams })
	fill("max-running", func() { f.running = openRunning })
	fill("max-running-per-caller", func() { f.runningEach = openRunningEach })
}

// fewConnections is the number below which a server warns.
const fewConnections = 500

// fit fills in the limits on connections for a process that may open files files; 0
// means any number. Half of them are for connections, the rest for everything else: the
// database, commands with four each, 64 webhooks, agents' connections. few reports
// whether there are fewer than fewConnections.
func (f *limitFlags) fit(fs *pflag.FlagSet, files int) (few bool) {
	if !fs.Changed("max-connections") {
		f.connections = files / 2
		few = files > 0 && f.connections < fewConnections
	}
	if fs.Changed("max-connections-per-address") {
		f.connectionsOfAddress = cmp.Or(f.connectionsOfAddress, -1)
	}
	return few
}

// requests returns the limits of requests. For the server -1 means no limit in fields
// whose zero means the default.
func (f *limitFlags) requests() a2aserver.Limits {
	return a2aserver.Limits{
		Rate: f.rate, Burst: f.burst, Streams: f.streams,
		Bodies: cmp.Or(f.bodies, -1),
		Parts:  cmp.Or(f.parts, -1), PartBytes: int(f.part), Depth: cmp.Or(f.depth, -1), Hops: cmp.Or(f.hops, -1),
		Connections: f.connections, AddrConnections: f.connectionsOfAddress,
	}
}

// tasks returns the limits of tasks.
func (f *limitFlags) tasks() engine.Limits {
	return engine.Limits{
		Running: f.running, RunningPerOwner: f.runningEach, Messages: f.messages,
		TaskBytes: f.task, ArtifactBytes: f.artifact, Wall: f.wall,
	}
}
