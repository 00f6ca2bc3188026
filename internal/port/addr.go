package port

import (
	"net"
	"net/netip"
)

// PlainAddr returns an address as all of Parley compares it: IPv4 in its own form,
// IPv6 without a zone.
func PlainAddr(a netip.Addr) netip.Addr { return a.Unmap().WithZone("") }

// Network returns the network that counts as one address: of IPv6 the first 64 bits,
// the least that a customer has. It is the zero value for the zero address, such as
// that of a Unix socket.
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

// remoteNetwork returns the address of a connection's peer; false if it is no IP
// address.
func remoteNetwork(c net.Conn) (netip.Addr, bool) {
	remote := c.RemoteAddr()
	if remote == nil {
		return netip.Addr{}, false
	}
	at, err := netip.ParseAddrPort(remote.String())
	return PlainAddr(at.Addr()), err == nil
}
