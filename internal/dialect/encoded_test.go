package dialect

import (
	"testing"

	"github.com/parley-a2a/parley/a2a"
)

// takesEncoded reports whether a request says that its tasks may be encoded.
func takesEncoded(req any) bool {
	switch r := req.(type) {
	case *a2a.GetTaskRequest:
		return r.Encoded
	case *a2a.ListTasksRequest:
		return r.Encoded
	}
	return false
}

// unencoded clears Encoded, which no client sends.
func unencoded(req any) any {
	switch r := req.(type) {
	case *a2a.GetTaskRequest:
		r.Encoded = false
	case *a2a.ListTasksRequest:
		r.Encoded = false
	}
	return req
}

// A codec that looks into tasks must get them decoded: those of 1.0 and the 1.1 draft
// write JSON as it is stored, all others convert it.
func TestWhoTakesEncodedTasks(t *testing.T) {
	for _, d := range []Dialect{V01, V03, V0x, V10, V11} {
		for _, binding := range []string{a2a.BindingJSONRPC, a2a.BindingHTTPJSON} {
			c := CodecOf(d, binding)
			if c == nil {
				continue
			}
			for _, op := range []Op{GetTask, ListTasks} {
				if Get(op).Methods[min(d, V11)] == "" && d != V0x || op == ListTasks && d == V0x {
					continue
				}
				req, err := c.DecodeRequest(op, []byte(`{"id":"t1"}`))
				if err != nil {
					t.Fatal(err)
				}
				if got, want := takesEncoded(req), d == V10 || d == V11; got != want {
					t.Errorf("%s of %s over %s takes encoded tasks: %v", op, d.Version(), binding, got)
				}
			}
		}
		if g := GRPCOf(d); g != nil {
			for _, op := range []Op{GetTask, ListTasks} {
				if g.Method(op) == "" {
					continue
				}
				req, err := g.DecodeRequest(op, g.NewRequest(op))
				if err != nil {
					t.Fatal(err)
				}
				if takesEncoded(req) {
					t.Errorf("%s of %s over gRPC takes encoded tasks", op, d.Version())
				}
			}
		}
	}
}
