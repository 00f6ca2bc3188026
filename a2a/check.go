package a2a

import "github.com/parley-a2a/parley/internal/json"

// MaxDepth is how deep arrays and objects may nest in a request, the request
// itself being the first level.
const MaxDepth = 100

// storedDepth bounds the nesting of everything else: answers wrap what a
// request carried a few levels deeper, and a log must stay readable whatever
// an agent put into it.
const storedDepth = 10000

// check reports what keeps doc from being one JSON value of at most maxDepth
// levels, in UTF-8. Everything after it relies on a valid document, so it runs
// once, before a decoder.
func check(doc []byte, maxDepth int) *Error {
	switch flaw, at := json.Check(doc, maxDepth); flaw {
	case json.Deep:
		return Errorf(CodeInvalidParams, "the JSON nests more than %d levels deep; send it flatter", maxDepth)
	case json.Short:
		return Errorf(CodeParse, "the JSON ends too early, after %d bytes", len(doc))
	case json.Unexpected:
		return Errorf(CodeParse, "not JSON: unexpected %q at byte %d", doc[at], at)
	case json.Encoding:
		return Errorf(CodeParse, "not JSON: the text is not UTF-8")
	}
	return nil
}

// publishedDepth bounds the nesting of a value that an agent puts into a task: beyond
// it clients fail to read the whole answer, not only the value. Protocol buffers are
// read up to 10,000 levels, and a level of JSON takes three of them.
const publishedDepth = 1000

// valid reports whether v is one JSON value that clients of every binding can read.
func valid(v JSON) bool { return check(v, publishedDepth) == nil }
