package engine

import "time"

// Limits bound what tasks may take. Zero fields mean their default, negative
// ones no limit.
type Limits struct {
	// Running is how many tasks may be at work at a time, and RunningPerOwner
	// how many of one owner in one tenant. A message for one more is refused with
	// RateLimited; one that waits for its client does not count. Zero means no
	// limit.
	Running, RunningPerOwner int
	// Messages is how many messages of its client a task takes. Zero means no
	// limit.
	Messages int
	// TaskBytes is how large the log of a task may grow, and ArtifactBytes the
	// content of one of its artifacts, in bytes. An agent that goes beyond fails
	// its task. Zero means no limit.
	TaskBytes, ArtifactBytes int64
	// Wall is how long a task may be at work, over all its turns, without the
	// time for which it waits for its client; then it fails. Zero means no limit.
	Wall time.Duration
}
