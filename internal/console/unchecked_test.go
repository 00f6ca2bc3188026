package console

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/a2a"
)

// loggedIn returns a console whose viewers are judged by an error, and a request of a
// viewer with a session.
func loggedIn(t *testing.T, o Options, judge func() error) (*Console, *http.Request) {
	t.Helper()
	o.Secret = []byte(strings.Repeat("s", 32))
	o.Viewer = func(*http.Request, Credentials, bool) (a2a.Caller, error) {
		return a2a.Caller{Subject: "key:ann", Scopes: a2a.OwnScopes}, judge()
	}
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodGet, "/agents", nil)
	sealed := c.jar.seal(cookieName, &session{Credentials: Credentials{Bearer: "good"}, CSRF: "csrf", Until: time.Now().Add(time.Hour)})
	r.AddCookie(&http.Cookie{Name: cookieName, Value: sealed})
	return c, r
}

var errDown error = a2a.Errorf(a2a.CodeUnavailable, "your credentials cannot be checked at the moment")

// While nobody can check credentials, as during a fail-over of the store, viewers stay
// logged in.
func TestViewersStayLoggedInWhileNobodyCanCheck(t *testing.T) {
	c, r := loggedIn(t, Options{}, func() error { return errDown })
	w := httptest.NewRecorder()
	c.mux.ServeHTTP(w, r)
	if set := w.Header().Get("Set-Cookie"); w.Code != http.StatusServiceUnavailable || set != "" {
		t.Errorf("the answer is %d to %q with the cookie %q, want 503 and no cookie", w.Code, w.Header().Get("Location"), set)
	}
}

// A page that is open stays open meanwhile, and is sent away once the session has ended.
func TestStreamsStayOpenWhileNobodyCanCheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var judged atomic.Pointer[error]
		judged.Store(&errDown)
		c, r := loggedIn(t, Options{}, func() error { return *judged.Load() })
		w := httptest.NewRecorder()
		out, end := c.stream(w, &request{r, t.Context(), a2a.Caller{Subject: "key:ann"}, "csrf"}, 0)
		defer end()
		gone := func() bool {
			time.Sleep(2 * recheck) // of the bubble
			synctest.Wait()
			out.mu.Lock()
			defer out.mu.Unlock()
			return strings.Contains(w.Body.String(), "event: gone")
		}
		if gone() {
			t.Error("the page was sent away")
		}
		revoked := error(a2a.Errorf(a2a.CodeUnauthenticated, "the API key was revoked"))
		if judged.Store(&revoked); !gone() {
			t.Error("the page of a session that has ended stays open")
		}
	})
}

// Nothing is done for a browser that left before its credentials were checked: it would
// be done as nobody.
func TestNothingIsDoneForAViewerWhoWasNotChecked(t *testing.T) {
	asked := false
	agents := func() []Agent {
		asked = true
		return nil
	}
	c, r := loggedIn(t, Options{Agents: agents}, func() error { return context.Canceled })
	w := httptest.NewRecorder()
	c.mux.ServeHTTP(w, r)
	if asked || w.Body.Len() > 0 {
		t.Errorf("the page was made, with %d bytes", w.Body.Len())
	}
}
