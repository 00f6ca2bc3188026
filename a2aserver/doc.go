// Package a2aserver serves an [a2a.Service] on the network: it is one [http.Handler]
// that speaks the protocol's JSON-RPC and HTTP+JSON bindings, streams with server-sent
// events, and serves the agent's card and probes.
//
//	srv := a2aserver.HTTPServer(a2aserver.New(service, card, nil))
//	srv.Addr = "127.0.0.1:7275"
//	log.Fatal(srv.ListenAndServe())
//
// Below the address where it is mounted it answers
//
//	/                             JSON-RPC (POST); a hint for humans (GET)
//	/message:send, /tasks/{id} …  HTTP+JSON, also below /{tenant}
//	/v1/message:send …            HTTP+JSON of version 0.3
//	/.well-known/agent-card.json  the card, for clients of every version
//	/.well-known/agent.json       the same, where 0.1 and 0.2 look
//	/agent/authenticated…Card     the extended card of 0.2
//	/.well-known/jwks.json        the keys that webhooks are signed with
//	/livez, /healthz, /readyz     probes; the first two are the same
//
// and anything else with 404. Under a prefix, mount it with [http.StripPrefix] and a
// pattern that does not clean paths, because ids in paths are percent-encoded.
//
// A [Host] does the same for several agents, each below /agents/{name}.
//
// An [http.Handler] has no gRPC: a [Port] serves it, beside all of the above, on one
// listener.
//
// [Webhooks] posts push notifications to the addresses that an [Egress] allows.
//
// The package does framing and limits; the service decides all rules about tasks. It
// gets an [a2a.Caller] in the context, with the extensions that the request declares.
// Errors of the service that are not [*a2a.Error], and panics, are logged and answered
// as internal errors without their text. When a client drops its stream, the server
// leaves the service's iterator at once.
//
// A Server may be used concurrently. All its goroutines end with the request
// they belong to.
package a2aserver
