// Package dialect knows what A2A looks like on the wire: the operations with
// their names and routes, the errors with their codes, and the JSON of the
// requests and results, for every version of the protocol. Clients and servers
// read the same tables, each from its side:
//
//	op, d, err := dialect.DetectRPC("tasks/send", "", false) // a server
//	req, err := dialect.CodecOf(d, "JSONRPC").DecodeRequest(op, params)
//
//	call, err := dialect.BuildREST(dialect.V10, dialect.CancelTask, 0, req) // a client
//
// Inside the module there is only the v1.0 model of package a2a; a dialect
// translates to it and back. Each codec lists the fields that its dialect
// cannot carry. A new dialect is a column of [Operations] and a [Codec].
//
// All functions may be called concurrently. Errors are *[a2a.Error].
package dialect
