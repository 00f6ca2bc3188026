//go:build unix

package interrupt

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// programEnv has the test binary be a program that does not end when it is told to.
const programEnv = "PARLEY_TEST_INTERRUPT"

func TestMain(m *testing.M) {
	if os.Getenv(programEnv) == "" {
		os.Exit(m.Run())
	}
	ctx, _ := Context()
	fmt.Println("running")
	<-ctx.Done()
	fmt.Println("told")
	select {}
}

// TestSecondSignal: the second signal ends the program, whatever the program was
// started from.
func TestSecondSignal(t *testing.T) {
	for name, c := range map[string]struct {
		before string
		signal syscall.Signal
	}{
		"interrupt":          {"", syscall.SIGINT},
		"interrupt, ignored": {`trap "" INT; `, syscall.SIGINT},
		"terminated":         {"", syscall.SIGTERM},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), "sh", "-c", c.before+`exec "$0"`, os.Args[0])
			cmd.Env = append(os.Environ(), programEnv+"=1", "GORACE=atexit_sleep_ms=0")
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewScanner(out)
			for _, want := range []string{"running", "told"} {
				if !lines.Scan() || lines.Text() != want {
					t.Fatalf("got %q, want %q: %v", lines.Text(), want, lines.Err())
				}
				if err := cmd.Process.Signal(c.signal); err != nil {
					t.Fatal(err)
				}
			}
			_ = cmd.Wait()
			// By the signal, or with the code that a shell has for it: these tests may
			// have been started with it ignored themselves.
			state := cmd.ProcessState.Sys().(syscall.WaitStatus)
			if state.Signal() != c.signal && state.ExitStatus() != 128+int(c.signal) {
				t.Errorf("it ended with %v", cmd.ProcessState)
			}
		})
	}
}
