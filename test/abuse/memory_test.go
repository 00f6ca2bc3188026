package abuse

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// memory is what the server may take, in bytes, whatever callers do with data that
// is within its limits.
const memory = 512 << 20

// part is a text that fills most of a body of 8 MiB.
var part = strings.Repeat("0123456789abcdef", 7_900_000/16)

// load is a way to make the server hold much data. n is how often it is done at a
// time; an error is that of a caller who should have got an answer. The short form
// has four of them, a list, an answer, a message and a task at work, for all nine
// take minutes.
type load struct {
	name  string
	do    func(m *hoard, ctx context.Context, n int) error
	short bool
}

var loads = []load{
	{"lists of large tasks", (*hoard).lists, true},
	{"slow readers of one large task", (*hoard).slowReaders, true},
	{"a large task with webhooks to receivers that hang", (*hoard).hangingHooks, false},
	{"subscribers who do not read", (*hoard).deafSubscribers, false},
	{"calls over gRPC that give no window", (*hoard).closedWindows, false},
	{"messages whose answers are not read", (*hoard).deafSenders, true},
	{"large messages for tasks that are at work", (*hoard).atWork, false},
	{"large tasks that wait for their client", (*hoard).waiting, true},
	{"files, in every dialect", (*hoard).files, false},
}

// TestMemory: no use of data within the limits takes the server above its bound,
// and callers who read what they ask for get all of it. make abuse has its long
// form.
func TestMemory(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("it reads /proc")
	}
	if testing.Short() {
		t.Skip("it moves some gigabytes")
	}
	// The short form runs beside other tests, where the garbage collector comes late:
	// it may take a quarter more.
	n, most := 6, int64(memory)/4*5
	if *length > 0 {
		n, most = 30, memory
	}
	*clear = true // TLS adds nothing but time here
	w := start(t, 8)
	m := &hoard{w: w, keys: w.keys[len(Attacks):], http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 100}}}
	defer m.http.CloseIdleConnections()
	for _, l := range loads {
		if !strings.Contains(l.name, *only) || !l.short && *length == 0 && *only == "" {
			continue
		}
		t.Run(l.name, func(t *testing.T) {
			m.reset(t)
			begun := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			if err := l.do(m, ctx, n); err != nil {
				t.Error(err)
			}
			peak := m.peak(t)
			t.Logf("%d MiB at most, in %v", peak>>20, time.Since(begun).Round(time.Millisecond))
			if peak > most {
				t.Errorf("the server took %d MiB, want at most %d", peak>>20, most>>20)
			}
		})
	}
	w.end(t)
}

// hoard are the callers of the loads.
type hoard struct {
	w       *served
	keys    []string
	http    *http.Client
	refused atomic.Int64
}

// reset begins to measure anew.
func (m *hoard) reset(t *testing.T) {
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", m.w.pid), []byte("5"), 0); err != nil {
		t.Log(err) // then the peak is that of all loads so far
	}
}

// peak is the most memory that the server has had since.
func (m *hoard) peak(t *testing.T) int64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", m.w.pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return kib << 10
		}
	}
	t.Fatal("there is no VmHWM")
	return 0
}

