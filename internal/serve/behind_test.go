package serve

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/internal/config"
)

// A service that cannot be connected to is away, one that has a proxy say so as well. One
// that refuses the method is there.
func TestServicesThatAreAway(t *testing.T) {
	answers := func(status int) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
		t.Cleanup(s.Close)
		return s.URL
	}
	dead := httptest.NewServer(nil)
	dead.Close()
	var agents []*instance
	for _, url := range []string{answers(200), answers(405), answers(503), dead.URL} {
		agents = append(agents, &instance{from: config.Agent{HTTP: &config.HTTP{URL: url}}})
	}
	agents = append(agents, &instance{}, // nothing is behind it
		&instance{from: config.Agent{OpenAI: &config.OpenAI{URL: answers(404)}}}, &instance{from: config.Agent{OpenAI: &config.OpenAI{URL: dead.URL}}},
		&instance{from: config.Agent{OpenAI: &config.OpenAI{URL: "http://127.0.0.1:9/v1"}}}) // a port that is not for HTTP
	away := newBehind(agents).look(t.Context())
	if len(away) != 4 || away[2] == nil || !strings.Contains(away[2].Error(), "answers 503") || away[3] == nil || !strings.Contains(away[3].Error(), "not reachable") || away[6] == nil || away[7] == nil {
		t.Errorf("away are %v, want the third, the fourth and the last two", away)
	}
}

// Services are asked again once an answer is 5 s old, and a slow service delays a look by
// 500 ms at most.
func TestServicesAreAskedNowAndThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		b := newBehind(nil)
		b.asks[0] = func(ctx context.Context) error {
			asked++
			<-ctx.Done()
			return errors.New("away")
		}
		begin := time.Now()
		for range 3 {
			if b.look(t.Context())[0] == nil {
				t.Error("it is not away")
			}
		}
		if took := time.Since(begin); asked != 1 || took != behindTime {
			t.Errorf("asked %d times in %v, want once in %v", asked, took, behindTime)
		}
		time.Sleep(behindFresh) // of the bubble
		b.look(t.Context())
		if asked != 2 {
			t.Errorf("asked %d times, want again", asked)
		}
	})
}
