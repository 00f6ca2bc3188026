//go:build !linux

package sqlite

import "github.com/ncruces/go-sqlite3/vfs"

// beginWriteback does nothing: only Linux has such a call.
func beginWriteback(vfs.File) {}
