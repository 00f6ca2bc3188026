package main

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/parley-a2a/parley/a2aserver"
	"github.com/parley-a2a/parley/engine"
)

// limitFlags bound what callers and their tasks may take. Zero means no limit
// with each of them, but for the body.
type limitFlags struct {
	rate                               float64
	burst, streams                     int
	running, runningEach, messages     int
	capacity                           int
	parts, depth, hops                 int
	connections, connectionsOfAddress  int
	body, bodies, part, task, artifact size
	wall                               time.Duration
}

// Defaults where others than this machine's own users may call, or callers are
// authenticated.
const (
	openRate        = 100
	openBurst       = 200
	openStreams     = 200
	openRunning     = 10_000
	openRunningEach = 200
)

func (f *limitFlags) register(fs *pflag.FlagSet) {
	open := func(n int) string { return fmt.Sprintf(" (default %d*)", n) }
	fs.Float64Var(&f.rate, "rate", 0, "`requests` that a caller may make per second, over a long time"+open(openRate))
	fs.IntVar(&f.burst, "burst", 0, "`requests` that it may make at once (default twice the rate)")
	fs.IntVar(&f.streams, "max-streams", 0, "`streams` that a caller may have open"+open(openStreams))
	fs.IntVar(&f.running, "max-running", 0, "`tasks` that may be at work at a time"+open(openRunning))
	fs.IntVar(&f.runningEach, "max-running-per-caller", 0, "`tasks` of one caller among them"+open(openRunningEach))
	fs.IntVar(&f.capacity, "capacity", 0, "`tasks` that may be at work in this process at a time; more are taken and wait until it, or another one of the same store, has room")
	fs.DurationVar(&f.wall, "max-task-time", 0, "how `long` a task may be at work, without the time it waits for its client; then it fails")
	fs.Var(&f.task, "max-task-size", "`size` of a task's log, artifacts included, such as 64MiB; beyond it fails")
	fs.Var(&f.artifact, "max-artifact-size", "`size` of an artifact; beyond its task fails")
	fs.IntVar(&f.messages, "max-messages", 0, "`messages` of its client that a task takes")
	f.body = 8 << 20
	fs.Var(&f.body, "max-body", "`size` of a request's body; there is always a limit")
	f.bodies = 128 << 20
	fs.Var(&f.bodies, "max-bodies", "`size` of all bodies over 256KiB together that are being received, a quarter of it for a caller; more have to wait, for 30 s at most")
	fs.IntVar(&f.parts, "max-parts", 1000, "`parts` of a message")
	fs.Var(&f.part, "max-part-size", "`size` of a part's content")
	fs.IntVar(&f.depth, "max-depth", 64, "`levels` that metadata and data may be nested")
	fs.IntVar(&f.hops, "max-hops", 16, "`agents` that a message may have come through, against agents that call each other in circles")
	fs.IntVar(&f.connections, "max-connections", 0, "`connections` at a time; more have to wait")
	fs.IntVar(&f.connectionsOfAddress, "max-connections-per-address", 0, "`connections` from one address among them; more are closed. Mind proxies, which are one")
}

func (f *limitFlags) check() error {
	switch {
	case f.rate < 0 || math.IsNaN(f.rate) || math.IsInf(f.rate, 0):
		return usagef("--rate must be a number of requests per second").withHint("0 means no limit")
	case f.body == 0:
		return usagef("--max-body must be at least 1 byte").withHint("there is always a limit; the default is 8MiB")
	case f.wall < 0:
		return usagef("--max-task-time cannot be negative").withHint("0 means no limit")
	}
	for name, n := range map[string]int{
		"burst": f.burst, "max-streams": f.streams, "max-running": f.running, "max-running-per-caller": f.runningEach, "capacity": f.capacity,
		"max-messages": f.messages, "max-parts": f.parts, "max-depth": f.depth, "max-hops": f.hops,
		"max-connections": f.connections, "max-connections-per-address": f.connectionsOfAddress,
	} {
		if n < 0 {
			return usagef("--%s cannot be negative", name).withHint("0 means no limit")
		}
	}
	return nil
}

// settle fills in the limits that are on by themselves where a server is not
// for the users of its machine alone.
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

// requests are the limits of what comes in.
func (f *limitFlags) requests() a2aserver.Limits {
	return a2aserver.Limits{
		Rate: f.rate, Burst: f.burst, Streams: f.streams,
		Bodies: int64(unlimited(int(f.bodies))),
		Parts:  unlimited(f.parts), PartBytes: int(f.part), Depth: unlimited(f.depth), Hops: unlimited(f.hops),
		Connections: f.connections, AddrConnections: f.connectionsOfAddress,
	}
}

// tasks are the limits of what becomes of it.
func (f *limitFlags) tasks() engine.Limits {
	return engine.Limits{
		Running: f.running, RunningPerOwner: f.runningEach, Messages: f.messages,
		TaskBytes: int64(f.task), ArtifactBytes: int64(f.artifact), Wall: f.wall,
	}
}

// unlimited makes of zero what means no limit in Go, where zero is the default.
func unlimited(n int) int {
	if n == 0 {
		return -1
	}
	return n
}

// size is a number of bytes, with a unit or without.
type size int64

var sizeUnits = []struct {
	name  string
	bytes int64
}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}}

func (s *size) String() string {
	for _, u := range sizeUnits {
		if *s > 0 && int64(*s)%u.bytes == 0 {
			return strconv.FormatInt(int64(*s)/u.bytes, 10) + u.name
		}
	}
	return strconv.FormatInt(int64(*s), 10)
}
func (s *size) Type() string { return "size" }
func (s *size) Set(text string) error {
	number, unit := text, int64(1)
	for _, u := range sizeUnits {
		if len(text) > len(u.name) && strings.EqualFold(text[len(text)-len(u.name):], u.name) {
			number, unit = text[:len(text)-len(u.name)], u.bytes
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt/unit {
		return errors.New("must be a number of bytes such as 65536, 64KiB, 8MiB or 1GiB")
	}
	*s = size(n * unit)
	return nil
}
