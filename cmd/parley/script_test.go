package main

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/pflag"

	"github.com/parley-a2a/parley/internal/database"
	"github.com/parley-a2a/parley/internal/serve"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"parley": main, "xdg-open": browserMain})
}

// TestScripts runs testdata/script: the real program in processes of its own.
//
//	serve [arguments]   starts parley serve on a free port (in memory, unless
//	                    --data is among the arguments) and sets $URL and $ADDR
//	end [signal]        ends it, TERM by default, and checks that it exits 0 (not
//	                    "stop", which testscript takes for the end of the script)
//	agent kind          starts an agent of fakes_test.go and sets $URL; what it
//	                    is asked goes to $WORK/requests
//	certificate         writes a certificate for 127.0.0.1 to cert.pem and key.pem
//	until pattern code arguments
//	                    runs parley, interrupts it when a line of its standard
//	                    error matches, and checks its exit code; the outputs go
//	                    to the files out and err
//	exits code arguments
//	                    runs parley and checks its exit code
//	save VARIABLE file pattern
//	                    sets a variable to the first group of a match
//	lines file n        checks how many lines a file has
//
// $EXAMPLES is the directory of the examples,
//
// and what admin_test.go, push_script_test.go and auth_script_test.go have.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", filepath.Join(env.WorkDir, "home"))
			root, err := filepath.Abs(filepath.Join("..", ".."))
			if err != nil {
				return err
			}
			env.Setenv("EXAMPLES", filepath.Join(root, "examples"))
			env.Setenv(noLinger, "atexit_sleep_ms=0")
			env.Values[serversKey{}] = new(servers)
			env.Values[loadKey{}] = new(load)
			env.Values[listenerKey{}] = new(listener)
			env.Values[issuerKey{}] = newIssuer()
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"serve":       cmdServe,
			"end":         cmdEnd,
			"agent":       cmdAgent,
			"certificate": cmdCertificate,
			"lines":       cmdLines,
			"exits":       cmdExits,
			"save":        cmdSave,
			"until":       cmdUntil,
			"tasks":       cmdTasks,
			"dies":        cmdDies,
			"load":        cmdLoad,
			"loaded":      cmdLoaded,
			"unload":      cmdUnload,
			"atleast":     cmdAtLeast,
			"gone":        cmdGone,
			"listen":      cmdListen,
			"heard":       cmdHeard,
			"deaf":        cmdDeaf,
			"chunks":      cmdChunks,
			"awaits":      cmdAwaits,
			"refused":     cmdRefused,
			"token":       cmdToken,
			"authority":   cmdAuthority,
			"http":        cmdHTTP,
			"hangup":      cmdHangup,
			"throttled":   cmdThrottled,
			"reloads":     cmdReloads,
		},
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
	})
}

// noLinger keeps programs under the race detector from sleeping for a second
// before they end.
const noLinger = "GORACE"

type serversKey struct{}

// servers is the parley serve that a script runs.
type servers struct {
	cmd    *exec.Cmd
	stderr *strings.Builder
}

var address = regexp.MustCompile(`https?://(127\.0\.0\.1:[1-9]\d*)`)

func cmdServe(ts *testscript.TestScript, neg bool, args []string) {
	s := ts.Value(serversKey{}).(*servers)
	if neg || s.cmd != nil {
		ts.Fatalf("usage: serve [arguments], one at a time")
	}
	words := strings.Join(args, " ")
	argv := []string{"serve"}
	if !strings.Contains(words, "--listen") {
		argv = append(argv, "--listen", "127.0.0.1:0")
	}
	if !strings.Contains(words, "--data") {
		argv = append(argv, "--ephemeral")
	}
	cmd := program(ts, append(argv, args...))
	s.stderr = new(strings.Builder)
	cmd.Stderr = s.stderr
	out, err := cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	s.cmd = cmd
	ts.Defer(func() {
		if s.cmd == cmd {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	})
	var banner strings.Builder
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadString('\n')
		banner.WriteString(line)
		if strings.Contains(line, "Stop") {
			break
		}
		if err != nil {
			_ = cmd.Wait()
			ts.Fatalf("parley serve ended:\n%s%s", banner.String(), s.stderr)
		}
	}
	ts.Check(os.WriteFile(ts.MkAbs("banner"), []byte(banner.String()), 0o600))
	found := address.FindStringSubmatch(banner.String())
	if found == nil {
		ts.Fatalf("no address in:\n%s", banner.String())
	}
	ts.Setenv("URL", found[0])
	ts.Setenv("ADDR", found[1])
}

