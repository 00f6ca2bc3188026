// Package acts judges whether an agent keeps to the protocol. It runs tests in the
// format of A2A's conformance test specification (ACTS): the corpus in this package,
// written from the text of the specification, or files that the user names.
//
//	corpus, err := acts.Builtin()
//	...
//	report, err := acts.Run(ctx, &acts.Options{URL: "https://agent.example", Corpus: corpus})
//	...
//	err = report.Write(os.Stdout, "text")
//
// Read it in this order: model.go is what a file says, load.go reads it; target.go
// finds the interfaces of a card; call.go is one exchange, which jsonrpc.go, rest.go and
// grpc.go make; v03.go has the names of version 0.3; assert.go judges a value; play.go
// runs one test; watch.go looks at everything that goes over the wire, whatever test it
// belongs to, by the tables of schema.go and errors.go; run.go runs all, and report.go
// with its neighbours says what came of it.
//
// The package shares no code with what it judges: no codec, no operation table, no error
// table. Of gRPC it takes the generated messages (internal/pb), which are the
// specification's own numbers; docs/design/0026-judge.md says why.
//
// Errors to test for: *FileError from Load and Builtin, *TargetError from Run. A Corpus
// is not changed by Run and may be used by several at once.
package acts
