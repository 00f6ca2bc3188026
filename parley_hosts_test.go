package parley

import (
	"net"
	"slices"
	"testing"
)

func TestOnlyLoopbackKnowsItsNames(t *testing.T) {
	for addr, want := range map[string][]string{
		"127.0.0.1:7275": {"localhost", "127.0.0.1", "::1", "127.0.0.1"},
		"127.0.0.2:7275": {"localhost", "127.0.0.1", "::1", "127.0.0.2"},
		"[::1]:7275":     {"localhost", "127.0.0.1", "::1", "::1"},
		"0.0.0.0:7275":   nil, // who knows by which names it is reached?
		"[::]:7275":      nil,
		"192.0.2.1:7275": nil,
	} {
		at, err := net.ResolveTCPAddr("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		if got := ownHosts(at); !slices.Equal(got, want) {
			t.Errorf("%s answers for %q, want %q", addr, got, want)
		}
	}
	if got := ownHosts(&net.UnixAddr{Name: "x"}); got != nil {
		t.Errorf("a socket of the file system answers for %q", got)
	}
}
