package pgtest

import (
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// owner is the user that runs the server, because PostgreSQL refuses to run as root. A nil
// owner is the user that runs the test.
type owner struct{ uid, gid uint32 }

func serverUser() (*owner, error) {
	if os.Getuid() != 0 {
		return nil, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		if u, err = user.Lookup("nobody"); err != nil {
			return nil, err
		}
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return nil, err
	}
	return &owner{uint32(uid), uint32(gid)}, nil
}

func (o *owner) give(dir string) error {
	if o == nil {
		return nil
	}
	return os.Chown(dir, int(o.uid), int(o.gid))
}

func (o *owner) become(cmd *exec.Cmd) {
	// The server is not in the terminal's process group: an interrupt ends the test, which
	// then ends the server. However the test ends, the server gets a signal.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGQUIT}
	if o != nil {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: o.uid, Gid: o.gid}
	}
}

// enter moves this thread, and the processes that it starts, into a network namespace.
func enter(space string) error {
	if space == "" {
		return nil
	}
	f, err := os.Open(space)
	if err != nil {
		return err
	}
	defer f.Close()
	return os.NewSyscallError("setns", unix.Setns(int(f.Fd()), unix.CLONE_NEWNET))
}
