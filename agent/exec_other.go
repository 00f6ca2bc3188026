//go:build !unix

package agent

import (
	"os"
	"os/exec"
)

// There are no process groups here, and no polite signal: terminate and kill
// both end the command's own process, at once.

func ownGroup(*exec.Cmd) {}

const openWithoutWait = 0

func readNow(*os.File, []byte) int { return 0 }

func (p *process) terminate() { p.kill() }

func (p *process) kill() { p.cmd.Process.Kill() } // an error means that it has ended

func signalName(*os.ProcessState) string { return "killed" }
