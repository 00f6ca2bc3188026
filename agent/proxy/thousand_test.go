package proxy_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aclient"
	"github.com/parley-a2a/parley/a2aserver"
)

// othersEnv has the test binary be all that is not the proxy: the agent behind it,
// and those who call.
const othersEnv = "PARLEY_TEST_PROXY_OTHERS"

func TestMain(m *testing.M) {
	if n := os.Getenv(othersEnv); n != "" {
		if err := others(n); err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// A thousand streams at once go through, and this is what one of them takes in
// memory, for the connections of both sides, the task and its run.
func TestThousandStreams(t *testing.T) {
	const n, most = 1000, 256 << 10
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", othersEnv, n))
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}()
	lines := bufio.NewScanner(out)
	read := func() string {
		if !lines.Scan() {
			t.Fatal("the others are gone")
		}
		if text, bad := strings.CutPrefix(lines.Text(), "error:"); bad {
			t.Fatal(text)
		}
		return lines.Text()
	}
	front := behind(t, read(), nil, nil)
	send(t, dial(t, front, nil), say("warm up"))
	before := memory()
	fmt.Fprintln(in, front.url())
	start := time.Now()
	if got := read(); got != "all stream" {
		t.Fatal(got)
	}
	took := time.Since(start)
	each := (memory() - before) / n
	fmt.Fprintln(in, "end")
	if got := read(); got != "all ended" {
		t.Fatal(got)
	}
	t.Logf("%d streams at once, begun in %v and ended %v later: %d KiB of heap and stacks each",
		n, took.Round(time.Millisecond), (time.Since(start) - took).Round(time.Millisecond), each>>10)
	if each > most {
		t.Errorf("a stream takes %d bytes, more than %d", each, most)
	}
}

// memory returns what is in use, in bytes.
func memory() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

// others serves an agent whose streams end when all have begun, and calls the
// proxy, whose address comes on standard input.
func others(count string) error {
	var n int
	if _, err := fmt.Sscan(count, &n); err != nil {
		return err
	}
	end := make(chan struct{})
	up := &puppet{stream: func(ctx context.Context, req *a2a.SendMessageRequest, yield func(*a2a.StreamResponse, error) bool) {
		id := req.Message.MessageID
		if req.Message.Text() == "warm up" {
			yield(task(id, a2a.TaskStateCompleted), nil)
			return
		}
		for _, el := range []*a2a.StreamResponse{task(id, a2a.TaskStateWorking), chunk(id, "a", "one", false, false)} {
			if !yield(el, nil) {
				return
			}
		}
		select {
		case <-end:
		case <-ctx.Done():
			return
		}
		_ = yield(chunk(id, "a", "two", true, true), nil) && yield(status(id, a2a.TaskStateCompleted, "done"), nil)
	}}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	card := a2a.AgentCard{Name: "puppet", Version: "1", Capabilities: a2a.AgentCapabilities{Streaming: new(true)}}
	go http.Serve(l, a2aserver.New(up, &card, nil))
	fmt.Println("http://" + l.Addr().String())

	in := bufio.NewScanner(os.Stdin)
	if !in.Scan() {
		return errors.New("no address")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	c, err := a2aclient.Dial(ctx, in.Text(), nil)
	if err != nil {
		return err
	}
	begun, ended := make(chan struct{}, n), make(chan error, n)
	started := 0
	start := func() {
		if started < n {
			go func(i int) { ended <- stream(ctx, c, fmt.Sprint("s", i), begun) }(started)
			started++
		}
	}
	// Some at a time: a server closes a connection on which no request comes for 10 s,
	// and on a busy machine a thousand clients that begin together take longer.
	for range 50 {
		start()
	}
	for i := 0; i < n; {
		select {
		case <-begun:
			i++
			start()
		case err := <-ended:
			return fmt.Errorf("a stream ended early: %v", err)
		case <-ctx.Done():
			return fmt.Errorf("%d of %d streams began", i, n)
		}
	}
	fmt.Println("all stream")
	in.Scan()
	close(end)
	for range n {
		if err := <-ended; err != nil {
			return err
		}
	}
	fmt.Println("all ended")
	in.Scan()
	return nil
}

func stream(ctx context.Context, c *a2aclient.Client, text string, begun chan<- struct{}) error {
	got := new(a2a.Task)
	for el, err := range c.SendStreamingMessage(ctx, say(text)) {
		if err != nil {
			return err
		}
		if got.ApplyEvent(el); el.ArtifactUpdate != nil && !el.ArtifactUpdate.Append {
			begun <- struct{}{}
		}
	}
	if got.Status.State != a2a.TaskStateCompleted || texts(got, "a") != "onetwo" {
		return fmt.Errorf("a task is %s", got.AppendJSON(nil))
	}
	return nil
}
