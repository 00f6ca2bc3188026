//go:build !unix

package main

// permissionsMatter is whether a file's mode says who can read it.
const permissionsMatter = false

// trusted reports whether a .env that was found by walking up may be read.
func trusted(string) bool { return true }
