// Package queue limits how many do something at a time: runs of an agent, handshakes, the
// decoding of large data.
package queue

import "context"

// Queue is a number of places, first come, first served. It is safe for
// concurrent use.
type Queue struct{ *Fair[struct{}] }

// New returns a queue with n places.
func New(n int) *Queue { return &Queue{NewFair[struct{}](n)} }

// Enter returns when there is a place, which Leave gives back, or with ctx's cause.
func (q *Queue) Enter(ctx context.Context) error { return q.Fair.Enter(ctx, struct{}{}) }
