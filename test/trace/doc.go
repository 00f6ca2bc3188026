// Package trace has a test that follows one message through processes: from the
// command to a server in front of another, to a program in Python and to a webhook,
// with a kill -9 on the way. make trace prints what a collector got.
package trace
