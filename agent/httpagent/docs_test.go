package httpagent

import (
	"net"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"
)

// The service in docs/http.md is one.
func TestServiceOfTheDocs(t *testing.T) {
	w := newWorldAfter(t, nil, pythonService(t, "-c", blocks(t, "python")[0])+"/agent", nil, time.Minute)
	if res := w.send(message("hello")); res.Message == nil || res.Message.Text() != "you said hello" {
		t.Errorf("%+v", res)
	}
}

func TestServiceOfTheExamples(t *testing.T) {
	w := newWorldAfter(t, nil, pythonService(t, "../../examples/http/service.py"), nil, time.Minute)
	if res := w.send(message("Paris")); res.Message == nil || res.Message.Text() != "Sunny in Paris." {
		t.Errorf("%+v", res)
	}
}

// pythonService runs a program in Python that takes a port, and returns its URL.
func pythonService(t *testing.T, program ...string) string {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip("python3 is not here")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	cmd := exec.Command(python, append(program, addr[strings.LastIndex(addr, ":")+1:])...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	poll(t, "there", func() bool {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
	return "http://" + addr
}

func TestStreamOfTheDocs(t *testing.T) {
	var body string
	for _, b := range blocks(t, "") {
		if strings.HasPrefix(b, "data:") {
			body = b + "\n"
		}
	}
	s := serve(t, func(p *post) { p.say(200, "text/event-stream", body) })
	w := newWorld(t, nil, s.URL, nil)
	wantOutcome(t, w.task("Paris"), "completed | report: Rain, , later sun.")
}

// blocks returns the code of a language in docs/http.md.
func blocks(t *testing.T, lang string) (all []string) {
	page, err := os.ReadFile("../../docs/http.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$").FindAllStringSubmatch(string(page), -1) {
		if m[1] == lang {
			all = append(all, m[2])
		}
	}
	if len(all) == 0 {
		t.Fatalf("no code in %q", lang)
	}
	return all
}
