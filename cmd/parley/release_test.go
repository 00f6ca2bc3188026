package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// action runs .github/actions/conformance as GitHub would, and returns what it prints, its
// outputs, its summary and its exit code.
func (k tools) action(t *testing.T, env ...string) (said, outputs, summary string, code int) {
	t.Helper()
	script, err := filepath.Abs("../../.github/actions/conformance/run")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("bash", script)
	cmd.Dir = k.dir
	temp := t.TempDir()
	output, step := filepath.Join(temp, "output"), filepath.Join(temp, "summary")
	cmd.Env = append(os.Environ(), "HOME="+k.dir, noLinger+"=atexit_sleep_ms=0", "RUNNER_TEMP="+temp, "GITHUB_OUTPUT="+output, "GITHUB_STEP_SUMMARY="+step, "INPUT_WAIT=0")
	cmd.Env = append(cmd.Env, env...)
	text, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	read := func(name string) string { b, _ := os.ReadFile(name); return string(b) }
	return string(text), read(output), read(step), cmd.ProcessState.ExitCode()
}

func needBash(t *testing.T) {
	t.Helper()
	for _, name := range []string{"bash", "curl", "tar"} {
		if _, err := exec.LookPath(name); err != nil {
			if os.Getenv("CI") == "true" {
				t.Fatal(err)
			}
			t.Skip(err)
		}
	}
}

func TestConformanceAction(t *testing.T) {
	needBash(t)
	k := newTools(t)
	agent := k.start(t, "", "conformance", "agent", "--listen", "127.0.0.1:0")
	url := agent.await(&agent.out, `(http://127\.0\.0\.1:\d+)$`)
	few := "INPUT_OPTIONS=--only CARD-* --transport jsonrpc --a2a-version 1.0"

	said, outputs, summary, code := k.action(t, "PARLEY="+k.bin, "INPUT_URL="+url, few)
	if code != 0 || !strings.Contains(outputs, "report=conformance.txt\nexit-code=0\n") || !strings.Contains(said, "PASS") && !strings.Contains(said, "passed") || !strings.Contains(summary, "    ") {
		t.Errorf("exit code %d, outputs %q, summary %q:\n%s", code, outputs, summary, said)
	}
	said, outputs, _, code = k.action(t, "PARLEY="+k.bin, "INPUT_URL="+url, few, "INPUT_FORMAT=junit", "INPUT_LEVEL=must", "INPUT_REPORT=c.xml")
	report, _ := os.ReadFile(filepath.Join(k.dir, "c.xml"))
	if code != 0 || !strings.Contains(outputs, "report=c.xml") || !strings.Contains(string(report), "<testsuite") {
		t.Errorf("exit code %d, report %q:\n%s", code, report, said)
	}
	for name, test := range map[string]struct {
		env  []string
		code int
		want string
	}{
		"a test that does not pass":   {[]string{"INPUT_OPTIONS=--only NOTHING-*"}, 1, "::error title=Parley conformance::the agent does not conform"},
		"nobody there":                {[]string{"INPUT_URL=http://127.0.0.1:1"}, 3, "::error title=Parley conformance::the agent cannot be reached"},
		"a format that nobody knows":  {[]string{"INPUT_FORMAT=pdf"}, 2, "format is pdf"},
		"a baseline that is not here": {[]string{"INPUT_BASELINE=nowhere.txt"}, 2, "exit code 2"},
	} {
		said, _, _, code := k.action(t, append([]string{"PARLEY=" + k.bin, "INPUT_URL=" + url, few}, test.env...)...)
		if code != test.code || !strings.Contains(said, test.want) {
			t.Errorf("%s: exit code %d, want %d and %q:\n%s", name, code, test.code, test.want, said)
		}
	}
}

// Without PARLEY a release is downloaded, and run only if its checksum is right.
func TestConformanceActionDownloads(t *testing.T) {
	needBash(t)
	k := newTools(t)
	var archive bytes.Buffer
	z := gzip.NewWriter(&archive)
	w := tar.NewWriter(z)
	const program = "#!/bin/sh\necho \"released: $*\"\n"
	_ = w.WriteHeader(&tar.Header{Name: "parley", Mode: 0o755, Size: int64(len(program))})
	_, _ = w.Write([]byte(program))
	_ = w.Close()
	_ = z.Close()
	name := fmt.Sprintf("parley_1.2.3_%s_%s.tar.gz", runtime.GOOS, runtime.GOARCH)
	sum := fmt.Sprintf("%x", sha256.Sum256(archive.Bytes()))
	releases := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/latest/download/checksums.txt", "/download/v1.2.3/checksums.txt":
			fmt.Fprintf(w, "%x  parley_1.2.3_plan9_386.tar.gz\n%s  %s\n", 1, sum, name)
		case "/download/v6.6.6/checksums.txt":
			fmt.Fprintf(w, "%x  %s\n", sha256.Sum256(nil), name)
		case "/latest/download/" + name, "/download/v1.2.3/" + name, "/download/v6.6.6/" + name:
			_, _ = w.Write(archive.Bytes())
		default:
			http.NotFound(w, r)
		}
	}))
	defer releases.Close()
	for version, want := range map[string]string{"latest": "", "v1.2.3": "", "v6.6.6": "could not be downloaded", "v9.9.9": "could not be downloaded"} {
		said, _, _, code := k.action(t, "PARLEY=", "PARLEY_RELEASES="+releases.URL, "INPUT_URL="+releases.URL, "INPUT_VERSION="+version)
		if want == "" && (code != 0 || !strings.Contains(said, "released: version\n") || !strings.Contains(said, "released: conformance -a "+releases.URL+" --level may --format text\n")) ||
			want != "" && (code != 2 || !strings.Contains(said, want) || strings.Contains(said, "released:")) {
			t.Errorf("%s: exit code %d:\n%s", version, code, said)
		}
	}
}

// The package's unit is that of deploy/ but for the lines of the drop-in, and what
// .goreleaser.yaml takes from the tree is there.
func TestPackageHasTheUnit(t *testing.T) {
	unit, dropIn := deployed(t, "parley.service"), deployed(t, "release/debian.conf")
	start := regexp.MustCompile(`(?m)^ExecStart=(.+)$`)
	want := strings.Replace(start.FindStringSubmatch(unit)[1], "/usr/local/bin/", "/usr/bin/", 1)
	if got := start.FindStringSubmatch(dropIn); got == nil || got[1] != want || !strings.Contains(dropIn, "ExecStart=\nExecStart=") {
		t.Errorf("the drop-in starts %q, want %q after an empty ExecStart=", got, want)
	}
	config, err := os.ReadFile("../../.goreleaser.yaml")
	if err != nil {
		t.Fatal(err)
	}
	paths := regexp.MustCompile(`(?:src: |dockerfile: |install: |remove: |- |files: \[)((?:deploy/|LICENSE|CHANGELOG)[A-Za-z0-9/_.]*)`).FindAllStringSubmatch(string(config), -1)
	if len(paths) < 10 {
		t.Fatalf("only %d paths were found: %q", len(paths), paths)
	}
	for _, m := range paths {
		if _, err := os.Stat("../../" + m[1]); err != nil {
			t.Error(err)
		}
	}
	prepare := deployed(t, "release/prepare")
	for _, flag := range []string{"-s -w", "main.release=", "main.commit=", "main.date=", "-trimpath", "-buildvcs=false", "CGO_ENABLED=0"} {
		if !strings.Contains(prepare, flag) || !strings.Contains(string(config), flag) {
			t.Errorf("%s is not in both prepare and .goreleaser.yaml", flag)
		}
	}
}
