package main

import (
	"testing"

	"github.com/spf13/pflag"

	"github.com/parley-a2a/parley/a2a"
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
	if got := argument("-rf"); got != "-- -rf" {
		t.Errorf("argument(-rf) = %s", got)
	}
}

// a2a-cli §8.2: the exact command, which reaches the same agent and holds no
// credential.
func TestCommandsReachTheSameAgent(t *testing.T) {
	var f flags
	fs := pflag.NewFlagSet("send", pflag.ContinueOnError)
	f.register(fs)
	err := fs.Parse([]string{
		"-a", "https://me:hunter2@h/x y", "--bearer", "hunter2", "--insecure", "--transport", "http+json", "--svc-param", "x:hunter2",
		"--output", "json", "--config", "my.env",
	})
	if err != nil {
		t.Fatal(err)
	}
	got := newCommands("./parley", fs).reply(&a2a.Task{ID: "t 1"})
	const want = `./parley send -a https://me:xxxxx@h/x%20y --config my.env --transport HTTP+JSON --insecure --task-id 't 1' "<reply>"`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
