package draft

import (
	"strings"
	"testing"
)

func TestAgentsAreNamedByWords(t *testing.T) {
	for in, want := range map[string]string{"My Agent!": "my-agent", "é": "agent", "--": "agent", strings.Repeat("a-", 60): strings.Repeat("a-", 31) + "a"} {
		if got := slug(in); got != want {
			t.Errorf("%q is called %q, want %q", in, got, want)
		}
	}
}
