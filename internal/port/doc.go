// Package port serves one listener with two servers: net/http, and a native one that
// gets whole connections, such as grpc-go. It bounds what a connection may cost
// before and beside any request, and knows nothing of the requests themselves.
//
//	p := port.New(handler, grpcServer, isGRPC, port.Options{WriteTimeout: 30 * time.Second, Log: logger})
//	err := p.Serve(listener) // until Shutdown or Close
//
// A connection goes through
//
//	conns.go       a slot: limits in all and by address; idle connections are
//	               closed for new ones
//	peer.go        deadlines and a least rate of all writes, below TLS and HTTP
//	handshakes.go  the TLS handshake, as many at a time as half of the processors
//	sniff.go       its first bytes, which select the server; preface.go reads those of
//	               HTTP/2 up to the content type of the first request
//	native.go      the native server, if that claims the content type; else net/http
//
// Each answer has a Writer of its own, because HTTP/2 puts many on one connection.
// Strangers counts the answers to clients that are not authenticated.
//
// A Port may be used by many goroutines at once. Serve waits for the goroutine that
// it starts; goroutines of connections belong to the two servers.
package port
