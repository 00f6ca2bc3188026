package main

import (
	"context"
	"io"
	"os"
	"testing"
	"testing/synctest"

	"github.com/parley-a2a/parley/internal/failure"
)

// TestImportIsInterrupted: an import that waits for the rest of standard input ends when
// it is interrupted, and leaves nothing of what it has read.
func TestImportIsInterrupted(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		in, out := io.Pipe()
		defer out.Close()
		done := make(chan int, 1)
		go func() {
			done <- run(ctx, []string{"admin", "import", "--data", dir}, in, io.Discard, io.Discard)
		}()
		if _, err := io.WriteString(out, "{"); err != nil {
			t.Fatal(err)
		}
		cancel()
		synctest.Wait()
		select {
		case code := <-done:
			if want := failure.New(failure.CodeInterrupted, "", nil).Exit(); code != want {
				t.Errorf("exit code %d, want %d", code, want)
			}
		default:
			t.Error("it goes on reading")
			out.Close()
			<-done
		}
		if left, err := os.ReadDir(dir); len(left) > 0 || err != nil {
			t.Errorf("left behind: %v, %v", left, err)
		}
	})
}
