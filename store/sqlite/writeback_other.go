//go:build !linux

package sqlite

import "github.com/ncruces/go-sqlite3/vfs"

// beginWriteback does nothing: only Linux can be asked.
func beginWriteback(vfs.File) {}
