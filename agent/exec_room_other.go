//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package agent

import "os"

// lockRoom: nobody can tell here whether a folder is in use, so none is ever taken
// for left behind.
func lockRoom(base string, create bool) (*os.File, error) { return nil, nil }
