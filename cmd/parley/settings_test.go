package main

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/parley-a2a/parley/internal/config"
	"github.com/parley-a2a/parley/internal/failure"
	"github.com/parley-a2a/parley/internal/plain"
)

// place is a home and a working directory with configuration files.
type place struct {
	around surroundings
	root   string
}

func newPlace(t *testing.T, env map[string]string, files map[string]string) *place {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return &place{root: root, around: surroundings{
		lookup: func(name string) (string, bool) { v, ok := env[name]; return v, ok },
		dir:    filepath.Join(root, "work", "deep"),
		global: filepath.Join(root, "home", ".env"),
	}}
}

// resolve parses args and applies the sources below them.
func (p *place) resolve(t *testing.T, args ...string) (*flags, *settings, []string, error) {
	t.Helper()
	f := new(flags)
	fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
	fs.SetNormalizeFunc(aliases)
	f.register(fs)
	if err := fs.Parse(args); err != nil {
		t.Fatal(err)
	}
	s, warnings, err := loadSettings(p.around, f.config, f.context)
	if err == nil {
		err = s.apply(fs)
	}
	return f, s, warnings, err
}

// a2a-cli §6.5, §8.3: flag, environment, local file, global file, default.
func TestStrongerSourcesWin(t *testing.T) {
	const name = "A2ACLI_CONTEXT_ID"
	env := map[string]string{name: "env"}
	local := map[string]string{"work/.env": name + "=local"}
	global := map[string]string{"home/.env": name + "=global"}
	both := map[string]string{"work/.env": name + "=local", "home/.env": name + "=global"}
	for _, c := range []struct {
		name  string
		args  []string
		env   map[string]string
		files map[string]string
		want  string
		from  string
	}{
		{"flag over all", []string{"--context-id", "flag"}, env, both, "flag", "flag --context-id"},
		{"environment over files", nil, env, both, "env", "environment variable " + name},
		{"local over global", nil, nil, both, "local", "work/.env"},
		{"local alone", nil, nil, local, "local", "work/.env"},
		{"global over default", nil, nil, global, "global", "home/.env"},
		{"default", nil, nil, nil, "", "default"},
		{"an empty variable means the default", nil, map[string]string{name: ""}, both, "", "environment variable " + name},
		{"an empty flag stays", []string{"--context-id="}, env, both, "", "flag --context-id"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, s, _, err := newPlace(t, c.env, c.files).resolve(t, c.args...)
			if err != nil {
				t.Fatal(err)
			}
			if f.contextID != c.want {
				t.Errorf("the value is %q, want %q", f.contextID, c.want)
			}
			if got := s.from["context-id"].where; !strings.HasSuffix(got, c.from) {
				t.Errorf("the source is %q, want %q", got, c.from)
			}
		})
	}
}

func TestConfigFlagReplacesTheLocalFileOnly(t *testing.T) {
	p := newPlace(t, nil, map[string]string{
		"work/.env": "A2ACLI_CONTEXT_ID=local\nA2ACLI_TASK_ID=local",
		"other.env": "A2ACLI_CONTEXT_ID=other",
		"home/.env": "A2ACLI_TASK_ID=global",
	})
	f, _, _, err := p.resolve(t, "--config", filepath.Join(p.root, "other.env"))
	if err != nil {
		t.Fatal(err)
	}
	if f.contextID != "other" || f.taskID != "global" {
		t.Errorf("context %q, task %q; want other, global", f.contextID, f.taskID)
	}
	if _, _, _, err := p.resolve(t, "--config", filepath.Join(p.root, "none.env")); exitOf(err) != failure.ExitUsage {
		t.Errorf("a file that is not there: %v, want a usage error", err)
	}
}

// a2a-cli §11.3: only the command line makes output a stream.
func TestStreamIsNeverConfigured(t *testing.T) {
	f, _, _, err := newPlace(t, map[string]string{"A2ACLI_STREAM": "true"}, map[string]string{"work/.env": "A2ACLI_STREAM=true"}).resolve(t)
	if err != nil || f.stream {
		t.Errorf("stream = %v, %v", f.stream, err)
	}
}

