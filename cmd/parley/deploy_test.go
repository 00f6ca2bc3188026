package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/parley-a2a/parley/internal/database"
	"github.com/parley-a2a/parley/internal/plain"
	"github.com/parley-a2a/parley/internal/terminal"
)

func deployed(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "deploy", filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// configuration is a parley.yaml of deploy/ that holds no mistake.
func configuration(t *testing.T, name string) any {
	t.Helper()
	path := filepath.Join("..", "..", "deploy", filepath.FromSlash(name))
	var out strings.Builder
	around := surroundings{lookup: func(string) (string, bool) { return "", false }}
	screen := terminal.New(&out, &out, around.lookup)
	a := &app{stdout: screen.Out(), stderr: plain.NewWriter(screen.Err()), screen: screen, around: around}
	cmd := newRoot(a)
	cmd.SetArgs([]string{"config", "validate", "--elsewhere", path})
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Fatalf("%s: %v: %s", name, err, &out)
	}
	return readYAML(t, deployed(t, name))
}

// judged has a tool look at a file, where it is installed.
func judged(t *testing.T, tool string, args ...string) {
	t.Helper()
	if _, err := exec.LookPath(tool); err != nil {
		t.Logf("not looked at by %s, which is not installed", tool)
		return
	}
	if out, err := exec.CommandContext(t.Context(), tool, args...).CombinedOutput(); err != nil {
		t.Errorf("%s %s: %v\n%s", tool, strings.Join(args, " "), err, out)
	}
}

// served parses the command line of a file in deploy/ as the program does, and
// returns its flags. The agents are in the parley.yaml that it names.
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
	if file, _ := cmd.Flags().GetString("file"); file != "/etc/parley/parley.yaml" {
		t.Errorf("%s serves %q", where, file)
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
func drains(t *testing.T, where string, conf any, given time.Duration) {
	t.Helper()
	if drain := seconds(t, at(t, conf, "drain_timeout")); given < drain+5*time.Second {
		t.Errorf("%s: %v to stop are not enough for a drain_timeout of %v", where, given, drain)
	}
}

func TestDeployCompose(t *testing.T) {
	doc := readYAML(t, deployed(t, "compose.yaml"))
	replica := at(t, doc, "services", "parley")
	served(t, "compose.yaml", wordsOf(t, at(t, replica, "command")))
	if v := at(t, replica, "volumes", 0); v != "./replicas.yaml:/etc/parley/parley.yaml:ro" {
		t.Errorf("mounts %v", v)
	}
	conf := configuration(t, "replicas.yaml")
	drains(t, "compose.yaml", conf, seconds(t, at(t, replica, "stop_grace_period")))
	at(t, replica, "environment", "PUBLIC_URL")
	if n := at(t, replica, "deploy", "replicas"); n != 2 {
		t.Errorf("%v replicas", n)
	}
	at(t, replica, "environment", database.Env)
	subnet := at(t, doc, "networks", "inside", "ipam", "config", 0, "subnet")
	if trusted := at(t, conf, "trusted_proxies", 0); trusted != subnet {
		t.Errorf("the proxy is in %v, %v is trusted", subnet, trusted)
	}
	judged(t, "haproxy", "-c", "-f", filepath.Join("..", "..", "deploy", "haproxy.cfg"))
	if file := at(t, replica, "build", "dockerfile"); file != "deploy/Dockerfile" {
		t.Errorf("built from %v", file)
	}
}

func TestDeployKubernetes(t *testing.T) {
	kustomization := readYAML(t, deployed(t, "kubernetes/kustomization.yaml"))
	for _, f := range wordsOf(t, at(t, kustomization, "resources")) {
		readYAML(t, deployed(t, "kubernetes/"+f))
	}
	generated := at(t, kustomization, "configMapGenerator", 0)
	conf := configuration(t, "kubernetes/"+fmt.Sprint(at(t, generated, "files", 0)))
	judged(t, "kubectl", "kustomize", filepath.Join("..", "..", "deploy", "kubernetes"))
	doc := readYAML(t, deployed(t, "kubernetes/deployment.yaml"))
	pod := at(t, doc, "spec", "template", "spec")
	c := at(t, pod, "containers", 0)
	served(t, "deployment.yaml", wordsOf(t, at(t, c, "args")))
	if m := at(t, c, "volumeMounts", 0, "mountPath"); m != "/etc/parley" {
		t.Errorf("the configuration is in %v", m)
	}
	if of, is := at(t, pod, "volumes", 0, "configMap", "name"), at(t, generated, "name"); of != is {
		t.Errorf("mounts the configuration %v, there is %v", of, is)
	}
	before := seconds(t, at(t, c, "lifecycle", "preStop", "sleep", "seconds"))
	drains(t, "deployment.yaml", conf, seconds(t, at(t, pod, "terminationGracePeriodSeconds"))-before)
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
	drains(t, "parley.service", configuration(t, "parley.yaml"), seconds(t, unit["TimeoutStopSec"]))
	if data, _ := fs.GetString("data"); data != "/var/lib/"+unit["StateDirectory"] {
		t.Errorf("tasks are kept in %s, which systemd does not make", data)
	}
	// The judge wants a program that is there.
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	here := filepath.Join(t.TempDir(), "parley.service")
	if err := os.WriteFile(here, []byte(strings.ReplaceAll(deployed(t, "parley.service"), "/usr/local/bin/parley", self)), 0o600); err != nil {
		t.Fatal(err)
	}
	judged(t, "systemd-analyze", "verify", here)
}

func TestDeployDockerfile(t *testing.T) {
	for _, name := range []string{"Dockerfile", "../examples/docker/Dockerfile"} {
		cmd := regexp.MustCompile(`(?m)^CMD (.*)$`).FindStringSubmatch(deployed(t, name))
		var args []string
		if cmd == nil || json.Unmarshal([]byte(cmd[1]), &args) != nil {
			t.Fatalf("%s: no CMD: %q", name, cmd)
		}
		served(t, name, args)
	}
}

// Files that go into repositories have no passwords in them.
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
