package torture

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// network is some hosts, each with an address of its own. Where the test is root each
// has a network of its own, too, that can be cut off from the others' and this one.
type network struct {
	name  string // of the bridge, and what the names of the others begin with
	hosts []*host
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
	n := &network{name: fmt.Sprintf("ply%d", os.Getpid()%100000)}
	if _, err := exec.LookPath("ip"); err != nil || os.Getuid() != 0 {
		for i := range hosts {
			n.hosts = append(n.hosts, &host{address: fmt.Sprintf("127.77.%d.%d", os.Getpid()%256, i+10)})
		}
		return n, nil
	}
	// Of the addresses that are for tests of networks.
	subnet := fmt.Sprintf("198.18.%d.", os.Getpid()%256)
	err := ip("link", "add", n.name, "type", "bridge")
	if err == nil {
		err = ip("addr", "add", subnet+"1/24", "dev", n.name)
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
			{"-n", h.space, "route", "add", "default", "via", subnet + "1"},
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
