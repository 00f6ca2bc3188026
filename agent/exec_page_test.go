package agent

import (
	"bufio"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The page has every type of line with its members, and its lines are right.
func TestExecPageHasTheLines(t *testing.T) {
	page, err := os.ReadFile("../docs/exec.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "### From the program")
	rest, _, _ = strings.Cut(rest, "### To the program")
	listed := map[string]bool{}
	word := regexp.MustCompile("`([a-z]+)`")
	for in := bufio.NewScanner(strings.NewReader(rest)); in.Scan(); {
		line := in.Text()
		if strings.HasPrefix(line, "{") {
			if _, err := decodeSaid([]byte(line)); err != nil {
				t.Errorf("%s: %v", line, err)
			}
		}
		cells := strings.Split(line, "|")
		if len(cells) < 4 || !strings.HasPrefix(cells[1], " `") || strings.Contains(cells[1], "type") {
			continue
		}
		kind := strings.Trim(cells[1], " `")
		listed[kind] = true
		var members []string
		for _, m := range word.FindAllStringSubmatch(cells[2], -1) {
			members = append(members, m[1])
		}
		if want := saidMembers[kind]; !slices.Equal(members, want) {
			t.Errorf("%s has members %v on the page, %v in truth", kind, members, want)
		}
	}
	for kind := range saidMembers {
		if !listed[kind] {
			t.Errorf("the page has no %s", kind)
		}
	}
	for _, name := range ours {
		if !strings.Contains(string(page), "`"+name+"`") {
			t.Errorf("the page has no %s", name)
		}
	}
}

func FuzzSaid(f *testing.F) {
	for _, s := range []string{
		`{"type":"status","text":"x","metadata":{"a":1}}`, `{"type":"artifact","parts":[{"raw":"AA=="},{"data":[1]}],"last":true,"append":false}`,
		`{"type":"log","level":"warn","text":"x"}`, `{"type":"result","result":null}`, `{"type":"step","name":"x","task":"y"}`, `[]`, `null`, `{"type":1}`,
		`{"type":"ask","parts":null}`, `{"type":"reply","text":null}`, "{\"type\":\"fail\",\"text\":\"\xff\"}", `{"type":"status","parts":[null]}`, `{"Type":"status"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		l, err := decodeSaid(line)
		if err != nil {
			if len(err.Error()) > 1000 {
				t.Errorf("%q: an error of %d bytes", line, len(err.Error()))
			}
			return
		}
		if _, known := saidMembers[l.kind]; !known {
			t.Errorf("%q is of type %q", line, l.kind)
		}
		for _, p := range l.parts {
			if p == nil || p.Kind == 0 {
				t.Errorf("%q has a part without content", line)
			}
		}
		if (l.kind == "ask" || l.kind == "authenticate" || l.kind == "reply") && len(l.parts) == 0 {
			t.Errorf("%q asks nothing", line)
		}
	})
}
