//go:build !windows

package terminal

// enableColors reports whether the terminal knows control sequences, and has it
// heed them.
func enableColors(int) bool { return true }
