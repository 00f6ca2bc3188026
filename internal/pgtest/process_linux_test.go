package pgtest

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// TestMain is also the program that TestServerEndsWithItsTest kills.
func TestMain(m *testing.M) {
	if os.Getenv("PGTEST_VICTIM") == "" {
		os.Exit(m.Run())
	}
	c, err := Make(nil)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	pid, err := c.PID()
	fmt.Println(pid, c.dir, err)
	switch os.Getenv("PGTEST_VICTIM") {
	case "panic":
		panic("as a test may")
	case "exit":
		os.Exit(0)
	}
	select {} // to be killed
}

func TestServerEndsWithItsTest(t *testing.T) {
	Require(t)
	for _, how := range []string{"kill", "panic", "exit"} {
		t.Run(how, func(t *testing.T) {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), "PGTEST_VICTIM="+how)
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			line, _ := bufio.NewReader(out).ReadString('\n')
			if how == "kill" {
				cmd.Process.Kill()
			}
			_ = cmd.Wait() // it failed, as it should
			var pid int
			var dir string
			if _, err := fmt.Sscan(line, &pid, &dir); err != nil {
				t.Fatalf("it says %q: %v", line, err)
			}
			defer os.RemoveAll(dir)
			if !strings.HasPrefix(dir, os.TempDir()) {
				t.Fatalf("the folder is %s", dir)
			}
			for limit := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
				if !Lives(pid) {
					return
				}
				if time.Now().After(limit) {
					t.Fatalf("the server %d lives on", pid)
				}
			}
		})
	}
}
