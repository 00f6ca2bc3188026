package wirelog

import (
	"bytes"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/iotest"
)

// A body is logged line by line, however it is read. Little is kept of a line that does
// not end, and no part of a secret is shown.
func TestBodies(t *testing.T) {
	const secret = "s3cret-s3cret-s3cret"
	long := strings.Repeat("x", 2*maxLine-10)
	for name, c := range map[string]struct {
		body string
		want []string
	}{
		"lines":                {"one\n\ntwo\nthree", []string{"one", "two", "three"}},
		"a secret":             {"a " + secret + " b\n", []string{"a [redacted] b"}},
		"a long line":          {long + "\nnext\n", []string{long[:maxLine] + "… (cut)", "next"}},
		"a secret at the end":  {long + secret + long, []string{long[:maxLine] + "… (cut)"}},
		"secrets all the way":  {"ab" + strings.Repeat(secret, 20_000), []string{"… (cut)"}},
		"a secret after a cut": {strings.Repeat("y", 3*maxLine) + secret + "\nz", []string{strings.Repeat("y", maxLine) + "… (cut)", "z"}},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			w := &Transport{
				Log:    slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug})),
				Redact: func(s string) string { return strings.ReplaceAll(s, secret, "[redacted]") },
			}
			b := &loggedBody{ReadCloser: io.NopCloser(iotest.HalfReader(strings.NewReader(c.body))), wire: w}
			if _, err := io.Copy(io.Discard, b); err != nil {
				t.Fatal(err)
			}
			if err := b.Close(); err != nil {
				t.Fatal(err)
			}
			if cap(b.line) > 3*maxLine {
				t.Errorf("%d bytes are kept", cap(b.line))
			}
			var got []string
			for line := range strings.Lines(out.String()) {
				_, text, _ := strings.Cut(strings.TrimSpace(line), "body=")
				got = append(got, strings.Trim(text, `"`))
			}
			if len(got) != len(c.want) {
				t.Fatalf("%d lines, want %d", len(got), len(c.want))
			}
			for i := range got {
				if name == "secrets all the way" {
					if shown := strings.ReplaceAll(got[i], "[redacted]", ""); strings.Contains(shown, "s3cret") {
						t.Errorf("shows %q", shown)
					}
				} else if got[i] != c.want[i] {
					t.Errorf("line %d: %.40s… (%d bytes), want %.40s… (%d)", i, got[i], len(got[i]), c.want[i], len(c.want[i]))
				}
			}
		})
	}
}
