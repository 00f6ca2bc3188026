package agent

import "testing"

// Limits below zero are no limits that could be kept: they are the default.
func TestExecLimitsBelowZero(t *testing.T) {
	o := &ExecOptions{MaxOutput: -1, Grace: -1, Concurrency: -1, Processes: -1, Memory: -1, Timeout: -1}
	if o.maxOutput() != 64<<20 || o.grace() <= 0 || o.concurrency() < 1 || o.keeps() != 0 || o.memory() != 0 || o.timeout() != 0 {
		t.Errorf("%d, %v, %d, %d, %d, %v", o.maxOutput(), o.grace(), o.concurrency(), o.keeps(), o.memory(), o.timeout())
	}
}
