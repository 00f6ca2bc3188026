package main

import (
	"encoding/xml"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/parley-a2a/parley/test/fixtures"
)

var picture = flag.Bool("picture", false, "record docs/pictures/resume.svg anew")

const pictureFile = "../../docs/pictures/resume.svg"

// shot is a line of a recorded terminal.
type shot struct {
	column int // 0 for the server's terminal, 1 for the client's
	at     time.Duration
	text   string
}

// TestPicture holds README's picture to what it shows: a server is killed in the middle
// of a stream, and the client has each chunk once. With -picture it is recorded anew,
// from two real terminals.
func TestPicture(t *testing.T) {
	if *picture {
		if err := os.WriteFile(pictureFile, []byte(draw(record(t))), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	file, err := os.Open(pictureFile)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var lines []string
	size := 0
	for in := xml.NewDecoder(file); ; {
		token, err := in.Token()
		if err == io.EOF {
			size = int(in.InputOffset())
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if text, ok := token.(xml.CharData); ok {
			lines = append(lines, string(text))
		}
	}
	shown := strings.Join(lines, "\n")
	for _, want := range []string{"Killed\n", "connection lost", "chunk 1\n", "chunk 12\n", "completed"} {
		if strings.Count(shown, want) != 1 {
			t.Errorf("the picture has %q %d times, not once", want, strings.Count(shown, want))
		}
	}
	if size > 20_000 {
		t.Errorf("the picture has %d bytes, more than a page should load", size)
	}
}

// record plays the demonstration and returns what both terminals showed, and when.
func record(t *testing.T) (all []shot) {
	s := newSession(t)
	var began time.Time
	say := func(column int, text string) {
		if began.IsZero() {
			began = time.Now()
		}
		all = append(all, shot{column, time.Since(began), text})
	}
	serve := func() {
		say(0, "$ parley serve")
		for line := range strings.Lines(s.first.Start("parley serve", bannerEnd)) {
			if regexp.MustCompile(`^  (?:Agent|JSON-RPC|Tasks) `).MatchString(line) {
				say(0, strings.TrimRight(line, "\n"))
			}
		}
	}
	serve()
	const command = `parley send --stream "stream 12 400"`
	say(1, "$ "+command)
	s.second.Type(command + "\r")
	s.second.Await("\n")
	for {
		line := strings.TrimSpace(fixtures.Shown(s.second.Await("\n")))
		if line == "" || strings.HasPrefix(line, "continue:") {
			continue
		}
		say(1, uuids.ReplaceAllString(line, "…"))
		switch {
		case line == "chunk 4":
			s.third().Run(`pkill -9 -f "parley serve"`)
			s.first.Prompt()
			say(0, "Killed")
		case strings.Contains(line, "connection lost"):
			serve()
		case strings.Contains(line, "completed"):
			return all
		}
	}
}

// draw makes an animation of a recording, which begins again 4 s after its end. Where
// nothing is animated, all of it is shown.
func draw(all []shot) string {
	const width, step, left, right = 900, 20, 24, 430
	whole := all[len(all)-1].at + 4*time.Second
	var lines, rules strings.Builder
	rows := [2]int{}
	for i, s := range all {
		x := left
		if s.column == 1 {
			x = right
		}
		rows[s.column]++
		class := "l"
		switch {
		case strings.HasPrefix(s.text, "$ "):
			class = "l c"
		case s.text == "Killed" || strings.Contains(s.text, "connection lost"):
			class = "l b"
		case strings.HasPrefix(s.text, "●"):
			class = "l g"
		}
		percent := 100 * float64(s.at) / float64(whole)
		fmt.Fprintf(&rules, "@keyframes k%d{0%%,%.2f%%{opacity:0}%.2f%%,100%%{opacity:1}}\n", i, percent, percent+0.01)
		fmt.Fprintf(&lines, `<text class="%s" x="%d" y="%d" style="animation-name:k%d">`, class, x, 46+rows[s.column]*step, i)
		_ = xml.EscapeText(&lines, []byte(s.text))
		lines.WriteString("</text>\n")
	}
	height := 46 + max(rows[0], rows[1])*step + 24
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %[1]d %[2]d" role="img" aria-label="A server is killed in the middle of a stream; the client gets the rest after its restart">
<style>
text{font:14px ui-monospace,Menlo,Consolas,monospace;fill:#d8d8d4;white-space:pre}
.h{fill:#8a8b88}.c{fill:#93b2ff}.b{fill:#ff8f85}.g{fill:#7bd69b}
.l{animation-duration:%.2[3]fs;animation-iteration-count:infinite;animation-timing-function:linear}
@media (prefers-reduced-motion:reduce){.l{animation:none}}
%[4]s</style>
<rect width="%[1]d" height="%[2]d" rx="10" fill="#17181a"/>
<path d="M%[5]d 44V%[6]d" stroke="#3a3c42"/>
<text class="h" x="%[7]d" y="32">server</text>
<text class="h" x="%[8]d" y="32">client</text>
%[9]s</svg>
`, width, height, whole.Seconds(), rules.String(), right-left/2-8, height-20, left, right, lines.String())
}
