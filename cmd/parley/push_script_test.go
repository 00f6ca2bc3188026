package main

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// Commands of the scripts of webhooks:
//
//	listen [arguments]  starts parley push listen and sets $HOOK, its URL, and
//	                    $HOOKADDR
//	heard n pattern     waits until n lines of what it has printed match
//	deaf                ends it and leaves what it has printed in the file heard
//	awaits pattern arguments
//	                    runs parley until its standard output matches
//	chunks n task       checks that the file heard has the chunks 1 to n of a task
//	                    in order, without duplicates that are not marked

type listenerKey struct{}

// listener is the parley push listen that a script runs.
type listener struct {
	cmd *exec.Cmd
	out *transcript
}

func cmdListen(ts *testscript.TestScript, neg bool, args []string) {
	l := ts.Value(listenerKey{}).(*listener)
	if neg || l.cmd != nil {
		ts.Fatalf("usage: listen [arguments], one at a time")
	}
	cmd, out, errs := program(ts, append([]string{"push", "listen"}, args...)), new(transcript), new(strings.Builder)
	cmd.Stdout, cmd.Stderr = out, errs
	ts.Check(cmd.Start())
	l.cmd, l.out = cmd, out
	ts.Defer(func() {
		if l.cmd == cmd {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			ts.Logf("[heard]\n%s", out.String())
		}
	})
	url := l.await(ts, 1, `"?(?:URL|url)"?: ?"?(http://[^"\s]+)`)
	ts.Setenv("HOOK", url)
	ts.Setenv("HOOKADDR", strings.Trim(strings.TrimPrefix(url, "http://"), "/"))
}

// await waits for n matches and returns the last group of the last one.
func (l *listener) await(ts *testscript.TestScript, n int, pattern string) string {
	re, over := regexp.MustCompile(`(?m)`+pattern), time.After(patience)
	for {
		text, grown := l.out.look()
		if all := re.FindAllStringSubmatch(text, -1); len(all) >= n {
			m := all[len(all)-1]
			return m[len(m)-1]
		}
		select {
		case <-grown:
		case <-over:
			ts.Fatalf("there are not %d of %s in\n%s", n, pattern, text)
		}
	}
}

func cmdHeard(ts *testscript.TestScript, neg bool, args []string) {
	l := ts.Value(listenerKey{}).(*listener)
	n := 0
	if len(args) == 2 {
		n, _ = strconv.Atoi(args[0])
	}
	if neg || n < 1 || l.cmd == nil {
		ts.Fatalf("usage: heard n pattern, after listen")
	}
	l.await(ts, n, args[1])
}

func cmdDeaf(ts *testscript.TestScript, neg bool, args []string) {
	l := ts.Value(listenerKey{}).(*listener)
	if neg || l.cmd == nil || len(args) > 0 {
		ts.Fatalf("usage: deaf, after listen")
	}
	ts.Check(l.cmd.Process.Signal(syscall.SIGINT))
	err := l.cmd.Wait()
	l.cmd = nil
	ts.Logf("[heard]\n%s", l.out.String())
	ts.Check(os.WriteFile(ts.MkAbs("heard"), []byte(l.out.String()), 0o600))
	if err != nil {
		ts.Fatalf("parley push listen ended with %v", err)
	}
}

func cmdChunks(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: chunks n task")
	}
	var got []string
	for _, m := range regexp.MustCompile(args[1]+` artifact .*: chunk (\d+) \[(.*)\]`).FindAllStringSubmatch(ts.ReadFile("heard"), -1) {
		switch {
		case !strings.Contains(m[2], "duplicate"):
			got = append(got, m[1])
		case len(got) == 0 || got[len(got)-1] != m[1]:
			ts.Fatalf("chunk %s comes again behind %v", m[1], got)
		}
	}
	n, _ := strconv.Atoi(args[0])
	for i := range max(n, len(got)) {
		if i >= len(got) || got[i] != strconv.Itoa(i+1) {
			ts.Fatalf("the chunks are %v", got)
		}
	}
	if len(got) != n {
		ts.Fatalf("the chunks are %v", got)
	}
}

func cmdAwaits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: awaits pattern arguments...")
	}
	re, over := regexp.MustCompile(`(?m)`+args[0]), time.Now().Add(patience)
	for {
		out, err := program(ts, args[1:]).Output()
		if err == nil && re.Match(out) {
			return
		}
		if time.Now().After(over) {
			ts.Fatalf("no %s in\n%s%v", args[0], out, err)
		}
	}
}
