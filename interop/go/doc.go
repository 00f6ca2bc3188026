// Package interop tests Parley against a2a-go, the official SDK for Go,
// unmodified and on both sides: its clients against `parley serve`, the parley
// command against its servers, in version 1.0 and, with its compatibility
// packages, in 0.3.
//
// It is a module of its own, so that nothing of this enters Parley's.
package interop
