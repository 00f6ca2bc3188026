package port

import (
	"net"
	"net/netip"
)

// PlainAddr returns an address as all of Parley compares it: IPv4 in its own form,
// IPv6 without a zone.
func PlainAddr(a netip.Addr) netip.Addr { return a.Unmap().WithZone("") }

// Network returns what counts as one address: of IPv6 the first 64 bits, which
// is what a single customer has at least. It is the zero value for the zero address,
// which a socket of the file system has.
func Network(a netip.Addr) netip.Prefix {
	bits := 32
	if a.Is6() {
		bits = 64
	}
	p, err := a.Prefix(bits)
	if err != nil {
		return netip.Prefix{}
	}
	return p
}

// remoteNetwork returns the network of a connection's peer; false if it has no
// address of IP.
func remoteNetwork(c net.Conn) (netip.Addr, bool) {
	remote := c.RemoteAddr()
	if remote == nil {
		return netip.Addr{}, false
	}
	at, err := netip.ParseAddrPort(remote.String())
	return PlainAddr(at.Addr()), err == nil
}
