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

func TestIsLoopback(t *testing.T) {
	for host, want := range map[string]bool{
		"localhost": true, "127.0.0.1": true, "127.8.9.1": true, "::1": true, "::ffff:127.0.0.1": true,
		"": false, "[::1]": false, "localhost:80": false, "localhost.example.com": false, "127.0.0.1.example.com": false, "10.0.0.1": false, "0.0.0.0": false, "127.1": false,
	} {
		if got := IsLoopback(host); got != want {
			t.Errorf("%q: %t", host, got)
		}
	}
}
