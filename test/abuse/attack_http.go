package abuse

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"time"
)

func head(t *Target, path, length string) string {
	return "POST " + path + " HTTP/1.1\r\nHost: " + t.Addr + "\r\nContent-Type: application/json\r\nA2A-Version: 1.0\r\nX-API-Key: " + t.Key + "\r\n" + length
}

func slowHeader(ctx context.Context, t *Target) error {
	c, stop, err := t.dial(ctx, "http/1.1")
	if err != nil {
		return err
	}
	defer stop()
	if _, err := io.WriteString(c, "POST / HTTP/1.1\r\nHost: x\r\nX-Slow: "); err != nil {
		return nil
	}
	return drip(ctx, c, "a")
}

func slowBody(ctx context.Context, t *Target) error {
	c, stop, err := t.dial(ctx, "http/1.1")
	if err != nil {
		return err
	}
	defer stop()
	if _, err := io.WriteString(c, head(t, "/", "Content-Length: 1000000\r\n\r\n")); err != nil {
		return nil
	}
	return drip(ctx, c, " ")
}

// hugeBody sends at 1 MB/s, with a length and without one.
func hugeBody(ctx context.Context, t *Target) error {
	c, stop, err := t.dial(ctx, "http/1.1")
	if err != nil {
		return err
	}
	defer stop()
	length, chunk := "Content-Length: 1000000000000\r\n\r\n", strings.Repeat("a", 64<<10)
	if rand.IntN(2) == 0 {
		length, chunk = "Transfer-Encoding: chunked\r\n\r\n", fmt.Sprintf("%x\r\n%s\r\n", len(chunk), chunk)
	}
	answered := make(chan struct{})
	go func() {
		defer close(answered) // ends with the connection
		_, _ = io.Copy(io.Discard, c)
	}()
	_, err = io.WriteString(c, head(t, "/", length))
	for sent := 0; err == nil && sent < 64<<20; sent += len(chunk) {
		select {
		case <-answered:
			return nil
		case <-time.After(64 * time.Millisecond):
			_, err = io.WriteString(c, chunk)
		}
	}
	if err == nil {
		return errors.New("64 MiB were taken")
	}
	return nil
}

// send posts a body and reads the answer, which must be a refusal.
func send(ctx context.Context, t *Target, path, body string) error {
	c, stop, err := t.dial(ctx, "http/1.1")
	if err != nil {
		return err
	}
	defer stop()
	go func() {
		_, _ = io.WriteString(c, head(t, path, fmt.Sprintf("Content-Length: %d\r\n\r\n", len(body)))+body)
	}() // ends with the connection
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return nil // cut, which is an answer, too
	}
	defer res.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if res.StatusCode < 400 && !strings.Contains(string(text), `"error"`) {
		return fmt.Errorf("answered with %d", res.StatusCode)
	}
	return nil
}

var (
	deep  = `{"message":{"messageId":"x","role":"ROLE_USER","parts":[{"text":"echo"}],"metadata":{"a":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + `}}}`
	parts = `{"message":{"messageId":"x","role":"ROLE_USER","parts":[` + strings.Repeat(`{"text":"x"},`, 500_000) + `{"text":"x"}]}}`
)

func deepJSON(ctx context.Context, t *Target) error { return send(ctx, t, "/message:send", deep) }

func manyParts(ctx context.Context, t *Target) error { return send(ctx, t, "/message:send", parts) }

// wrongCredentials tries a hundred on one connection.
func wrongCredentials(ctx context.Context, t *Target) error {
	return many(ctx, t, 100, func(i int) string {
		guess := fmt.Sprintf("%016x", rand.Uint64())
		line := "X-API-Key: " + t.Key[:len(t.Key)-16] + guess
		switch i % 3 {
		case 1:
			line = "Authorization: Bearer eyJhbGciOiJub25lIn0." + guess + "."
		case 2:
			line = "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte("admin:"+guess))
		}
		return "GET /tasks HTTP/1.1\r\nHost: " + t.Addr + "\r\nA2A-Version: 1.0\r\n" + line + "\r\n\r\n"
	}, func(res *http.Response) error {
		if res.StatusCode < 400 {
			return fmt.Errorf("let in with %d", res.StatusCode)
		}
		return nil
	})
}

func cards(ctx context.Context, t *Target) error {
	paths := []string{"/.well-known/agent-card.json", "/livez", "/readyz", "/", "/.well-known/jwks.json", "/nothing/here"}
	return many(ctx, t, 100, func(i int) string {
		return "GET " + paths[i%len(paths)] + " HTTP/1.1\r\nHost: " + t.Addr + "\r\n\r\n"
	}, func(*http.Response) error { return nil })
}

// webhooks has webhooks made for a task of its own, and deleted.
func webhooks(ctx context.Context, t *Target) error {
	body := message("ask what")
	id, err := t.taskOf(ctx, head(t, "/message:send", fmt.Sprintf("Content-Length: %d\r\nConnection: close\r\n\r\n%s", len(body), body)))
	if err != nil || id == "" {
		return err
	}
	return many(ctx, t, 50, func(i int) string {
		body := `{"taskId":"` + id + `","id":"h","url":"https://hooks.example.org/x","token":"whsec_MDEyMzQ1Njc4OWFiY2RlZg=="}`
		if i%2 == 1 {
			return "DELETE /tasks/" + id + "/pushNotificationConfigs/h HTTP/1.1\r\nHost: " + t.Addr + "\r\nA2A-Version: 1.0\r\nX-API-Key: " + t.Key + "\r\n\r\n"
		}
		return head(t, "/tasks/"+id+"/pushNotificationConfigs", fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body))
	}, func(*http.Response) error { return nil })
}

// taskOf sends a request and returns the task of its answer, "" if it is refused.
func (t *Target) taskOf(ctx context.Context, request string) (string, error) {
	c, stop, err := t.dial(ctx, "http/1.1")
	if err != nil {
		return "", err
	}
	defer stop()
	if _, err := io.WriteString(c, request); err != nil {
		return "", nil
	}
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return "", nil
	}
	defer res.Body.Close()
	var answer struct{ Task struct{ ID string } }
	_ = json.NewDecoder(res.Body).Decode(&answer) // of a refusal there is none
	return answer.Task.ID, nil
}

// many sends requests on one connection, 50 ms apart.
func many(ctx context.Context, t *Target, n int, request func(i int) string, judge func(*http.Response) error) error {
	c, stop, err := t.dial(ctx, "http/1.1")
	if err != nil {
		return err
	}
	defer stop()
	r := bufio.NewReader(c)
	for i := range n {
		if _, err := io.WriteString(c, request(i)); err != nil {
			return nil
		}
		_ = c.SetReadDeadline(time.Now().Add(30 * time.Second))
		res, err := http.ReadResponse(r, nil)
		if err != nil {
			var late net.Error
			if errors.As(err, &late) && late.Timeout() {
				return errors.New("no answer within 30 s")
			}
			return nil
		}
		_, _ = io.Copy(io.Discard, res.Body)
		res.Body.Close()
		if err := judge(res); err != nil {
			return err
		}
		pause(ctx, 50*time.Millisecond)
		if res.Close || ctx.Err() != nil {
			return nil
		}
	}
	return nil
}

func halfHandshake(ctx context.Context, t *Target) error {
	c, stop, err := t.plain(ctx)
	if err != nil {
		return err
	}
	defer stop()
	// The head of a ClientHello that goes on for 512 bytes.
	if _, err := io.WriteString(c, "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"); err != nil {
		return nil
	}
	return drip(ctx, c, "\x00")
}
