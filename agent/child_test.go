//go:build unix

package agent

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"
)

// Where a shell is not precise enough, tests run this binary as the command.

func TestMain(m *testing.M) {
	if mode := os.Getenv("PARLEY_TEST_CHILD"); mode != "" {
		if err := childMain(mode); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// children returns an agent whose command is the child of that mode.
func children(t *testing.T, mode string, o *ExecOptions) *command {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PARLEY_TEST_CHILD", mode)
	c := Exec([]string{exe}, o).(*command)
	c.hold, c.linger = long, long
	return c
}

// serverChild is a server that will be killed, where that is tested.
var serverChild func() error

func childMain(mode string) error {
	switch mode {
	case "leader":
		return leader()
	case "member":
		return member()
	case "silent", "chatty":
		return escape(mode)
	case "server":
		return serverChild()
	case "escaped silent", "escaped chatty":
		escaped(mode == "escaped chatty")
	}
	return nil
}

// again returns this binary as a command in another mode.
func again(mode string, files ...*os.File) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "PARLEY_TEST_CHILD="+mode)
	cmd.Stdout = os.Stdout
	cmd.ExtraFiles = files
	return cmd
}

// leader starts a member, which sees the leader's end at file descriptor 3,
// and dies of SIGTERM.
func leader() error {
	seen, own, err := os.Pipe()
	cmd := again("member", seen)
	if err := errors.Join(err, cmd.Start()); err != nil {
		return err
	}
	defer own.Close()
	return cmd.Wait()
}

// member waits for SIGTERM, then for the leader's end, and then tidies up.
func member() error {
	told := make(chan os.Signal, 1)
	signal.Notify(told, syscall.SIGTERM)
	fmt.Print("ready\ngo\n")
	<-told
	io.ReadAll(os.NewFile(3, "leader"))
	return os.WriteFile(os.Getenv("PARLEY_TEST_FILE"), nil, 0o600)
}

// escape starts itself in a session of its own and ends when that is at work.
func escape(mode string) error {
	gate, err := os.Open(os.Getenv("PARLEY_TEST_GATE"))
	started, own, err2 := os.Pipe()
	cmd := again("escaped "+mode, gate, own)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := errors.Join(err, err2, cmd.Start()); err != nil {
		return err
	}
	own.Close()
	fmt.Println("started")
	_, err = io.ReadAll(started)
	return err
}

// escaped holds standard output open until the test opens the gate, or until
// it dies of what it prints when nobody reads any more.
func escaped(chatty bool) {
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		io.ReadAll(os.NewFile(3, "gate"))
	}()
	os.NewFile(4, "started").Close()
	for chatty {
		select {
		case <-gone:
			return
		default:
			fmt.Println("still here")
		}
	}
	<-gone
}
