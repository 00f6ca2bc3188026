package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/parley-a2a/parley/internal/database"
	"github.com/parley-a2a/parley/internal/plain"
)

func deployed(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "deploy", filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// served parses the command line of a file in deploy/ as the program does, and
// returns its flags.
func served(t *testing.T, where string, args []string) *pflag.FlagSet {
	t.Helper()
	a := &app{stderr: plain.NewWriter(io.Discard), around: surroundings{lookup: func(string) (string, bool) { return "", false }}}
	cmd, rest, err := newRoot(a).Find(args)
	if err == nil {
		err = cmd.ParseFlags(rest)
	}
	if err == nil {
		err = cmd.ValidateArgs(cmd.Flags().Args())
	}
	if err != nil || cmd.Name() != "serve" {
		t.Fatalf("%s: parley %s: %v", where, strings.Join(args, " "), err)
	}
	return cmd.Flags()
}

func seconds(t *testing.T, v any) time.Duration {
	t.Helper()
	s := strings.TrimSuffix(fmt.Sprint(v), "s")
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return time.Duration(n) * time.Second
}

// drains wants a server that is told to stop to have the time for it, and some
// more: connections are closed, and the store.
func drains(t *testing.T, where string, fs *pflag.FlagSet, given time.Duration) {
	t.Helper()
	drain, err := fs.GetDuration("drain-timeout")
	if err != nil {
		t.Fatal(err)
	}
	if given < drain+5*time.Second {
		t.Errorf("%s: %v to stop are not enough for --drain-timeout %v", where, given, drain)
	}
}

func TestDeployCompose(t *testing.T) {
	doc := readYAML(t, deployed(t, "compose.yaml"))
	replica := at(t, doc, "services", "parley")
	var args []string
	for _, w := range wordsOf(t, at(t, replica, "command")) {
		args = append(args, regexp.MustCompile(`\$\{\w+:-(.*)\}`).ReplaceAllString(w, "$1"))
	}
	fs := served(t, "compose.yaml", args)
	drains(t, "compose.yaml", fs, seconds(t, at(t, replica, "stop_grace_period")))
	if n := at(t, replica, "deploy", "replicas"); n != 2 {
		t.Errorf("%v replicas", n)
	}
	at(t, replica, "environment", database.Env)
	subnet := at(t, doc, "networks", "inside", "ipam", "config", 0, "subnet")
	if !strings.Contains(strings.Join(args, " "), "--trusted-proxy="+fmt.Sprint(subnet)) {
		t.Errorf("the proxy is in %v, which is not trusted", subnet)
	}
	if file := at(t, replica, "build", "dockerfile"); file != "deploy/Dockerfile" {
		t.Errorf("built from %v", file)
	}
}

func TestDeployKubernetes(t *testing.T) {
	for _, f := range wordsOf(t, at(t, readYAML(t, deployed(t, "kubernetes/kustomization.yaml")), "resources")) {
		readYAML(t, deployed(t, "kubernetes/"+f))
	}
	doc := readYAML(t, deployed(t, "kubernetes/deployment.yaml"))
	pod := at(t, doc, "spec", "template", "spec")
	c := at(t, pod, "containers", 0)
	fs := served(t, "deployment.yaml", wordsOf(t, at(t, c, "args")))
	before := seconds(t, at(t, c, "lifecycle", "preStop", "sleep", "seconds"))
	drains(t, "deployment.yaml", fs, seconds(t, at(t, pod, "terminationGracePeriodSeconds"))-before)
	if env := at(t, c, "env", 0); at(t, env, "name") != database.Env {
		t.Errorf("the address is in %v", env)
	}
	for probe, path := range map[string]string{"startupProbe": "/livez", "livenessProbe": "/livez", "readinessProbe": "/readyz"} {
		if got := at(t, c, probe, "httpGet", "path"); got != path {
			t.Errorf("%s asks %v", probe, got)
		}
	}
	labels := fmt.Sprint(at(t, doc, "spec", "template", "metadata", "labels"))
	for name, path := range map[string][]any{
		"deployment.yaml": {"spec", "selector", "matchLabels"},
		"service.yaml":    {"spec", "selector"},
		"disruption.yaml": {"spec", "selector", "matchLabels"},
	} {
		if got := fmt.Sprint(at(t, readYAML(t, deployed(t, "kubernetes/"+name)), path...)); got != labels {
			t.Errorf("%s selects %v, the pods are %v", name, got, labels)
		}
	}
}

func TestDeploySystemd(t *testing.T) {
	unit := map[string]string{}
	for line := range strings.Lines(deployed(t, "parley.service")) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || strings.HasPrefix(line, "#") || strings.HasPrefix(line, "[") {
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if !ok {
			t.Errorf("%q is no setting", line)
		}
		unit[key] = value
	}
	fs := served(t, "parley.service", strings.Fields(unit["ExecStart"])[1:])
	drains(t, "parley.service", fs, seconds(t, unit["TimeoutStopSec"]))
	if data, _ := fs.GetString("data"); data != "/var/lib/"+unit["StateDirectory"] {
		t.Errorf("tasks are kept in %s, which systemd does not make", data)
	}
}

func TestDeployDockerfile(t *testing.T) {
	cmd := regexp.MustCompile(`(?m)^CMD (.*)$`).FindStringSubmatch(deployed(t, "Dockerfile"))
	var args []string
	if cmd == nil || json.Unmarshal([]byte(cmd[1]), &args) != nil {
		t.Fatalf("no CMD: %q", cmd)
	}
	served(t, "Dockerfile", args)
}

// What goes into repositories has no passwords in it.
func TestDeployHasNoSecrets(t *testing.T) {
	err := filepath.WalkDir(filepath.Join("..", "..", "deploy"), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, found := range regexp.MustCompile(`postgres(?:ql)?://[^\s"'@:]*:([^\s"'@]+)@`).FindAllStringSubmatch(string(text), -1) {
			if !strings.HasPrefix(found[1], "${") && found[1] != "..." {
				t.Errorf("%s has a password: %s", path, found[0])
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
