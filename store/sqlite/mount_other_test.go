//go:build !linux

package sqlite

const mountEnv = ""

func onSmallFileSystem(string) {}
