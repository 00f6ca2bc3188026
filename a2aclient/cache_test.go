package a2aclient

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// a fresh card is not fetched again, another one is revalidated.
func TestResolverCaches(t *testing.T) {
	now := time.Now()
	requests, revalidated := 0, 0
	cacheControl, etag, name := "max-age=60", `"v1"`, "One"
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests++
		w.Header().Set("Cache-Control", cacheControl)
		w.Header().Set("ETag", etag)
		if r.Header.Get("If-None-Match") == etag {
			revalidated++
			w.WriteHeader(304)
			return
		}
		fmt.Fprintf(w, `{"name":%q}`, name)
	}))
	defer srv.Close()
	r := NewResolver(nil)
	r.now = func() time.Time { return now }
	want := func(what, wantName string, wantRequests, wantRevalidated int) {
		t.Helper()
		card, err := r.Resolve(t.Context(), srv.URL)
		if err != nil {
			t.Fatal(err)
		}
		if card.Name != wantName || requests != wantRequests || revalidated != wantRevalidated {
			t.Errorf("%s: %q with %d requests, %d revalidated; want %q with %d, %d",
				what, card.Name, requests, revalidated, wantName, wantRequests, wantRevalidated)
		}
		card.Name = "changed by the caller"
	}
	want("first", "One", 1, 0)
	want("fresh", "One", 1, 0)
	now = now.Add(59 * time.Second)
	want("still fresh", "One", 1, 0)
	now = now.Add(2 * time.Second)
	want("stale, unchanged", "One", 2, 1)
	want("fresh again", "One", 2, 1)
	now = now.Add(time.Minute)
	etag, name, cacheControl = `"v2"`, "Two", "no-cache"
	want("stale, changed", "Two", 3, 1)
	want("must ask", "Two", 4, 2)
	cacheControl, etag = "no-store", `"v3"`
	want("not to be kept", "Two", 5, 2)
	want("was not kept", "Two", 6, 2)
}

func TestFreshness(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	at := func(d time.Duration) string { return now.Add(d).Format(http.TimeFormat) }
	tests := []struct {
		header http.Header
		store  bool
		want   time.Duration
	}{
		{http.Header{}, true, 0},
		{http.Header{"Cache-Control": {"public, max-age=300"}}, true, 5 * time.Minute},
		{http.Header{"Cache-Control": {"public", `MAX-AGE="300"`}, "Age": {"100"}}, true, 200 * time.Second},
		{http.Header{"Cache-Control": {"max-age=10"}, "Age": {"100"}}, true, -90 * time.Second},
		{http.Header{"Cache-Control": {"max-age=300, no-store"}}, false, 0},
		{http.Header{"Cache-Control": {"max-age=300, no-cache"}}, true, 0},
		{http.Header{"Cache-Control": {"max-age=300"}, "Vary": {"*"}}, true, 0},
		{http.Header{"Cache-Control": {"max-age=-1"}}, true, 0},
		{http.Header{"Cache-Control": {"max-age=99999999999999999999"}}, true, 0},
		{http.Header{"Cache-Control": {"max-age=9999999999"}}, true, 365 * 24 * time.Hour},
		{http.Header{"Expires": {at(time.Hour)}, "Date": {at(0)}}, true, time.Hour},
		{http.Header{"Expires": {at(time.Hour)}}, true, time.Hour},
		{http.Header{"Expires": {at(time.Hour)}, "Cache-Control": {"max-age=1"}}, true, time.Second},
		{http.Header{"Expires": {"0"}}, true, 0},
	}
	for _, tt := range tests {
		if store, got := freshness(tt.header, now); store != tt.store || got != tt.want {
			t.Errorf("%v: %v %v, want %v %v", tt.header, store, got, tt.store, tt.want)
		}
	}
}

func TestCacheIsBounded(t *testing.T) {
	var c cache
	h := http.Header{"Cache-Control": {"max-age=60"}}
	for i := range 10 * maxCached {
		c.put(fmt.Sprint(i), h, []byte("{}"), nil, nil, time.Now())
	}
	if len(c.entries) != maxCached {
		t.Errorf("%d entries", len(c.entries))
	}
}
