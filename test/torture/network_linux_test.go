package torture

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/parley-a2a/parley/internal/pgtest"
)

// network is some hosts, each with an address of its own. Where the test is root each
// has a network of its own, too, that can be cut off from the others' and this one.
type network struct {
	name    string // of the bridge, and what the names of the others begin with
	address string // of this test, for the hosts
	hosts   []*host
}

// host is one of them.
type host struct {
	address string
	space   string // the network namespace; empty: there is none
	link    string // its end at the bridge
	bridge  string
}

// newNetwork makes a network, which close removes.
func newNetwork(hosts int) (*network, error) {
	n := &network{name: networks + strconv.Itoa(os.Getpid()), address: "127.0.0.1"}
	if _, err := exec.LookPath("ip"); err != nil || os.Getuid() != 0 {
		for i := range hosts {
			n.hosts = append(n.hosts, &host{address: fmt.Sprintf("127.77.%d.%d", os.Getpid()%256, i+10)})
		}
		return n, nil
	}
	sweepNetworks()
	// Of the addresses that are for tests of networks.
	subnet := fmt.Sprintf("198.18.%d.", os.Getpid()%256)
	n.address = subnet + "1"
	err := ip("link", "add", n.name, "type", "bridge")
	if err == nil {
		err = ip("addr", "add", n.address+"/24", "dev", n.name)
	}
	if err == nil {
		err = ip("link", "set", n.name, "up")
	}
	for i := 0; i < hosts && err == nil; i++ {
		h := &host{address: fmt.Sprint(subnet, i+10), space: fmt.Sprintf("%s-%d", n.name, i), link: fmt.Sprintf("%sh%d", n.name, i), bridge: n.name}
		n.hosts = append(n.hosts, h)
		for _, args := range [][]string{
			{"netns", "add", h.space},
			{"link", "add", h.link, "type", "veth", "peer", "name", "eth0", "netns", h.space},
			{"link", "set", h.link, "master", n.name, "up"},
			{"-n", h.space, "addr", "add", h.address + "/24", "dev", "eth0"},
			{"-n", h.space, "link", "set", "eth0", "up"},
			{"-n", h.space, "link", "set", "lo", "up"},
			{"-n", h.space, "route", "add", "default", "via", n.address},
		} {
			if err == nil {
				err = ip(args...)
			}
		}
	}
	if err != nil {
		n.close()
		return nil, err
	}
	return n, nil
}

// networks is what the names of all networks begin with, before the process that made
// them.
const networks = "ply"

// sweepNetworks removes what tests left behind that were killed.
func sweepNetworks() {
	dead := func(path string) bool {
		name, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(path), networks), "-")
		pid, err := strconv.Atoi(name)
		return err == nil && !pgtest.Lives(pid)
	}
	spaces, _ := filepath.Glob("/run/netns/" + networks + "*-*")
	for _, path := range spaces {
		if !dead(path) {
			continue
		}
		name := filepath.Base(path)
		running, _ := exec.Command("ip", "netns", "pids", name).Output() // nothing, if another test is doing it
		for pid := range strings.FieldsSeq(string(running)) {
			if n, err := strconv.Atoi(pid); err == nil {
				_ = syscall.Kill(n, syscall.SIGKILL)
			}
		}
		_ = ip("netns", "del", name)
	}
	bridges, _ := filepath.Glob("/sys/class/net/" + networks + "*")
	for _, path := range bridges {
		if dead(path) { // those of hosts, which have an h in their names, are gone with them
			_ = ip("link", "del", filepath.Base(path))
		}
	}
}

func ip(args ...string) error {
	if text, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("ip %q: %w: %s", args, err, bytes.TrimSpace(text))
	}
	return nil
}

func (n *network) close() {
	for _, h := range n.hosts {
		if h.space != "" {
			_ = ip("netns", "del", h.space) // and with it the link; it may not have been made
		}
	}
	if len(n.hosts) > 0 && n.hosts[0].space != "" {
		_ = ip("link", "del", n.name)
	}
}

// path is where the host's network is, "" without one.
func (h *host) path() string {
	if h.space == "" {
		return ""
	}
	return filepath.Join("/run/netns", h.space)
}

// cut takes the host off the network, or back: what is sent to it vanishes, and so
// does what it sends, and nobody is told.
func (h *host) cut(off bool) error {
	if off {
		return ip("link", "set", h.link, "nomaster")
	}
	return ip("link", "set", h.link, "master", h.bridge)
}

// command is a program that runs on the host.
func (h *host) command(program string, args ...string) *exec.Cmd {
	if h.space == "" {
		return exec.Command(program, args...)
	}
	return exec.Command("ip", append([]string{"netns", "exec", h.space, program}, args...)...)
}
