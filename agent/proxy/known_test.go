package proxy

import (
	"testing"

	"github.com/parley-a2a/parley/a2a"
)

// An answer of the agent behind in a later version is translated into ours: an unknown
// part is data, and unknown members are dropped.
func TestUnknownPartsBecomeData(t *testing.T) {
	for doc, want := range map[string]string{
		`{"task":{"id":"t","status":{"state":"TASK_STATE_WORKING","message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"hologram":1}],"x":1},"x":1},"artifacts":[{"artifactId":"a","parts":[{"text":"t","x":1},{"hologram":{"y":2}}],"x":1}]}}`: `{"task":{"id":"t","status":{"state":"TASK_STATE_WORKING","message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"data":{"hologram":1}}]}},"artifacts":[{"artifactId":"a","parts":[{"text":"t"},{"data":{"hologram":{"y":2}}}]}]}}`,
		`{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"hologram":1}]}}`:                                     `{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"data":{"hologram":1}}]}}`,
		`{"artifactUpdate":{"taskId":"t","contextId":"c","artifact":{"artifactId":"a","parts":[{"hologram":1}],"x":1}}}`: `{"artifactUpdate":{"taskId":"t","contextId":"c","artifact":{"artifactId":"a","parts":[{"data":{"hologram":1}}]}}}`,
	} {
		var el a2a.StreamResponse
		if err := a2a.UnmarshalAnswer([]byte(doc), &el); err != nil {
			t.Fatal(err)
		}
		known(&el)
		if got := string(el.AppendJSON(nil)); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}
