package output

import (
	"testing"

	"github.com/parley-a2a/parley/internal/plain"
)

func TestQuoteKeepsForeignIDsFromBeingCommands(t *testing.T) {
	for in, want := range map[string]string{
		"7f3c-11":               "7f3c-11",
		"http://h:1/a?b=c":      "'http://h:1/a?b=c'",
		"x; rm -rf ~":           "'x; rm -rf ~'",
		"$(reboot)`reboot`":     "'$(reboot)`reboot`'",
		"it's":                  `'it'\''s'`,
		"":                      "''",
		"a\nb\x1b[2J\u202ec":    "'a bc'",
		"http://127.0.0.1:7275": "http://127.0.0.1:7275",
	} {
		if got := plain.Quote(in); got != want {
			t.Errorf("plain.Quote(%q) = %s, want %s", in, got, want)
		}
	}
	if got := Argument("-rf"); got != "-- -rf" {
		t.Errorf("Argument(-rf) = %s", got)
	}
}
