// Package porttest has what tests of connections need: a listener of pipes, for fake
// time, and an authority for certificates.
package porttest
