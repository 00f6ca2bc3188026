package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// storeFailure is about a database that cannot be opened.
func storeFailure(p *location, err error) error {
	f := newFailure(codeServe, err.Error(), err)
	f.Hint = p.hint(err)
	if f.Hint == "" && p.file != "" {
		f.Hint = "--data names another directory, --ephemeral keeps tasks in memory"
	}
	return f
}

// endFailure is about a server that has ended.
func endFailure(p *location, err error) error {
	f := newFailure(codeServe, err.Error(), err)
	f.Hint = p.hint(err)
	return f
}

// commandFailure says why a command cannot run, so that a misspelt one is known
// at the start and not with the first message. dir is where it is to run; "" is
// the working directory.
func commandFailure(name, dir string) error {
	if dir != "" {
		if st, err := os.Stat(dir); err != nil || !st.IsDir() {
			return newFailure(codeServe, "there is no directory "+quote(dir)+" to run "+quote(name)+" in", err)
		}
	}
	at := name
	if dir != "" && strings.ContainsRune(name, filepath.Separator) && !filepath.IsAbs(name) {
		at = "." + string(filepath.Separator) + filepath.Join(dir, name)
		if filepath.IsAbs(dir) {
			at = filepath.Join(dir, name)
		}
	}
	_, err := exec.LookPath(at)
	if err == nil {
		return nil
	}
	f := newFailure(codeServe, "the command "+quote(name)+" was not found", err)
	switch {
	case errors.Is(err, exec.ErrDot):
		return f.withHint("it is in the working directory only: parley serve -- .%c%s", filepath.Separator, name)
	case errors.Is(err, fs.ErrPermission):
		f.Message = "the command " + quote(name) + " is not executable"
		return f.withHint("chmod +x %s, or name its interpreter: parley serve -- sh %[1]s", quote(name))
	case strings.ContainsAny(name, " \t"):
		return f.withHint("give the command and its arguments as separate words, or a shell line as: parley serve -- sh -c %s", quote(name))
	}
	if st, statErr := os.Stat(at); statErr == nil && !st.IsDir() {
		return f.withHint("a file in the working directory is named with ./ in front: parley serve -- ./%s", quote(name))
	}
	return f.withHint("check its name, and that its directory is in PATH")
}

// listenFailure says plainly why there is no listening, and what to do.
func listenFailure(addr string, err error) error {
	var op *net.OpError
	if errors.As(err, &op) {
		err = op.Err
	}
	f := newFailure(codeServe, fmt.Sprintf("cannot listen on %s: %v", addr, err), err)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		f.Message = addr + " is taken: another program listens there, perhaps another parley serve"
		return f.withHint("stop that program, or choose another port: parley serve --listen 127.0.0.1:0 takes a free one")
	case errors.Is(err, syscall.EACCES):
		return f.withHint("ports below 1024 need privileges: choose another with --listen")
	}
	return f.withHint("--listen takes an address of this machine and a port, such as 127.0.0.1:7275")
}