// all does f n times at a time.
func all(n int, f func(i int) error) error {
	var mu sync.Mutex
	var errs []error
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			if err := f(i); err != nil {
				mu.Lock()
				defer mu.Unlock()
				if len(errs) < 5 {
					errs = append(errs, err)
				}
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

func (m *hoard) key(i int) string { return m.keys[i%len(m.keys)] }

// call makes a call over HTTP+JSON, again where the server asks for patience.
func (m *hoard) call(ctx context.Context, key, method, path, version string, body []byte) ([]byte, error) {
	for {
		req, err := http.NewRequestWithContext(ctx, method, m.w.url+path, bytes.NewReader(body))
		if err != nil {
			return nil, err
		}
		req.Header.Set("X-API-Key", key)
		req.Header.Set("A2A-Version", version)
		if body != nil {
			req.Header.Set("Content-Type", "application/json")
		}
		res, err := m.http.Do(req)
		if err != nil {
			return nil, err
		}
		b, err := io.ReadAll(res.Body)
		res.Body.Close()
		switch {
		case err != nil:
			return nil, err
		case res.StatusCode == http.StatusOK:
			return b, nil
		case res.StatusCode == http.StatusServiceUnavailable && res.Header.Get("Retry-After") != "":
			m.refused.Add(1)
			pause(ctx, 200*time.Millisecond)
		default:
			return nil, fmt.Errorf("%s %s: %d %.300s", method, path, res.StatusCode, b)
		}
	}
}

func textMessage(text string, more string) []byte {
	return fmt.Appendf(nil, `{"message":{"messageId":"m-%x","role":"ROLE_USER","parts":[{"text":"%s"}]%s}}`, rand.Uint64(), text, more)
}

// send sends a message and returns the task's id.
func (m *hoard) send(ctx context.Context, key string, body []byte) (string, error) {
	b, err := m.call(ctx, key, "POST", "/message:send", "1.0", body)
	if err != nil {
		return "", err
	}
	id := between(b, `{"task":{"id":"`, `"`)
	if id == "" {
		return "", fmt.Errorf("no task: %.200s", b)
	}
	return id, nil
}

// between returns what stands between two marks in an answer, or nothing. To decode
// some hundred megabytes under the race detector would take most of the test's time.
func between(b []byte, begin, end string) string {
	_, rest, _ := bytes.Cut(b, []byte(begin))
	text, _, _ := bytes.Cut(rest, []byte(end))
	return string(text)
}

// echo makes n finished tasks of a caller, each of twice the size of part.
func (m *hoard) echo(ctx context.Context, key string, n int) error {
	for range n {
		if _, err := m.send(ctx, key, textMessage("echo "+part, "")); err != nil {
			return err
		}
	}
	return nil
}

// lists reads all tasks of a caller, four times at once, page by page.
func (m *hoard) lists(ctx context.Context, n int) error {
	if err := m.echo(ctx, m.key(0), n); err != nil {
		return err
	}
	whole := fmt.Appendf(nil, `"parts":[{"text":"%s"}]`, part) // of an artifact; the message says more
	return all(4, func(i int) error {
		seen, token := 0, ""
		for {
			b, err := m.call(ctx, m.key(0), "GET", "/tasks?pageSize=30&includeArtifacts=true&pageToken="+token, "1.0", nil)
			if err != nil {
				return err
			}
			tasks := bytes.Count(b, []byte(`"artifacts":[{`))
			if bytes.Count(b, whole) != tasks {
				return errors.New("a task of a list is not whole")
			}
			seen += tasks
			if token = between(b, `"nextPageToken":"`, `"`); token == "" {
				break
			}
		}
		if seen != n {
			return fmt.Errorf("%d tasks in all pages, want %d", seen, n)
		}
		return nil
	})
}

// deaf makes a request over a connection of its own, and reads next to nothing of
// the answer for a while.
func (m *hoard) deaf(ctx context.Context, key, method, path, version string, body []byte) error {
	d := net.Dialer{Timeout: 10 * time.Second}
	c, err := d.DialContext(ctx, "tcp", m.w.addr)
	if err != nil {
		return err
	}
	defer c.Close()
	_ = c.(*net.TCPConn).SetReadBuffer(4 << 10)
	head := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: %s\r\nX-API-Key: %s\r\nA2A-Version: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", method, path, m.w.addr, key, version, len(body))
	if _, err := io.WriteString(c, head); err != nil {
		return err
	}
	if _, err := c.Write(body); err != nil {
		return nil // refused before it was read
	}
	buf := make([]byte, 512)
	for range 6 {
		_ = c.SetReadDeadline(time.Now().Add(500 * time.Millisecond))
		if _, err := c.Read(buf); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			return nil // given up
		}
		pause(ctx, 500*time.Millisecond)
	}
	return nil
}

// slowReaders: many want one task and do not read it.
func (m *hoard) slowReaders(ctx context.Context, n int) error {
	ids := make([]string, len(m.keys))
	for i := range ids {
		var err error
		if ids[i], err = m.send(ctx, m.key(i), textMessage("echo "+part, "")); err != nil {
			return err
		}
	}
	return all(4*n, func(i int) error { return m.deaf(ctx, m.key(i), "GET", "/tasks/"+ids[i%len(ids)], "1.0", nil) })
}

// hangingHooks: one task has many webhooks, whose receivers take connections and
// say nothing.
func (m *hoard) hangingHooks(ctx context.Context, n int) error {
	quit := make(chan struct{})
	var met atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		met.Add(1)
		select {
		case <-quit:
		case <-r.Context().Done():
		}
	}))
	defer s.Close()
	defer close(quit)
	for i := range 4 {
		id, err := m.send(ctx, m.key(i), textMessage("ask "+part, ""))
		if err != nil {
			return err
		}
		for j := range 16 {
			version, path := "1.0", "/tasks/"+id+"/pushNotificationConfigs"
			body := fmt.Appendf(nil, `{"taskId":%q,"id":"hook-%d","url":%q}`, id, j, s.URL)
			if j%2 == 1 {
				version, path = "0.3", "/v1/tasks/"+id+"/pushNotificationConfigs"
				body = fmt.Appendf(nil, `{"parent":"tasks/%s","configId":"hook-%d","config":{"name":"tasks/%s/pushNotificationConfigs/hook-%d","pushNotificationConfig":{"id":"hook-%d","url":%q}}}`, id, j, id, j, j, s.URL)
			}
			if _, err := m.call(ctx, m.key(i), "POST", path, version, body); err != nil {
				return err
			}
		}
		if _, err := m.send(ctx, m.key(i), textMessage(part, `,"taskId":"`+id+`"`)); err != nil {
			return err
		}
	}
	for range 80 {
		if met.Load() >= 8 {
			break
		}
		pause(ctx, 100*time.Millisecond)
	}
	pause(ctx, 2*time.Second)
	if met.Load() == 0 {
		return errors.New("no webhook was sent")
	}
	return nil
}

