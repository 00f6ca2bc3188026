// Package dialect knows what A2A looks like on the wire: the operations with
// their names and routes, the errors with their codes, and the JSON of the
// requests and results, for every version of the protocol. Clients and servers
// read the same tables, each from its side:
//
//	m, _, ok := dialect.MatchRoute("POST", "/tasks/t1:cancel")   // a server
//	req, err := dialect.DecodeREST(m, query, body)
//
//	call, err := dialect.BuildREST(dialect.CancelTask, req)      // a client
//
// Inside the module there is only the v1.0 model of package a2a; a dialect
// translates to it and back. So far the package speaks v1.0, which is the
// model itself: nothing is lost in JSON; what protocol buffers cannot carry, see
// [ToProto].
//
// All functions may be called concurrently. Errors are *[a2a.Error].
package dialect
