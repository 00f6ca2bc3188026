package a2a

import "testing"

func TestWebURL(t *testing.T) {
	for s, want := range map[string]bool{
		"http://localhost:7275": true, "HTTPS://agents.example.org/a?b#c": true, "https://u:p@h/": true, "http://[::1]/": true,
		"": false, "localhost:7275": false, "/path": false, "//h/path": false, "http://": false, "http:///path": false, "ftp://h": false, "file:///x": false, "http://h:port": false,
	} {
		if got := WebURL(s); (got != nil) != want {
			t.Errorf("%q: %v", s, got)
		}
	}
}
