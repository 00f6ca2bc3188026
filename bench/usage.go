package main

import "time"

// usage is what a process has used until now. known is false where the system
// does not say, or the process is not ours.
type usage struct {
	cpu          time.Duration // user and system
	memory, peak int64         // resident, in bytes
	known        bool
}

// since is the processor time that was used since before, and memory as it is.
func (u usage) since(before usage) usage {
	u.cpu -= before.cpu
	return u
}

// and is what both have used.
func (u usage) and(o usage) usage {
	return usage{cpu: u.cpu + o.cpu, memory: u.memory + o.memory, peak: u.peak + o.peak, known: u.known && o.known}
}

// per is the processor time per thing done, in microseconds.
func (u usage) per(done int) float64 {
	if !u.known || done == 0 {
		return 0
	}
	return float64(u.cpu.Nanoseconds()) / 1000 / float64(done)
}

func megabytes(bytes int64) float64 { return float64(bytes) / (1 << 20) }
