// Package httpagent makes an agent of an HTTP service: each message is a POST to
// its URL, and what it answers, in one piece, as server-sent events or by calling
// back, is the task's.
package httpagent
