package main

import (
	"testing"

	"github.com/spf13/pflag"

	"github.com/parley-a2a/parley/a2a"
)

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
	got := newCommands("./parley", fs).Reply(&a2a.Task{ID: "t 1"})
	const want = `./parley send -a https://me:xxxxx@h/x%20y --config my.env --transport HTTP+JSON --insecure --task-id 't 1' "<reply>"`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
