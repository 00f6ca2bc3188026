// Package queue lets so many in at a time: the runs of an agent that may be at work
// at once, handshakes, the decoding of what is large.
package queue

import "context"

// Queue is a number of places, first come, first served. It is safe for
// concurrent use.
type Queue struct{ of *Fair[struct{}] }

// New returns a queue with n places.
func New(n int) *Queue { return &Queue{NewFair[struct{}](n)} }

// Enter returns when there is a place, which Leave gives back, or with ctx's cause.
func (q *Queue) Enter(ctx context.Context) error { return q.of.Enter(ctx, struct{}{}) }

// Return takes a place at once that its caller left for a while: see Fair.Return.
func (q *Queue) Return() { q.of.Return() }

// Leave gives the place to the one that has waited longest.
func (q *Queue) Leave() { q.of.Leave() }

// Waiting is how many wait.
func (q *Queue) Waiting() int { return q.of.Waiting() }
