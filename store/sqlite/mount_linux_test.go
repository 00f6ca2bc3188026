package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/parley-a2a/parley/store"
	"golang.org/x/sys/unix"
)

// mountEnv tells a copy of the test binary to work on a small file system that it mounts on
// the named directory. Only that process sees the mount.
const mountEnv = "PARLEY_TEST_MOUNT"

// The test uses a real file system that is full, then read-only. It needs the right to mount
// one; TestDiskFails covers the same without it.
func TestSmallFileSystem(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), mountEnv+"="+t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	out, err := cmd.CombinedOutput()
	if errors.Is(err, unix.EPERM) || cmd.ProcessState != nil && cmd.ProcessState.ExitCode() == mountSkip {
		t.Skipf("no right to mount: %v %s", err, out)
	}
	if err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// mountSkip is the exit code of a process that may not mount.
const mountSkip = 3

// onSmallFileSystem ends the process.
func onSmallFileSystem(dir string) {
	err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=4m")
	if err == nil {
		err = fillUp(dir)
	} else {
		fmt.Println(err)
		os.Exit(mountSkip)
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	os.Exit(0)
}

func fillUp(dir string) error {
	ctx := context.Background()
	filler := filepath.Join(dir, "filler")
	if err := os.WriteFile(filler, make([]byte, 1<<20), 0o600); err != nil {
		return err
	}
	path := filepath.Join(dir, "parley.db")
	st, err := Open(path, nil)
	if err != nil {
		return err
	}
	n := 0
	for ; err == nil; n++ {
		err = store.Do(ctx, st, task(fmt.Sprint(n), 40_000))
	}
	n-- // the last one failed
	if !errors.Is(err, store.ErrFull) || n < 10 {
		return fmt.Errorf("after %d tasks: %w, want a full disk", n, err)
	}
	all := func(st *Store) error {
		p, err := st.List(ctx, store.Query{Owner: "owner", Limit: 1})
		if err != nil || p.Total != n {
			return fmt.Errorf("%+v, %w; want the %d tasks that were acknowledged", p, err, n)
		}
		return nil
	}
	if err := errors.Join(all(st), st.Close()); err != nil {
		return fmt.Errorf("with a full disk: %w", err)
	}
	if err := os.Remove(filler); err != nil {
		return err
	}
	if st, err = Open(path, nil); err != nil {
		return err
	}
	if err := errors.Join(all(st), store.Do(ctx, st, task(fmt.Sprint(n), 40_000)), st.Close()); err != nil {
		return fmt.Errorf("with room again: %w", err)
	}

	if err := unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		return err
	}
	if _, err := Open(path, nil); !errors.Is(err, store.ErrReadOnly) {
		return fmt.Errorf("open on a read-only file system: %w", err)
	}
	return nil
}