// program is parley as exec would run it, with the script's variables.
func program(ts *testscript.TestScript, args []string) *exec.Cmd {
	path := ts.Getenv("PATH")
	cmd := exec.Command(filepath.Join(filepath.SplitList(path)[0], "parley"), args...)
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = append(os.Environ(), "PATH="+path, "HOME="+ts.Getenv("HOME"), noLinger+"="+ts.Getenv(noLinger))
	var fs pflag.FlagSet
	new(flags).register(&fs)
	fs.VisitAll(func(f *pflag.Flag) {
		if v := ts.Getenv(envName(f.Name)); v != "" {
			cmd.Env = append(cmd.Env, envName(f.Name)+"="+v)
		}
	})
	for _, name := range []string{database.Env, serve.UpstreamEnv, "MODEL_KEY", "OWN_KEY", "PLAIN"} {
		if v := ts.Getenv(name); v != "" {
			cmd.Env = append(cmd.Env, name+"="+v)
		}
	}
	return cmd
}

func cmdCertificate(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: certificate")
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	ts.Check(err)
	t := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, t, t, key.Public(), key)
	ts.Check(err)
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	ts.Check(err)
	for name, block := range map[string]*pem.Block{"cert.pem": {Type: "CERTIFICATE", Bytes: der}, "key.pem": {Type: "PRIVATE KEY", Bytes: raw}} {
		ts.Check(os.WriteFile(ts.MkAbs(name), pem.EncodeToMemory(block), 0o600))
	}
}

func cmdEnd(ts *testscript.TestScript, neg bool, args []string) {
	s := ts.Value(serversKey{}).(*servers)
	if s.cmd == nil || len(args) > 1 {
		ts.Fatalf("usage: end [TERM|INT|KILL], after serve")
	}
	sig := map[string]syscall.Signal{"": syscall.SIGTERM, "TERM": syscall.SIGTERM, "INT": syscall.SIGINT, "KILL": syscall.SIGKILL}[strings.Join(args, "")]
	ts.Check(s.cmd.Process.Signal(sig))
	err := s.cmd.Wait()
	s.cmd = nil
	ts.Logf("[server log]\n%s", s.stderr)
	if (err == nil) == (neg || sig == syscall.SIGKILL) {
		ts.Fatalf("parley serve ended with %v", err)
	}
}

func cmdAgent(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: agent kind")
	}
	ctx, cancel := context.WithCancel(context.Background())
	f, err := startFake(ctx, args[0], ts.MkAbs("requests"))
	if err != nil {
		cancel()
		ts.Fatalf("%v", err)
	}
	ts.Defer(func() {
		cancel()
		f.close()
	})
	ts.Setenv("URL", f.url)
}

func cmdLines(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: lines file n")
	}
	text := ts.ReadFile(args[0])
	if n := fmt.Sprint(strings.Count(text, "\n")); (n == args[1]) == neg {
		ts.Fatalf("%s has %s lines", args[0], n)
	}
}

func cmdExits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits code arguments...")
	}
	cmd := program(ts, args[1:])
	out, _ := cmd.CombinedOutput()
	if code := fmt.Sprint(cmd.ProcessState.ExitCode()); code != args[0] {
		ts.Fatalf("parley exited with %s:\n%s", code, out)
	}
}

// cmdSave sets a variable to the first group of a pattern in a file.
func cmdSave(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: save VARIABLE file pattern")
	}
	m := regexp.MustCompile(`(?m)` + args[2]).FindStringSubmatch(ts.ReadFile(args[1]))
	if m == nil {
		ts.Fatalf("%s has no match of %s", args[1], args[2])
	}
	ts.Setenv(args[0], m[1])
}

// cmdUntil runs parley until a line of its output matches, interrupts it, and
// leaves both outputs in the files out and err. It must exit with the code.
func cmdUntil(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: until pattern code arguments...")
	}
	cmd := program(ts, args[2:])
	var out, errs strings.Builder
	cmd.Stdout = &out
	pipe, err := cmd.StderrPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	pattern := regexp.MustCompile(args[0])
	lines := bufio.NewReader(pipe)
	for {
		line, err := lines.ReadString('\n')
		errs.WriteString(line)
		if pattern.MatchString(line) {
			ts.Check(cmd.Process.Signal(os.Interrupt))
		}
		if err == io.EOF {
			break
		}
		ts.Check(err)
	}
	_ = cmd.Wait()
	ts.Check(os.WriteFile(ts.MkAbs("out"), []byte(out.String()), 0o600))
	ts.Check(os.WriteFile(ts.MkAbs("err"), []byte(errs.String()), 0o600))
	ts.Logf("[out]\n%s[err]\n%s", out.String(), errs.String())
	if code := fmt.Sprint(cmd.ProcessState.ExitCode()); code != args[1] {
		ts.Fatalf("parley exited with %s", code)
	}
}
