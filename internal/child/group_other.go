//go:build !unix

package child

import "os/exec"

// Without process groups and polite signals, Terminate and Kill both end the command's own
// process at once.

func ownGroup(*exec.Cmd) {}

func (p *Process) Terminate() { p.Kill() }
func (p *Process) Kill()      { p.cmd.Process.Kill() } // an error means that it has ended
