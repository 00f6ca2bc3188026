//go:build !unix

package mcp

import "os/exec"

// There are no process groups here, and no polite signal.

func ownGroup(*exec.Cmd) {}

func (p *process) terminate() { p.kill() }
func (p *process) kill()      { p.cmd.Process.Kill() } // an error means that it has ended
