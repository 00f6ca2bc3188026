//go:build race

package conformance

// The race detector makes everything ten times slower, and needs no request
// twice to see one.
func init() { sparse = 4 }
