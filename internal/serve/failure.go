package serve

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/parley-a2a/parley/internal/database"
	"github.com/parley-a2a/parley/internal/failure"
	"github.com/parley-a2a/parley/internal/plain"
)

// storeFailure returns the failure of a database that cannot be opened.
func storeFailure(p *database.Location, err error) error {
	f := endFailure(p, err)
	if f.Hint == "" && p.File != "" {
		f.Hint = "--data names another directory, --ephemeral keeps tasks in memory"
	}
	return f
}

// endFailure returns the failure of a server that has ended.
func endFailure(p *database.Location, err error) *failure.Error {
	f := failure.New(failure.CodeServe, err.Error(), err)
	f.Hint = p.Hint(err)
	return f
}

// commandFailure returns why a command cannot run in a directory, so that a typo shows
// at the start and not with the first message. A dir of "" is the working directory.
func commandFailure(name, dir string, ownPath bool) error {
	if dir != "" {
		if st, err := os.Stat(dir); err != nil || !st.IsDir() {
			return failure.New(failure.CodeServe, "there is no directory "+plain.Quote(dir)+" to run "+plain.Quote(name)+" in", err)
		}
	}
	at := name
	if dir != "" && strings.ContainsRune(name, filepath.Separator) && !filepath.IsAbs(name) {
		at = "." + string(filepath.Separator) + filepath.Join(dir, name)
		if filepath.IsAbs(dir) {
			at = filepath.Join(dir, name)
		}
	}
	path, err := exec.LookPath(at)
	if err == nil {
		return interpreterFailure(name, path, ownPath)
	}
	f := failure.New(failure.CodeServe, "the command "+plain.Quote(name)+" was not found", err)
	switch {
	case errors.Is(err, exec.ErrDot):
		return f.WithHint("it is in the working directory only: parley serve -- .%c%s", filepath.Separator, name)
	case errors.Is(err, fs.ErrPermission):
		f.Message = "the command " + plain.Quote(name) + " is not executable"
		return f.WithHint("chmod +x %s, or name its interpreter: parley serve -- sh %[1]s", plain.Quote(name))
	case strings.ContainsAny(name, " \t"):
		return f.WithHint("give the command and its arguments as separate words, or a shell line as: parley serve -- sh -c %s", plain.Quote(name))
	}
	st, statErr := os.Stat(at)
	switch {
	case statErr == nil && st.IsDir():
		f.Message = plain.Quote(name) + " is a directory and not a command"
		return f.WithHint("name the program in it: parley serve -- %s", plain.Quote(strings.TrimRight(name, "/")+"/agent.py"))
	case statErr == nil:
		return f.WithHint("a file in the working directory is named with ./ in front: parley serve -- ./%s", plain.Quote(name))
	case strings.ContainsRune(name, filepath.Separator):
		return f.WithHint("there is no such file: check the path")
	}
	return f.WithHint("check its name, and that its directory is in PATH")
}

// interpreterFailure returns why a script's interpreter cannot be found; nil if it can,
// if the file is no script, or if nobody can tell.
func interpreterFailure(name, path string, ownPath bool) error {
	file, err := os.Open(path)
	if err != nil {
		return nil // a program need not be readable
	}
	defer file.Close()
	line, _ := bufio.NewReader(io.LimitReader(file, 256)).ReadString('\n') // Linux reads no more
	line, script := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "#!")
	words := strings.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == '\t' })
	if !script || len(words) == 0 {
		return nil
	}
	wanted := words[0]
	if words = slices.DeleteFunc(words, func(w string) bool { return w == "-S" }); filepath.Base(wanted) == "env" && len(words) > 1 {
		wanted = words[1]
		if ownPath || strings.HasPrefix(wanted, "-") || strings.Contains(wanted, "=") {
			return nil
		}
	}
	if strings.ContainsRune(wanted, filepath.Separator) && !filepath.IsAbs(wanted) {
		return nil // looked for in the directory to run in
	}
	_, err = exec.LookPath(wanted)
	if !errors.Is(err, exec.ErrNotFound) && !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if strings.HasSuffix(wanted, "\r") {
		return failure.New(failure.CodeServe, "the first line of "+plain.Quote(name)+" ends as on Windows, so its interpreter is not found", err).
			WithHint("save the file with the line endings of Unix (LF)")
	}
	return failure.New(failure.CodeServe, "the command "+plain.Quote(name)+" needs "+plain.Quote(wanted)+", which was not found", err).
		WithHint("install it, or correct the first line of %s", plain.Quote(name))
}

// Listen listens on an address. option names the command and flag that set it, such as
// parley serve --listen.
func Listen(option, addr string) (net.Listener, error) {
	network := "tcp" // with "tcp", 0.0.0.0 also means every IPv6 address, which was not asked for
	if a, err := netip.ParseAddrPort(addr); err == nil && a.Addr().Is4() {
		network = "tcp4"
	}
	l, err := net.Listen(network, addr)
	if err != nil {
		return nil, listenFailure(option, addr, err)
	}
	return l, nil
}

func listenFailure(option, addr string, err error) error {
	flag := option[strings.LastIndexByte(option, ' ')+1:]
	if op, ok := errors.AsType[*net.OpError](err); ok {
		err = op.Err
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		err = errors.New(dns.Err) // the full error has parts of the address, which may come from a variable
	}
	f := failure.New(failure.CodeServe, fmt.Sprintf("cannot listen on %s: %v", addr, err), err)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		f.Message = addr + " is taken: another program listens there, perhaps another parley serve"
		return f.WithHint("stop that program, or choose another port: %s 127.0.0.1:0 takes a free one", option)
	case errors.Is(err, syscall.EACCES):
		return f.WithHint("ports below 1024 need privileges: choose another with %s", flag)
	}
	return f.WithHint("%s takes an address of this machine and a port, such as 127.0.0.1:7275", flag)
}
