package serve

import (
	"net"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/parley-a2a/parley/a2aserver"
	"github.com/parley-a2a/parley/engine"
	"github.com/parley-a2a/parley/internal/egress"
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
		{"for this machine", false, nil, a2aserver.Limits{Parts: 1000, Depth: 64, Hops: 16, Bodies: 128 << 20}, engine.Limits{TaskBytes: 64 << 20}},
		{
			"for others", true, nil,
			a2aserver.Limits{Rate: 100, Burst: 200, Streams: 200, Parts: 1000, Depth: 64, Hops: 16, Bodies: 128 << 20},
			engine.Limits{Running: 10_000, RunningPerOwner: 200, TaskBytes: 64 << 20},
		},
		{
			"switched off", true,
			[]string{"--rate=0", "--max-streams=0", "--max-running=0", "--max-running-per-caller=0", "--max-parts=0", "--max-depth=0", "--max-hops=0", "--max-bodies=0", "--max-task-size=0"},
			a2aserver.Limits{Parts: -1, Depth: -1, Hops: -1, Bodies: -1}, engine.Limits{},
		},
		{
			// The burst of our own rate would not fit another one.
			"a rate of one's own", true, []string{"--rate=0.5", "--max-streams=3"},
			a2aserver.Limits{Rate: 0.5, Streams: 3, Parts: 1000, Depth: 64, Hops: 16, Bodies: 128 << 20},
			engine.Limits{Running: 10_000, RunningPerOwner: 200, TaskBytes: 64 << 20},
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

func TestOriginsAndHosts(t *testing.T) {
	for text, ok := range map[string]bool{
		"https://console.example.org": true, "http://localhost:3000": true, "https://[::1]:8443": true,
		"https://console.example.org/": false, "console.example.org": false, "null": false, "*": false, "https://*.example.org": false,
		"https://Console.example.org": false, "https://u@example.org": false, "https://example.org?x": false, "ftp://example.org": false, "": false,
	} {
		if _, err := parseOrigin(text); (err == nil) != ok {
			t.Errorf("origin %q: %v", text, err)
		}
	}
	for text, want := range map[string]string{
		"agents.example.org": "agents.example.org", "Agents.Example.ORG": "agents.example.org", "[::1]": "::1", "0:0::1": "::1", "10.1.2.3": "10.1.2.3",
		"example.org:80": "", "http://example.org": "", "*.example.org": "", "": "", "a b": "",
	} {
		if h, err := parseHost(text); h != want || (err == nil) != (want != "") {
			t.Errorf("host %q is %q, %v", text, h, err)
		}
	}
	f := browserFlags{hosts: []string{"agents.test"}}
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

// TestOnlyLoopbackIsThisMachine: everybody on a machine may call a server that listens on
// loopback, so nothing else is taken for it, however it is written.
func TestOnlyLoopbackIsThisMachine(t *testing.T) {
	for ip, want := range map[string]bool{
		"127.0.0.1": true, "127.8.8.8": true, "::1": true, "::ffff:127.0.0.1": true,
		"0.0.0.0": false, "::": false, "::ffff:0.0.0.0": false, "::127.0.0.1": false, "64:ff9b::7f00:1": false, "2002:7f00:1::": false,
		"fe80::1": false, "fec0::1": false, "fd00::1": false, "10.0.0.1": false, "169.254.1.1": false,
	} {
		f := new(flags)
		at := &net.TCPAddr{IP: net.ParseIP(ip), Port: 7275}
		if got := f.local(at); got != want {
			t.Errorf("%s: %t, want %t", ip, got, want)
		}
		f.proxies = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
		if f.local(at) {
			t.Errorf("%s behind a proxy is taken for this machine", ip)
		}
	}
}

func TestProxyURL(t *testing.T) {
	var f egressFlags
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.register(fs)
	v := fs.Lookup("egress-proxy").Value
	if err := v.Set("http://u:s3cret@proxy.example:3128"); err != nil || f.password() != "s3cret" || v.String() != "" {
		t.Errorf("%v, %q", err, f.password())
	}
	for _, bad := range []string{"", "proxy:3128", "socks5://x", "http://", "http://x/path", "http://x?q", "://"} {
		if _, err := egress.ParseProxy(bad); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}
