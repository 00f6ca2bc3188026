// Package egress decides where a server may fetch from or post to when somebody
// else names the address: webhooks, parts given by URL, agents behind an agent.
//
//	p := &egress.Policy{Logger: log}
//	u, err := p.Check(raw)             // when the address is given: errors are for its author
//	client := p.Client()               // one for all requests of a kind
//	res, err := client.Do(req)         // every address is checked again when it is dialed
//
// Without rules everything except https to public hosts is refused. Check refuses what
// the URL alone shows to be wrong; the rest is refused when a connection is made: a
// name is looked up once, each address it has is judged, and one of those that passed
// is dialed, in digits. A name that led to a public host a moment ago and now leads
// into the network is refused.
//
// Addresses are judged by the IANA registries of special-purpose addresses, and an IPv4
// address inside an IPv6 address by what it is. Three things are not seen: the names
// that a CNAME passes through, prefixes that a network has chosen for its own NAT64,
// and public addresses of this machine. Use the rules in Policy.Deny for those.
//
// # Errors
//
// A forbidden address is a *Refused, also inside the *url.Error of net/http; its text
// is for the caller that named the address and never says where a name leads. It is
// final only as long as names and rules stay: a name may lead elsewhere tomorrow. All
// other errors are the network's.
//
// # Concurrency
//
// A Policy must not be changed once it is used. Then it, and the clients it
// makes, may be used by many goroutines at once.
package egress
