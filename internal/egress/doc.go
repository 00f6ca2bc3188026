// Package egress decides where a server may fetch from or post to when somebody
// else names the address: webhooks, parts given by URL, agents behind an agent.
//
//	p := &egress.Policy{Logger: log}
//	u, err := p.Check(raw)             // when the address is told: errors are for who told it
//	client := p.Client(nil)            // one for all requests of a kind
//	res, err := client.Do(req)         // every address checked again, as it is dialled
//
// Without rules everything but https to public hosts is refused. Check refuses
// what the URL alone shows to be wrong; the rest is refused when a connection
// is made: a name is looked up once, each address it has is judged, and one of
// those that passed is dialled, in digits. A name that led to a public host a
// moment ago and leads into the network now leads nowhere.
//
// Addresses are judged as the IANA registries of special-purpose addresses have
// them, an IPv4 address inside an IPv6 address as what it is. Not seen are the
// names a CNAME passes through, prefixes that a network has chosen for its own
// NAT64, and that a public address is this machine's: the rules in Policy.Deny
// are for those.
//
// # Errors
//
// A forbidden address is a *Refused, also inside the *url.Error of net/http; its
// words are for the caller that named the address and never say where a name leads. It
// is final only as long as names and rules stay: a name may lead elsewhere
// tomorrow. All others are the network's.
//
// # Concurrency
//
// A Policy must not be changed once it is used. Then it, and the clients it
// makes, may be used by many goroutines at once.
package egress
