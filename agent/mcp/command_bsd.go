//go:build unix && !linux

package mcp

import "syscall"

// dieWithUs does nothing: here a command learns of our end by its input alone.
func dieWithUs(*syscall.SysProcAttr) {}
