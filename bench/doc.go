// Command bench measures A2A servers beside each other: Parley with its tasks
// on disk and in memory, a bare net/http handler that does nothing but answer,
// and servers made with other SDKs.
//
//	cd bench && go run . -short
//
// It is one closed-loop load generator, in a process of its own, over
// connections that are kept. Servers are its children on loopback addresses, each
// with the same agent (see package script). Every scenario is a file that
// implements scenario; run.go measures all contenders in turn, round by round,
// so that what disturbs the machine disturbs all of them, and report.go prints
// medians and ratios.
//
// -soak is something else: one server under half of the load that it bears, for long
// (soak.go).
//
// Every answer is checked. One that is wrong, or an error, leaves its server without
// figures in that case, and makes the bench exit with 1.
package main
