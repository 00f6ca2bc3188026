package serve

import (
	"context"
	"log/slog"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"time"
)

// baseMemory is a server's memory that its limits do not count, in bytes: the program,
// some hundred connections, small tasks, and garbage.
const baseMemory = 80 << 20

// memoryFor returns how much memory a server should use if large data may use bodies
// and finished tasks cache bytes; 0 if there is no limit.
func memoryFor(bodies, cache int64) int64 {
	if bodies <= 0 {
		return 0
	}
	work := bodies / 4 * 3 // see engine.Options.Work
	return baseMemory + bodies + work + max(cache, 0)
}

// steadyFor is how many seconds memory must be in use before the limit is raised for
// it. Large data comes and goes, and must not raise it.
const steadyFor = 10

// memoryLimit returns the limit for the garbage collector. Without one, garbage may
// take as much memory as live data. A server with more live data than its limits count,
// such as many thousand connections, would collect garbage all the time, so its limit
// grows by four bytes for each live byte above seven eighths of aim.
func memoryLimit(aim, inUse int64) int64 { return aim + 4*max(inUse-aim/8*7, 0) }

// garbage is how much garbage there may be below the limit, in percent of the memory in
// use. During a collection, goroutines that allocate must help, and a short call waits
// behind large ones that do: a server under attack collected once a second, for 20 to
// 60 ms.
const garbage = 300

// keepMemory sets the memory limit of the process until ctx ends, unless its
// environment sets one, and lets garbage grow below it.
func keepMemory(ctx context.Context, aim int64, log *slog.Logger) {
	if aim == 0 || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	log.Debug("the garbage collector aims at a limit", "bytes", aim)
	before := debug.SetMemoryLimit(aim)
	defer debug.SetMemoryLimit(before)
	if os.Getenv("GOGC") == "" {
		defer debug.SetGCPercent(debug.SetGCPercent(garbage))
	}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	used := []metrics.Sample{
		{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}, {Name: "/memory/classes/metadata/mspan/inuse:bytes"},
	}
	var recent [steadyFor]int64 // memory in use in each of the last seconds
	set := aim
	for second := 0; ; second++ {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		metrics.Read(used)
		inUse := int64(0)
		for _, s := range used {
			inUse += int64(s.Value.Uint64())
		}
		recent[second%steadyFor] = inUse
		if limit := memoryLimit(aim, slices.Min(recent[:])); limit != set {
			set = limit
			debug.SetMemoryLimit(limit)
		}
	}
}
