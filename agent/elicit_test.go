package agent

import (
	"strings"
	"testing"
)

// Questions that no answer could be told apart by are the author's mistake.
func TestQuestionsThatCannotBeAsked(t *testing.T) {
	for why, questions := range map[string][]Question{
		"not optional": {{ID: "a", Text: "?", Optional: true}},
		`"" has not`:   {{Text: "?"}},
		`"a" has not`:  {{ID: "a", Text: "?"}, {ID: "a", Text: "!"}},
		`"b" has not`:  {{ID: "b"}},
	} {
		if _, err := (&Turn{}).AskAll(t.Context(), questions...); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%v: %v, want %s", questions, err, why)
		}
	}
}
