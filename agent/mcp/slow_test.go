package mcp

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// slowCaller takes its time over progress, as a task does whose disk is full.
type slowCaller struct{ caller }

func (slowCaller) moved(*mcp.ProgressNotificationParams) error {
	time.Sleep(10 * time.Minute)
	return nil
}

// A tool is not silent while its task takes no more.
func TestSlowTaskIsNotSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tools := &Tools{opts: &Options{Timeout: time.Minute}}
		for range 50 { // a choice is made at random where two things are there
			c := &call{news: make(chan *mcp.ProgressNotificationParams, 1), done: make(chan struct{})}
			c.progress(&mcp.ProgressNotificationParams{Progress: 1})
			time.AfterFunc(time.Second, func() { close(c.done) })
			if err := tools.follow(context.Background(), t.Context(), c, false, slowCaller{}); err != nil {
				t.Fatal(err)
			}
		}
	})
}
