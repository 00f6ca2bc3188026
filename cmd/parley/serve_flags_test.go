package main

import (
	"net"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/parley-a2a/parley/a2aserver"
	"github.com/parley-a2a/parley/engine"
)

func limitsOf(t *testing.T, open bool, args ...string) *limitFlags {
	t.Helper()
	var f limitFlags
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.register(fs)
	if err := fs.Parse(args); err != nil {
		t.Fatal(err)
	}
	if err := f.check(); err != nil {
		t.Fatal(err)
	}
	if open {
		f.settle(fs)
	}
	return &f
}

// The flags say 0 for no limit, the options in Go sometimes mean their default
// by it.
func TestLimits(t *testing.T) {
	for _, c := range []struct {
		name     string
		open     bool
		args     []string
		requests a2aserver.Limits
		tasks    engine.Limits
	}{
		{"for this machine", false, nil, a2aserver.Limits{Parts: 1000, Depth: 64, Hops: 16, Bodies: 128 << 20}, engine.Limits{}},
		{
			"for others", true, nil,
			a2aserver.Limits{Rate: 100, Burst: 200, Streams: 200, Parts: 1000, Depth: 64, Hops: 16, Bodies: 128 << 20},
			engine.Limits{Running: 10_000, RunningPerOwner: 200},
		},
		{
			"switched off", true,
			[]string{"--rate=0", "--max-streams=0", "--max-running=0", "--max-running-per-caller=0", "--max-parts=0", "--max-depth=0", "--max-hops=0", "--max-bodies=0"},
			a2aserver.Limits{Parts: -1, Depth: -1, Hops: -1, Bodies: -1}, engine.Limits{},
		},
		{
			// The burst of our own rate would not fit another one.
			"a rate of one's own", true, []string{"--rate=0.5", "--max-streams=3"},
			a2aserver.Limits{Rate: 0.5, Streams: 3, Parts: 1000, Depth: 64, Hops: 16, Bodies: 128 << 20},
			engine.Limits{Running: 10_000, RunningPerOwner: 200},
		},
		{
			"everything", false,
			[]string{
				"--rate=1", "--burst=2", "--max-streams=3", "--max-parts=4", "--max-part-size=5KiB", "--max-depth=6", "--max-hops=7",
				"--max-connections=8", "--max-connections-per-address=9", "--max-running=10", "--max-running-per-caller=11", "--max-messages=12",
				"--max-task-size=13MiB", "--max-artifact-size=14", "--max-task-time=15m", "--max-bodies=16KiB",
			},
			a2aserver.Limits{Rate: 1, Burst: 2, Streams: 3, Parts: 4, PartBytes: 5 << 10, Depth: 6, Hops: 7, Connections: 8, AddrConnections: 9, Bodies: 16 << 10},
			engine.Limits{Running: 10, RunningPerOwner: 11, Messages: 12, TaskBytes: 13 << 20, ArtifactBytes: 14, Wall: 15 * time.Minute},
		},
	} {
		f := limitsOf(t, c.open, c.args...)
		if diff := cmp.Diff(c.requests, f.requests()) + cmp.Diff(c.tasks, f.tasks()); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

func TestSizes(t *testing.T) {
	for text, want := range map[string]size{"0": 0, "65536": 65536, "64KiB": 64 << 10, "64kib": 64 << 10, "8MiB": 8 << 20, "1GiB": 1 << 30} {
		var s, again size
		if err := s.Set(text); err != nil || s != want {
			t.Errorf("%s is %d, %v", text, s, err)
		}
		if err := again.Set(s.String()); err != nil || again != s {
			t.Errorf("%d prints as %s, which is %d, %v", s, s.String(), again, err)
		}
	}
	for _, text := range []string{"", "KiB", "-1", "1.5MiB", "8MB", "8 MiB", "9223372036854775807KiB", "1e3"} {
		if s := new(size); s.Set(text) == nil {
			t.Errorf("%q is %d", text, *s)
		}
	}
}

func TestOriginsAndHosts(t *testing.T) {
	for text, ok := range map[string]bool{
		"https://console.example.org": true, "http://localhost:3000": true, "https://[::1]:8443": true,
		"https://console.example.org/": false, "console.example.org": false, "null": false, "*": false, "https://*.example.org": false,
		"https://Console.example.org": false, "https://u@example.org": false, "https://example.org?x": false, "ftp://example.org": false, "": false,
	} {
		if err := new(origins).Set(text); (err == nil) != ok {
			t.Errorf("origin %q: %v", text, err)
		}
	}
	for text, want := range map[string]string{
		"agents.example.org": "agents.example.org", "Agents.Example.ORG": "agents.example.org", "[::1]": "::1", "0:0::1": "::1", "10.1.2.3": "10.1.2.3",
		"example.org:80": "", "http://example.org": "", "*.example.org": "", "": "", "a b": "",
	} {
		var h hostNames
		if err := h.Set(text); h.String() != want || (err == nil) != (want != "") {
			t.Errorf("host %q is %q, %v", text, h, err)
		}
	}
	f := browserFlags{hosts: hostNames{"agents.test"}}
	addr := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2), Port: 7275}
	if got := f.allowed(true, addr); !slices.Equal(got, []string{"localhost", "127.0.0.1", "::1", "agents.test", "127.0.0.2"}) {
		t.Errorf("a server for its machine answers for %q", got)
	}
	if got := f.allowed(false, addr); !slices.Equal(got, []string{"agents.test"}) {
		t.Errorf("another one answers for %q", got)
	}
	if got := new(browserFlags).allowed(false, addr); len(got) > 0 {
		t.Errorf("without flags it answers for %q only", got)
	}
}

func TestExpiry(t *testing.T) {
	now := time.Date(2026, 11, 21, 19, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"90d": now.Add(90 * 24 * time.Hour), "12h": now.Add(12 * time.Hour), "1h30m": now.Add(90 * time.Minute),
		"2027-01-01": time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC), "2027-01-01T10:00:00+02:00": time.Date(2027, 1, 1, 8, 0, 0, 0, time.UTC),
	} {
		var e expiry
		if err := e.Set(text); err != nil || !e.time(now).Equal(want) {
			t.Errorf("%s is %v, %v", text, e.time(now), err)
		}
	}
	for _, text := range []string{"", "0d", "-1d", "d", "9d9", "1.5d", "-1h", "0", "90", "2027-13-01", "01.01.2027", "999999999d"} {
		if e := new(expiry); e.Set(text) == nil {
			t.Errorf("%q is %v", text, e.time(now))
		}
	}
}

func TestShownKey(t *testing.T) {
	for arg, want := range map[string]string{
		"parley_abcdefghij_secret": "parley_abcdefghij", "parley_abc": "parley_abc", "abcdefghij": "abcdefghij", "abcdefghij_sec": "abcdefghij", "": "",
	} {
		if got := shownKey(arg); got != want {
			t.Errorf("%q is shown as %q, want %q", arg, got, want)
		}
	}
}
