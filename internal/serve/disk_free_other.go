//go:build !linux && !darwin && !freebsd

package serve

// freeSpace does not know.
func freeSpace(string) (free int64, known bool) { return 0, false }