// deafSubscribers subscribe to tasks that wait, and read nothing.
func (m *hoard) deafSubscribers(ctx context.Context, n int) error {
	ids := make([]string, len(m.keys))
	for i := range ids {
		var err error
		if ids[i], err = m.send(ctx, m.key(i), textMessage("ask "+part, "")); err != nil {
			return err
		}
	}
	return all(4*n, func(i int) error {
		return m.deaf(ctx, m.key(i), "POST", "/tasks/"+ids[i%len(ids)]+":subscribe", "1.0", []byte("{}"))
	})
}

// closedWindows ask over gRPC and give no window for the answer.
func (m *hoard) closedWindows(ctx context.Context, n int) error {
	ids := make([]string, len(m.keys))
	for i := range ids {
		var err error
		if ids[i], err = m.send(ctx, m.key(i), textMessage("echo "+part, "")); err != nil {
			return err
		}
	}
	return all(2*n, func(i int) error {
		t := &Target{Addr: m.w.addr, Key: m.key(i)}
		h, stop, err := t.h2(ctx)
		if err != nil {
			return err
		}
		defer stop()
		for range 4 {
			id, err := h.begin(call(t, "GetTask")...)
			if err != nil {
				return nil
			}
			name := ids[i%len(ids)]
			msg := append([]byte{0x12, byte(len(name))}, name...)
			body := append([]byte{0, 0, 0, 0, byte(len(msg))}, msg...)
			if h.write(func() error { return h.framer.WriteData(id, true, body) }) != nil {
				return nil
			}
		}
		pause(ctx, 4*time.Second)
		return nil
	})
}

// deafSenders send large messages whose answers they do not read.
func (m *hoard) deafSenders(ctx context.Context, n int) error {
	return all(2*n, func(i int) error {
		return m.deaf(ctx, m.key(i), "POST", "/message:"+[]string{"send", "stream"}[i%2], "1.0", textMessage("echo "+part, ""))
	})
}

// atWork: large messages for tasks that stay at work, as many as begin within a while.
func (m *hoard) atWork(ctx context.Context, n int) error {
	ctx, cancel := context.WithTimeout(ctx, 45*time.Second)
	defer cancel()
	var begun atomic.Int64
	err := all(4, func(i int) error {
		for range n {
			more := fmt.Sprintf(`,"metadata":{"x":%q}},"configuration":{"returnImmediately":true`, part)
			if _, err := m.send(ctx, m.key(i), textMessage("sleep 20", more)); err != nil {
				if ctx.Err() != nil || strings.Contains(err.Error(), "429") {
					return nil // full, and said so
				}
				return err
			}
			begun.Add(1)
		}
		return nil
	})
	if begun.Load() == 0 {
		return errors.Join(err, errors.New("no task was begun"))
	}
	return err
}

// waiting: large tasks that wait for their client, and are read.
func (m *hoard) waiting(ctx context.Context, n int) error {
	return all(4, func(i int) error {
		for range n {
			id, err := m.send(ctx, m.key(i), textMessage("ask "+part, ""))
			if err != nil {
				return err
			}
			if _, err := m.call(ctx, m.key(i), "GET", "/tasks/"+id, "1.0", nil); err != nil {
				return err
			}
		}
		return nil
	})
}

// files are sent and read in every dialect.
func (m *hoard) files(ctx context.Context, n int) error {
	raw := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("raw "), 5_800_000/4))
	return all(4, func(i int) error {
		for range n {
			body := fmt.Appendf(nil, `{"message":{"messageId":"m-%x","role":"ROLE_USER","parts":[{"text":"echo x"},{"raw":%q,"mediaType":"application/octet-stream"}]}}`, rand.Uint64(), raw)
			id, err := m.send(ctx, m.key(i), body)
			if err != nil {
				return err
			}
			for _, at := range [][2]string{{"1.0", "/tasks/" + id}, {"0.3", "/v1/tasks/" + id}} {
				b, err := m.call(ctx, m.key(i), "GET", at[1], at[0], nil)
				if err == nil && !bytes.Contains(b, []byte(raw[:100_000])) {
					err = fmt.Errorf("the file is not in the task: %.200s", b)
				}
				if err != nil {
					return err
				}
			}
			rpc := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"id":%q}}`, id)
			if _, err := m.call(ctx, m.key(i), "POST", "/", "0.3", rpc); err != nil {
				return err
			}
		}
		return nil
	})
}