func TestAliasesAreFlagsButNameNoVariable(t *testing.T) {
	env := map[string]string{"A2ACLI_NO_WAIT": "true", "A2ACLI_WATCH": "true"}
	if f, _, _, err := newPlace(t, env, nil).resolve(t); err != nil || f.async || f.wait {
		t.Errorf("async %v, wait %v, %v; want neither", f.async, f.wait, err)
	}
	for _, flag := range []string{"--async", "--return-immediately", "--no-wait"} {
		if f, _, _, _ := newPlace(t, nil, nil).resolve(t, flag); !f.async {
			t.Errorf("%s does not set async", flag)
		}
	}
	if f, _, _, _ := newPlace(t, nil, nil).resolve(t, "--watch"); !f.wait {
		t.Error("--watch does not set wait")
	}
}

func TestListsAndTypesFromTheEnvironment(t *testing.T) {
	f, _, _, err := newPlace(t, map[string]string{
		"A2ACLI_TRANSPORT": "http+json, jsonrpc", "A2ACLI_SVC_PARAM": "x-a:1,x-b:2", "A2ACLI_TIMEOUT": "90",
		"A2ACLI_OUTPUT": "JSON", "A2ACLI_INSECURE": "true", "A2ACLI_METADATA": `{"big":12345678901234567890}`, "A2ACLI_HISTORY": "0",
	}, nil).resolve(t)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(f.transports, ","); got != "HTTP+JSON,JSONRPC" {
		t.Errorf("transports %q", got)
	}
	if len(f.svcParams) != 2 || f.timeout.String() != "1m30s" || f.output != "json" || !f.insecure || *f.history != 0 {
		t.Errorf("got %+v", f)
	}
	if string(f.metadata) != `{"big":12345678901234567890}` {
		t.Errorf("metadata %s", f.metadata)
	}
}

func TestWrongValuesNameTheirSourceAndHideSecrets(t *testing.T) {
	_, _, _, err := newPlace(t, nil, map[string]string{"work/.env": "A2ACLI_OUTPUT=xml"}).resolve(t)
	if exitOf(err) != failure.ExitUsage || !strings.Contains(err.Error(), "work/.env") || !strings.Contains(err.Error(), "text, json, yaml") {
		t.Errorf("got %v", err)
	}
	_, _, _, err = newPlace(t, map[string]string{"A2ACLI_SVC_PARAM": "hunter2"}, nil).resolve(t)
	if exitOf(err) != failure.ExitUsage || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("got %v", err)
	}
}

// a2a-cli §8.3: secrets must not lie in world-readable files.
func TestExposedSecretsAreWarnedOf(t *testing.T) {
	if !config.PermissionsMatter {
		t.Skip("modes say nothing here")
	}
	p := newPlace(t, nil, map[string]string{"work/.env": "A2ACLI_BEARER=hunter2"})
	if _, _, warnings, _ := p.resolve(t); len(warnings) != 0 {
		t.Errorf("mode 0600: warnings %q", warnings)
	}
	file := filepath.Join(p.root, "work/.env")
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	_, _, warnings, _ := p.resolve(t)
	if len(warnings) != 1 || !strings.Contains(warnings[0], "chmod 600") || strings.Contains(warnings[0], "hunter2") {
		t.Errorf("mode 0644: warnings %q", warnings)
	}
	if err := os.WriteFile(file, []byte("A2ACLI_OUTPUT=json"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, _, warnings, _ := p.resolve(t); len(warnings) != 0 {
		t.Errorf("without secrets: warnings %q", warnings)
	}
}

func exitOf(err error) int {
	var f *failure.Error
	if !errors.As(err, &f) {
		return -1
	}
	return f.Exit()
}

// A2ACLI_AUTH_004: values of service parameters may be credentials, unless they
// are too short to be any.
func TestServiceParametersAreHidden(t *testing.T) {
	var b strings.Builder
	w := plain.NewWriter(&b)
	hideParams(w, http.Header{"Authorization": {"Basic dXNlcjpwYXNz"}, "X-Flag": {"on"}})
	fmt.Fprint(w, "token dXNlcjpwYXNz on")
	if got, want := b.String(), "token "+plain.Redacted+" on"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
