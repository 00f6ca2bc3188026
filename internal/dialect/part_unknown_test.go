package dialect

import (
	"testing"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/pb"
)

// Over gRPC a part of a later version has no visible content: it is kept as an unknown
// part, but only in answers.
func TestUnknownPartOverGRPC(t *testing.T) {
	p := &pb.Part{Filename: "f"}
	if got := (&reader{depth: resultDepth, answer: true}).part("", p); got.Kind != a2a.PartUnknown || string(got.AppendJSON(nil)) != `{"filename":"f"}` {
		t.Errorf("an answer's is %+v", got)
	}
	if got := (&reader{depth: requestDepth}).part("", p); got.Kind != 0 {
		t.Errorf("a request's is %+v", got)
	}
}

// So is a state.
func TestUnknownStateOverGRPC(t *testing.T) {
	s := &pb.TaskStatus{State: 99}
	r := &reader{depth: resultDepth, answer: true}
	if got := r.status("", s); got.State != a2a.TaskStateUnspecified || r.err() != nil {
		t.Errorf("an answer's is %v, %v", got.State, r.err())
	}
	if r = (&reader{depth: requestDepth}); r.status("status", s).State != 0 || r.err() == nil {
		t.Error("a request's is read")
	}
}

// In 0.3, too, a part that makes no sense does not cost the rest of an answer.
func TestUnknownPartBefore10(t *testing.T) {
	const doc = `{"kind":"task","id":"t","contextId":"c","status":{"state":"completed"},"artifacts":[{"artifactId":"a","parts":[{"kind":"text","text":"x"},{"kind":"hologram","light":1}]}]}`
	res, err := v03Codec{}.DecodeResult(GetTask, &a2a.GetTaskRequest{ID: "t"}, []byte(doc))
	if err != nil {
		t.Fatal(err)
	}
	parts := res.(*a2a.Task).Artifacts[0].Parts
	if len(parts) != 2 || parts[0].Text != "x" || parts[1].Kind != a2a.PartUnknown || string(parts[1].Data) != `{"kind":"hologram","light":1}` {
		t.Errorf("%+v", parts)
	}
}
