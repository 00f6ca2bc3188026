// Package audit writes the audit log: which calls each caller made, and which were refused.
//
//	f, err := audit.Open("audit.jsonl", logger) // a file, or a named pipe
//	log := audit.New(f.Logger(), nil, nil)      // nil records nothing
//
//	var r audit.Record // of one call
//	r.Begin(log, binding, remote, "")
//	r.Operation(d, op)
//	r.Request(req)
//	r.Succeed(ctx) // or Fail, before the answer goes out
//	r.End(ctx)     // the end of a stream
//
// Records have ids, names and outcomes, never contents or secrets. A Log and a
// File are safe for concurrent use; a Record belongs to one goroutine.
package audit
