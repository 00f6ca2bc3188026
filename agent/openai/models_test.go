package openai

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/a2a"
)

func TestModels(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		body   string
		want   []string
		err    string
	}{
		"two":         {200, `{"object":"list","data":[{"id":"tiny"},{"id":"big"},{"id":"tiny"},{"id":""}]}`, []string{"big", "tiny"}, ""},
		"none":        {200, `{"data":[]}`, nil, ""},
		"no list":     {404, `{"error":{"message":"unknown"}}`, nil, ErrNoList.Error()},
		"no GET":      {501, `<!DOCTYPE HTML>`, nil, ErrNoList.Error()},
		"other JSON":  {200, `[1]`, nil, ErrNoList.Error()},
		"too long":    {200, `{"data":[{"id":"` + strings.Repeat("x", maxModels) + `"}]}`, nil, ErrNoList.Error()},
		"a wrong key": {401, `{"error":{"message":"wrong key: hush-hush"}}`, nil, "status 401: wrong key: ***"},
	} {
		t.Run(name, func(t *testing.T) {
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/v1/models" || r.Header.Get("Authorization") != "Bearer hush-hush" || r.URL.RawQuery != "api-version=2" {
					t.Errorf("%s %v", r.URL, r.Header)
				}
				w.WriteHeader(c.status)
				_, _ = w.Write([]byte(c.body)) // the client may have read enough
			}))
			defer srv.Close()
			a, err := New(srv.URL+"/v1?api-version=2", "tiny", &Options{APIKey: a2a.Secret("hush-hush")})
			if err != nil {
				t.Fatal(err)
			}
			got, err := a.Models(t.Context())
			if !slices.Equal(got, c.want) || err == nil && c.err != "" || err != nil && err.Error() != c.err {
				t.Errorf("%v, %v", got, err)
			}
		})
	}
	a, err := New("http://127.0.0.1:1/v1?key=hush", "tiny", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Models(t.Context()); err == nil || errors.Is(err, ErrNoList) || strings.Contains(err.Error(), "hush") {
		t.Errorf("nobody listens: %v", err)
	}
}
