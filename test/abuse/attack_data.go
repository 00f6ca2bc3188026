package abuse

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"
)

// large is a text of which a task has two copies: the message and the artifact.
var large = "echo " + strings.Repeat("large ", 500_000)

// unreadTask makes a task of 6 MB, asks for it, and reads nothing.
func unreadTask(ctx context.Context, t *Target) error {
	body := message(large)
	id, err := t.taskOf(ctx, head(t, "/message:send", fmt.Sprintf("Content-Length: %d\r\nConnection: close\r\n\r\n%s", len(body), body)))
	if err != nil || id == "" {
		return err // refused: there is no memory for it
	}
	c, stop, err := t.dial(ctx, "http/1.1")
	if err != nil {
		return err
	}
	defer stop()
	ask := "GET /tasks/" + id + " HTTP/1.1\r\nHost: " + t.Addr + "\r\nA2A-Version: 1.0\r\nX-API-Key: " + t.Key + "\r\n\r\n"
	return flood(c, "", ask)
}

// hangingHooks has the events of tasks posted to twenty hosts that take connections
// and say nothing.
func hangingHooks(ctx context.Context, t *Target) error {
	const hosts = 20
	var accepting sync.WaitGroup
	defer accepting.Wait()
	for i := range hosts {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.%d:0", 10+i))
		if err != nil {
			return fmt.Errorf("%w: %w", errUnheard, err)
		}
		defer l.Close()
		accepting.Go(func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				defer c.Close() // with the attempt, not before
			}
		})
		body := fmt.Sprintf(`{"configuration":{"taskPushNotificationConfig":{"url":"http://%s/"}},%s`, l.Addr(), message("echo hook")[1:])
		request := head(t, "/message:send", fmt.Sprintf("Content-Length: %d\r\nConnection: close\r\n\r\n%s", len(body), body))
		if id, err := t.taskOf(ctx, request); err != nil {
			return err
		} else if id == "" && ctx.Err() == nil && i == 0 {
			return errors.New("a message with a webhook was refused")
		}
	}
	pause(ctx, 12*time.Second) // an attempt has ten
	return nil
}

// idleHTTP2 begins a connection of HTTP/2 and says nothing more.
func idleHTTP2(ctx context.Context, t *Target) error {
	h, stop, err := t.h2(ctx)
	if err != nil {
		return err
	}
	defer stop()
	limit := time.NewTimer(longestIdle)
	defer limit.Stop()
	select {
	case <-h.gone:
	case <-ctx.Done():
	case <-limit.C:
		return errors.New("an idle connection is still open")
	}
	return nil
}
