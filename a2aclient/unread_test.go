package a2aclient

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/upload"
)

// A call without a time limit ends when the agent does not read its message.
func TestMessageThatIsNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		over := make(chan struct{})
		c, _ := inMemory(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-over }), a2a.BindingJSONRPC, nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		began := time.Now()
		_, err := c.SendMessage(ctx, &a2a.SendMessageRequest{Message: &a2a.Message{
			MessageID: "m", Role: a2a.RoleUser, Parts: []*a2a.Part{a2a.TextPart(strings.Repeat("x", 1<<20))},
		}})
		var lost *TransportError
		if !errors.As(err, &lost) || lost.Unreachable || time.Since(began) != upload.Time {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		close(over)
		time.Sleep(time.Minute) // fake: net/http lingers before it closes
	})
}
