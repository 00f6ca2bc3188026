package admin

import (
	"context"
	"iter"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/a2a"
)

// endless is an API whose events continue until ctx ends.
type endless struct{ API }

func (endless) Events(ctx context.Context, _ string) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		if yield(Event{Type: EventReadiness}, nil) {
			<-ctx.Done()
			yield(Event{}, ctx.Err())
		}
	}
}

// A stream ends soon after its caller's key was revoked or lost its scope, but not while the
// key cannot be checked.
func TestStreamsEndWithTheirCredentials(t *testing.T) {
	for name, c := range map[string]struct {
		refused *Error
		scopes  []string
		ends    bool
	}{
		"revoked":         {refused: Errorf(http.StatusUnauthorized, "the API key was revoked"), ends: true},
		"of other scopes": {scopes: []string{}, ends: true},
		"not checked":     {refused: Errorf(http.StatusServiceUnavailable, "try again shortly")},
		"good":            {scopes: []string{a2a.ScopeAdminRead}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var later atomic.Bool
				h := New(endless{}, Options{Identify: func(_ *http.Request, again bool) (a2a.Caller, *Error) {
					if again != later.Load() {
						t.Errorf("again is %v", again)
					}
					if again {
						return a2a.Caller{Subject: "op", Scopes: c.scopes}, c.refused
					}
					return a2a.Caller{Subject: "op", Scopes: []string{a2a.ScopeAdminRead}}, nil
				}})
				ctx, leave := context.WithCancel(t.Context())
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodGet, Path+"/events", nil))
				}()
				synctest.Wait()
				later.Store(true)
				time.Sleep(2 * keepAlive) // of the bubble
				synctest.Wait()
				select {
				case <-ended:
					if !c.ends {
						t.Error("the stream has ended")
					}
				default:
					if c.ends {
						t.Error("the stream goes on")
					}
				}
				leave()
				<-ended
			})
		})
	}
}

// HEAD of a stream returns its headers and ends: the connection can serve the next request.
func TestHeadOfAStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := New(endless{}, Options{Identify: func(*http.Request, bool) (a2a.Caller, *Error) {
			return a2a.Caller{Subject: "op", Scopes: []string{a2a.ScopeAdminRead}}, nil
		}})
		w, ended := httptest.NewRecorder(), make(chan struct{})
		ctx, leave := context.WithCancel(t.Context())
		go func() {
			defer close(ended)
			h.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodHead, Path+"/events", nil))
		}()
		synctest.Wait()
		select {
		case <-ended:
			if got := w.Header().Get("Content-Type"); w.Code != http.StatusOK || got != "text/event-stream" {
				t.Errorf("HEAD is answered with %d %s", w.Code, got)
			}
		default:
			t.Error("HEAD goes on like GET")
		}
		leave()
		<-ended
	})
}
