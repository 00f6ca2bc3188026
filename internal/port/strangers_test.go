package port

import (
	"net/netip"
	"testing"
)

func TestStrangers(t *testing.T) {
	var g Strangers
	at := func(i int) netip.Prefix {
		return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}), 32)
	}
	enter := func(a netip.Prefix, n int) (in int) {
		for range n {
			if g.Enter(a) {
				in++
			}
		}
		return in
	}
	if n := enter(at(1), 2*addrStrangers); n != addrStrangers {
		t.Errorf("%d of one address", n)
	}
	// A proxy that does not name its client's address.
	if n := enter(netip.Prefix{}, mostStrangers-addrStrangers); n != mostStrangers-addrStrangers {
		t.Errorf("%d without an address", n)
	}
	if n := enter(at(2), 10); n != fewStrangers {
		t.Errorf("%d of an address when there are enough", n)
	}
	for range 2 {
		g.Leave(at(1))
	}
	for range fewStrangers {
		g.Leave(at(2))
	}
	g.Leave(netip.Prefix{})
	if n := enter(at(3), 10); n != 4 {
		t.Errorf("%d when there is room again", n)
	}
}
