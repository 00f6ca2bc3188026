package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// A stranger holds three times as many idle connections as the server may have files
// open. Callers from elsewhere get in, and what they have run does not fail, though
// all of it together needs more files than there are.
func TestStrangersDoNotTakeTheFilesOfTasks(t *testing.T) {
	if testing.Short() {
		t.Skip("a server of its own")
	}
	const files, idle, tasks = 100, 300, 30
	p := newTools(t).serve(t, fmt.Sprintf("ulimit -n %d", files), "--", "cat")
	p.await(&p.err, fmt.Sprintf(`the process may open few files.* files=%d connections=%d`, files, files/2))

	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	send := func(text string) error {
		c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		body := fmt.Sprintf(`{"message":{"messageId":%q,"role":"ROLE_USER","parts":[{"text":"hello"}]}}`, text)
		req, err := http.NewRequestWithContext(ctx, "POST", "http://"+p.addr+"/message:send", strings.NewReader(body))
		if err != nil {
			return err
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("A2A-Version", "1.0")
		res, err := c.Do(req)
		if err != nil {
			return err
		}
		defer res.Body.Close()
		doc, err := io.ReadAll(res.Body)
		if err != nil || !strings.Contains(string(doc), "TASK_STATE_COMPLETED") {
			return errors.Join(err, errors.New(string(doc)))
		}
		return nil
	}
	if err := send("quiet"); err != nil {
		t.Fatal(err)
	}

	stranger := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
	var held []net.Conn
	defer func() {
		for _, c := range held {
			c.Close()
		}
	}()
	for range idle {
		c, err := stranger.DialContext(ctx, "tcp", p.addr)
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, c)
		_, _ = io.WriteString(c, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00") // one that was closed may refuse it
	}
	var all sync.WaitGroup
	for i := range tasks {
		all.Go(func() {
			if err := send(fmt.Sprintf("beside %d", i)); err != nil {
				t.Errorf("task %d: %v", i, err)
			}
		})
	}
	all.Wait()
	if log := p.err.String(); strings.Contains(log, "level=ERROR") {
		t.Errorf("the server had trouble:\n%s", log)
	}
}
