package agent

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// startReason says why the command did not start, without directories.
func (c *command) startReason(err error) string {
	switch {
	case errors.Is(err, errNoMemory), c.opts.memory() > 0 && errors.Is(err, syscall.EPERM): // tracing is not allowed
		return fmt.Sprintf("the command %s has a limit of memory, which this system cannot keep", c.name())
	case c.noDir():
		return fmt.Sprintf("the directory in which the command %s is to run is not there", c.name())
	case errors.Is(err, exec.ErrDot):
		return fmt.Sprintf("the command %s is in the working directory only; it has to be configured as ./%s", c.name(), c.name())
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		path := c.argv[0]
		if !filepath.IsAbs(path) {
			path = filepath.Join(c.opts.Dir, path)
		}
		if _, err := os.Stat(path); err == nil { // the file exists, but not what it needs
			return fmt.Sprintf("the command %s needs an interpreter that was not found: look at its first line, and whether it ends as on Windows", c.name())
		}
		return fmt.Sprintf("the command %s was not found", c.name())
	case errors.Is(err, syscall.ENOEXEC):
		return fmt.Sprintf("the command %s is not a program; a script needs a first line such as #!/bin/sh", c.name())
	case errors.Is(err, fs.ErrPermission):
		return fmt.Sprintf("the command %s is not executable", c.name())
	}
	return fmt.Sprintf("the command %s could not be started", c.name())
}

// noDir reports whether the directory to run in is missing.
func (c *command) noDir() bool {
	if c.opts.Dir == "" {
		return false
	}
	info, err := os.Stat(c.opts.Dir)
	return err != nil || !info.IsDir()
}

// exitReason says how a command that did not succeed ended.
func exitReason(err error) string {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return "the command exited with status 0"
	case !errors.As(err, &exit):
		return "the command's end was not observed"
	case exit.ExitCode() == 127: // as shells and env have it
		return "the command exited with status 127: a program that it calls was probably not found"
	case exit.ExitCode() >= 0:
		return fmt.Sprintf("the command exited with status %d", exit.ExitCode())
	}
	return "the command was ended by a signal (" + signalName(exit.ProcessState) + ")"
}

// fault turns an error that is the command's fault into one that tells the caller.
// Other errors are returned as they are.
func (c *command) fault(err error) error {
	switch {
	case errors.Is(err, errTooMuch):
		return Public(fmt.Sprintf("the command printed more than the limit of %d bytes", c.opts.maxOutput()), nil)
	case errors.Is(err, errShut):
		return Public(fmt.Sprintf("the command closed its output and did not end within %v", c.opts.grace()), nil)
	case errors.Is(err, errSlow):
		return Public(fmt.Sprintf("the command took longer than the %v it may", c.opts.timeout()), nil)
	}
	return err
}
