package a2aclient

import (
	"cmp"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// maxCached bounds how many cards a Resolver keeps.
const maxCached = 64

// cache keeps card documents as RFC 9111 says for a private cache.
type cache struct {
	mu      sync.Mutex // protects the field below
	entries map[string]*cached
}

// cached is a stored response. It is never changed.
type cached struct {
	body  []byte
	etag  string
	since string    // Last-Modified
	fresh time.Time // no request is needed until then
	from  *source   // the source of the latest response
}

func (c *cache) get(url string) *cached {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.entries[url]
}

// put stores a response, or removes the stored one if the response may not be stored. A
// nil body means a 304 that renews old.
func (c *cache) put(url string, h http.Header, body []byte, from *source, old *cached, now time.Time) *cached {
	e := &cached{body: body, from: from, etag: h.Get("ETag"), since: h.Get("Last-Modified")}
	if body == nil {
		e.body = old.body
		e.etag = cmp.Or(e.etag, old.etag)
		e.since = cmp.Or(e.since, old.since)
	}
	store, lifetime := freshness(h, now)
	e.fresh = now.Add(lifetime)
	c.mu.Lock()
	defer c.mu.Unlock()
	if !store || lifetime <= 0 && e.etag == "" && e.since == "" {
		delete(c.entries, url)
		return e
	}
	if c.entries == nil {
		c.entries = map[string]*cached{}
	}
	if _, known := c.entries[url]; !known && len(c.entries) >= maxCached {
		for other := range c.entries { // any: the next use fetches it again
			delete(c.entries, other)
			break
		}
	}
	c.entries[url] = e
	return e
}

// freshness says whether a response may be stored, and for how long it needs no
// revalidation: none if the server does not say.
func freshness(h http.Header, now time.Time) (store bool, lifetime time.Duration) {
	directives := map[string]string{}
	for _, line := range h.Values("Cache-Control") {
		for d := range strings.SplitSeq(line, ",") {
			name, value, _ := strings.Cut(strings.TrimSpace(d), "=")
			directives[strings.ToLower(name)] = strings.Trim(value, `"`)
		}
	}
	if _, no := directives["no-store"]; no {
		return false, 0
	}
	if _, no := directives["no-cache"]; no || strings.Contains(h.Get("Vary"), "*") {
		return true, 0
	}
	if v, ok := directives["max-age"]; ok {
		return true, seconds(v) - seconds(h.Get("Age"))
	}
	if expires, err := http.ParseTime(h.Get("Expires")); err == nil {
		date, err := http.ParseTime(h.Get("Date"))
		if err != nil {
			date = now
		}
		return true, expires.Sub(date) - seconds(h.Get("Age"))
	}
	return true, 0
}

// seconds reads a delta-seconds value. An invalid one counts as 0, and more than a year
// as a year.
func seconds(v string) time.Duration {
	n, err := strconv.ParseUint(strings.TrimSpace(v), 10, 64)
	if err != nil {
		return 0
	}
	return time.Duration(min(n, 365*24*3600)) * time.Second
}
