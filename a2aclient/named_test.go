package a2aclient

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/egress"
)

func TestNamedAddressesAreJudged(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer srv.Close()
	card := cardAt("https://agents.example.org", a2a.BindingJSONRPC)
	for reach, want := range map[egress.Reach]bool{egress.Anywhere: true, egress.Network: false, egress.Internet: false} {
		o := new(Options)
		c, err := newClient(card, &source{reach: reach}, o, o.httpClient())
		if err != nil {
			t.Fatal(err)
		}
		res, err := (&http.Client{Transport: c.Named()}).Get(srv.URL)
		var refused *AddressError
		if want && err != nil || !want && !errors.As(err, &refused) {
			t.Errorf("from %v: %v", reach, err)
		}
		if err == nil {
			_ = res.Body.Close()
		}
	}
}
