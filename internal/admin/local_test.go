package admin

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
)

// A server that is busy with as many calls as it takes counts as running, so that commands do
// not change its database.
func TestFindABusyServer(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		new(handler).fail(w, r, tooMany(w))
	}))
	defer srv.Close()
	name := filepath.Join(t.TempDir(), "admin")
	if _, err := (&Local{URL: srv.URL, Token: NewToken()}).Write(name); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Find(t.Context(), name); err == nil || errors.Is(err, ErrNoServer) {
		t.Errorf("a busy server is %v", err)
	}
}
