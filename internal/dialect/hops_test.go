package dialect

import (
	"errors"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/a2a"
)

func TestReadHops(t *testing.T) {
	for _, tt := range []struct {
		lines string
		want  int // -1 if it is refused
	}{
		{"", 0}, {"0", 0}, {" 7\t", 7}, {"3|12|4", 12}, {"1001", maxHops},
		{"18446744073709551616", maxHops}, {strings.Repeat("9", 5000), maxHops},
		{"-1", -1}, {"+1", -1}, {"1.0", -1}, {"0x1", -1}, {"1, 2", -1}, {"|", -1}, {"1_000", -1}, {"seven", -1}, {"3|x", -1},
	} {
		var lines []string
		if tt.lines != "" {
			lines = strings.Split(tt.lines, "|")
		}
		got, err := ReadHops(lines)
		var e *a2a.Error
		switch {
		case tt.want < 0 && (!errors.As(err, &e) || e.Code != a2a.CodeInvalidParams || len(e.Fields) != 1 || e.Fields[0].Field != HopsHeader):
			t.Errorf("%.40q: %d, %v", tt.lines, got, err)
		case tt.want >= 0 && (err != nil || got != tt.want):
			t.Errorf("%.40q: %d, %v; want %d", tt.lines, got, err, tt.want)
		}
	}
}

func FuzzReadHops(f *testing.F) {
	for _, s := range []string{"0", "17", "-1", "99999999999999999999", "a", "", "1\n2"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n, err := ReadHops(strings.Split(s, "\n"))
		if err != nil {
			return
		}
		if again, err := ReadHops([]string{FormatHops(n)}); err != nil || again != n {
			t.Fatalf("%q: %d, then %d, %v", s, n, again, err)
		}
	})
}
