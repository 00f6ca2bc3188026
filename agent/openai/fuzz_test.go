package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"testing"
	"testing/iotest"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/agent/openai/openaitest"
	"github.com/parley-a2a/parley/internal/wake"
)

// deaf is a host that only artifacts are said to.
type deaf struct {
	agent.Host
	said bytes.Buffer
}

func (h *deaf) NewArtifactID(int) string { return "a" }
func (h *deaf) Artifact(a *a2a.Artifact, _, _ bool) error {
	for _, p := range a.Parts {
		h.said.WriteString(p.Text)
	}
	return nil
}

// read has a run read a stream.
func read(body io.Reader) (*answer, string, error) {
	a, err := New("http://model.test/v1", "m", &Options{MaxAnswer: 4096})
	if err != nil {
		return nil, "", err
	}
	h := &deaf{}
	r := &run{a: a, t: agent.NewTurn(h)}
	r.out = &output{artifact: r.t.Artifact("answer"), every: time.Hour}
	r.out.begin()
	ans, err := r.stream(context.Background(), &clock{wake.Stopped(), time.Hour}, body)
	r.out.rest()
	if err == nil {
		err = r.out.flush()
	}
	return ans, h.said.String(), err
}

// Whatever comes: it ends, is bounded, means the same however it is split, and what
// is made of it can be recorded and sent back.
func FuzzStream(f *testing.F) {
	for _, name := range openaitest.Fixtures() {
		f.Add([]byte(openaitest.Fixture(name).Pieces[0]))
	}
	f.Add([]byte("data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":-1},{\"id\":\"\"},{}]}}]}\n\ndata: [DONE]\n\n"))
	f.Add([]byte("data: null\n\ndata: {}\ndata: [DONE]\n\n"))
	f.Fuzz(func(t *testing.T, body []byte) {
		ans, said, err := read(bytes.NewReader(body))
		again, saidAgain, errAgain := read(iotest.OneByteReader(bytes.NewReader(body)))
		if (err == nil) != (errAgain == nil) {
			t.Fatalf("%v in one piece, %v byte by byte", err, errAgain)
		}
		if err != nil {
			return
		}
		if len(ans.Text) > 4096 || said != ans.Text || saidAgain != said || len(again.Calls) != len(ans.Calls) {
			t.Fatalf("said %q of %q, then %q, %d and %d calls", said, ans.Text, saidAgain, len(ans.Calls), len(again.Calls))
		}
		ids := map[string]bool{}
		for _, c := range ans.Calls {
			if c.ID == "" || ids[c.ID] || c.Function.Name == "" || c.Function.Arguments == "" {
				t.Fatalf("call %+v among %v", c, ids)
			}
			ids[c.ID] = true
		}
		doc, err := json.Marshal(ans)
		if v := (&a2a.Artifact{ArtifactID: "step", Parts: []*a2a.Part{a2a.DataPart(doc)}}).Validate(); v != nil {
			t.Fatalf("%s: %v", doc, v)
		}
		var back answer
		if err != nil || json.Unmarshal(doc, &back) != nil || len(back.Calls) != len(ans.Calls) {
			t.Fatalf("%s: %v", doc, err)
		}
	})
}

func FuzzError(f *testing.F) {
	for _, doc := range []string{
		`{"error":{"message":"m","type":"t","param":"p","code":429}}`, `{"error":"no"}`, `[{"error":{"code":400}}]`, `{"object":"error","message":"m"}`,
		`{"detail":[{"loc":["body"],"msg":"m"}]}`, `{"message":null}`, "<html>", "",
	} {
		f.Add([]byte(doc), "5")
	}
	f.Fuzz(func(t *testing.T, doc []byte, after string) {
		e := readError(doc)
		ft := refused(400, http.Header{"Retry-After": {after}, "Retry-After-Ms": {after}}, e)
		if ft.public == "" || ft.Error() == "" || len(e.Error()) > 1000 || ft.after < 0 {
			t.Fatalf("%+v", ft)
		}
	})
}

// Over HTTP/2 an endpoint that takes nothing keeps neither the connection nor the goroutine
// that writes to it; internal/upload tests what the field does.
func TestUnreadConnectionsEnd(t *testing.T) {
	if c := newClient().Transport.(*http.Transport).HTTP2; c == nil || c.WriteByteTimeout <= 0 {
		t.Errorf("the default client has %+v", c)
	}
}
