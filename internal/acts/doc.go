// Package acts tests whether an agent conforms to the protocol. It runs tests in the format of
// A2A's conformance test specification (ACTS): the corpus in this package, written from the
// text of the specification, or files that the user names.
//
//	corpus, err := acts.Builtin()
//	...
//	report, err := acts.Run(ctx, &acts.Options{URL: "https://agent.example", Corpus: corpus})
//	...
//	err = report.Write(os.Stdout, "text")
//
// Read it in this order: model.go has the content of a file, load.go reads it; target.go finds
// the interfaces of a card; call.go is one exchange, which jsonrpc.go, rest.go and grpc.go
// make; v03.go has the names of version 0.3; assert.go checks a value; play.go runs one test,
// and failure.go has what can come of it; watch.go checks everything on the wire, in every test,
// by the tables of schema.go and errors.go; run.go runs all tests, and report.go and its
// neighbours report the results.
//
// The package shares no code with what it tests: no codec, no operation table, no error table.
// For gRPC it uses the generated messages (internal/pb), which are the specification's own
// numbers; docs/design/0026-judge.md says why.
//
// Errors to test for: *FileError from Load and Builtin, *TargetError from Run. Run does not
// change a Corpus; several goroutines may use one at once.
package acts
