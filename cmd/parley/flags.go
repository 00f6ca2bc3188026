package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/net/http/httpguts"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/flagvalue"
	"github.com/parley-a2a/parley/internal/help"
	"github.com/parley-a2a/parley/internal/keyfile"
	"github.com/parley-a2a/parley/internal/plain"
	"github.com/parley-a2a/parley/internal/serve"
	"github.com/parley-a2a/parley/internal/shape"
)

// flags are the values of the options that all client commands share
// (a2a-cli §7.2).
type flags struct {
	agentCard    string
	output       string
	template     shape.Form // of -o template=...
	jq           shape.Form
	jqText       string
	exitStatus   bool
	stream       bool
	async        bool
	wait         bool
	taskID       string
	contextID    string
	bearer       string
	apiKey       string
	basic        userPassword
	clientCert   string
	clientKey    string
	caFile       string
	svcParams    http.Header
	metadata     a2a.JSON
	extensions   []string
	timeout      time.Duration
	pollInterval time.Duration
	transports   []string
	version      string
	insecure     bool
	cardTrust    keyfile.Trust
	debug        bool
	verbose      bool
	history      *int32 // nil: the agent decides
	config       string
	context      string
}

// register declares the flags, and returns them in help's sections. A flag that is not in
// notSettings can also be set by a variable or a file; see settings.go.
func (f *flags) register(fs *pflag.FlagSet) []help.Section {
	sections := []help.Section{
		help.NewSection("Which agent", f.registerAgent),
		help.NewSection("What is sent, and how long to wait", f.registerTurn),
		help.NewSection("What is printed", f.registerOutput),
		help.NewSection("Credentials; other users of this machine can see options: prefer A2ACLI_* variables or a file", f.registerCredentials),
		help.NewSection("Connection and protocol", f.registerConnection),
	}
	fs.SortFlags = false
	for _, s := range sections {
		fs.AddFlagSet(s.Flags)
	}
	fs.VisitAll(func(f *pflag.Flag) {
		if !notSettings[f.Name] {
			f.Annotations = map[string][]string{settingMark: {envName(f.Name)}}
		}
	})
	return sections
}

func (f *flags) registerAgent(fs *pflag.FlagSet) {
	fs.StringVarP(&f.agentCard, "agent-card", "a", "", "the `agent`: a host, a base URL, the URL of a card, a card's file, or a name from a catalog (default: "+serve.DefaultListen+", where parley serve listens)")
	fs.StringVar(&f.context, "context", "", "`name` of an agent added with parley context add; overrides variables and files (default: the one chosen with parley context use)")
	fs.StringVar(&f.config, "config", "", "configuration `file` to use in place of the nearest .env")
}

func (f *flags) registerTurn(fs *pflag.FlagSet) {
	fs.StringVar(&f.taskID, "task-id", "", "`id` of the task to continue")
	fs.StringVar(&f.contextID, "context-id", "", "`id` of the context to start the task in")
	fs.Var(flagvalue.Of("object", &f.metadata, parseObject, func(o a2a.JSON) string { return string(o) }), "metadata", "metadata of the request, a JSON `object`")
	fs.BoolVar(&f.wait, "wait", false, "wait until the task has finished or needs you: the default of send; task get polls (also --watch)")
	fs.BoolVar(&f.async, "async", false, "do not wait: return the task's ids at once (also --return-immediately, --no-wait)")
	fs.Var(flagvalue.Duration(&f.timeout), "timeout", "give up after this long, such as 90s or 5m; the task continues (default: never)")
	f.pollInterval = 2 * time.Second
	fs.Var(flagvalue.Duration(&f.pollInterval), "poll-interval", "how often to ask for the task while waiting without a stream")
}

func (f *flags) registerOutput(fs *pflag.FlagSet) {
	f.output = "text"
	fs.VarP(flagvalue.New("format", f.setOutput, func() string { return f.output }), "output", "o", "`format`: text, json, yaml, table or template=TEXT, a Go template applied to the JSON")
	fs.Var(flagvalue.New("filter", f.setJQ, func() string { return f.jqText }), "jq", "print what this jq `filter` makes of the JSON")
	fs.BoolVar(&f.stream, "stream", false, "print events as they arrive; with -o json one JSON object a line")
	fs.BoolVar(&f.verbose, "verbose", false, "print every part, id and piece of metadata")
	fs.Var(flagvalue.Number("n", &f.history, 0, math.MaxInt32), "history", "fetch and print the last `n` messages of a task's history (task get, task list)")
	fs.BoolVar(&f.exitStatus, "exit-status", false, "exit as the task ended: 0 completed, 10 failed, 11 rejected, 12 canceled, 13 input required, 14 auth required, 15 still working")
	fs.BoolVar(&f.debug, "debug", false, "log requests and answers, without credentials, and how a version was chosen, to standard error")
}

func (f *flags) registerCredentials(fs *pflag.FlagSet) {
	fs.StringVar(&f.bearer, "bearer", "", "bearer `token`")
	fs.StringVar(&f.apiKey, "api-key", "", "API `key`")
	fs.Var(flagvalue.Of("user:password", &f.basic, parseUserPassword, userPassword.String), "basic", "`user:password` for HTTP basic authentication")
	fs.StringVar(&f.clientCert, "client-cert", "", "PEM `file` of a client certificate with its chain")
	fs.StringVar(&f.clientKey, "client-key", "", "PEM `file` of its private key (default: the file of --client-cert)")
}

func (f *flags) registerConnection(fs *pflag.FlagSet) {
	fs.Var(flagvalue.List("binding", &f.transports, flagvalue.ParseBindings, flagvalue.Commas), "transport", "preferred `binding`: jsonrpc, rest (HTTP+JSON) or grpc; repeat it in order of preference (default: the card's order)")
	fs.Var(flagvalue.Of("version", &f.version, parseVersion, func(v string) string { return v }), "a2a-version", "protocol `version` to speak, whatever the card says: 0.1, 0.2, 0.3, 1.0 or 1.1; or 1 for the best 1.x that both sides know (default: the best that both sides know)")
	fs.StringArrayVar(&f.extensions, "extension", nil, "declare support for the protocol extension with this `URI`; may be repeated")
	fs.Var(flagvalue.New("name:value", f.addParam, func() string { return showParams(f.svcParams) }), "svc-param", "service parameter `name:value`, sent as a header; may be repeated")
	fs.StringVar(&f.caFile, "ca-file", "", "PEM `file` of certificates to trust besides the system's: a self-signed one, or your own authority's")
	fs.Var(flagvalue.New("file", f.cardTrust.Add, f.cardTrust.String), "card-trust", "call only agents whose card is signed with a key in this `file`: a JSON Web Key Set, a JSON Web Key or PEM; may be repeated")
	fs.BoolVar(&f.insecure, "insecure", false, "do not verify TLS certificates; for development only")
}

// setOutput sets the value of --output.
func (f *flags) setOutput(s string) (err error) {
	if text, ok := strings.CutPrefix(s, "template="); ok {
		if f.template, err = shape.Template(text); err == nil {
			f.output = s
		}
		return err
	}
	if flagvalue.Choice(&f.output, "text", "json", "yaml", "table").Set(s) != nil {
		return errors.New("must be text, json, yaml, table or template=TEXT")
	}
	return nil
}

// setJQ sets the value of --jq.
func (f *flags) setJQ(s string) (err error) {
	f.jqText = s
	f.jq, err = shape.JQ(s)
	return err
}

// credentials reports whether there are credentials for the agent, except a certificate.
func (f *flags) credentials() bool { return f.bearer != "" || f.apiKey != "" || f.basic.given() }

// machine reports whether standard output is only a document for programs.
func (f *flags) machine() bool { return f.output != "text" || f.jq != nil }

// aliases are the optional spellings of a2a-cli §7.2; they name no variable.
func aliases(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	switch name {
	case "return-immediately", "no-wait":
		name = "async"
	case "watch":
		name = "wait"
	}
	return pflag.NormalizedName(name)
}

// parseObject returns a JSON object unchanged.
func parseObject(s string) (a2a.JSON, error) {
	s = strings.TrimSpace(s)
	if !strings.HasPrefix(s, "{") || !json.Valid([]byte(s)) {
		return nil, fmt.Errorf(`must be a JSON object such as '{"key":"value"}'`)
	}
	return a2a.JSON(s), nil
}

// parseVersion returns a Major.Minor version, or a major version alone. It cuts off a patch
// number, which does not appear on the wire.
func parseVersion(s string) (string, error) {
	nums := strings.Split(s, ".")
	for _, n := range nums {
		if _, err := strconv.ParseUint(n, 10, 16); err != nil || len(nums) > 3 {
			return "", fmt.Errorf("must be a version such as 1.0, or a major one such as 1")
		}
	}
	return strings.Join(nums[:min(len(nums), 2)], "."), nil
}

// showParams returns the names of service parameters; any value may be a
// credential.
func showParams(p http.Header) string {
	var names []string
	for name, values := range p {
		for range values {
			names = append(names, name+":"+plain.Redacted)
		}
	}
	return strings.Join(names, ",")
}

// hideParams hides the values of service parameters from a writer. Values of less
// than 4 bytes are no credentials, and hiding them would garble everything.
func hideParams(w *plain.Writer, p http.Header) {
	for _, values := range p {
		for _, v := range values {
			if len(v) >= 4 {
				w.Hide(v)
			}
			if _, token, ok := strings.Cut(v, " "); ok && len(token) >= 4 {
				w.Hide(token) // "Bearer xyz"
			}
		}
	}
}

// framing are the headers that belong to the message itself: set by hand they would break it,
// or smuggle another one in.
var framing = map[string]bool{
	"Accept": true, "Connection": true, "Content-Length": true, "Content-Type": true, "Host": true, "Te": true,
	"Trailer": true, "Transfer-Encoding": true, "Upgrade": true,
}

// addParam adds a service parameter (A2A §3.2.6), which is sent as a header.
func (f *flags) addParam(s string) error {
	name, value, ok := strings.Cut(s, ":")
	name, value = http.CanonicalHeaderKey(strings.TrimSpace(name)), strings.TrimSpace(value)
	switch {
	case !ok || !httpguts.ValidHeaderFieldName(name):
		return fmt.Errorf("must be name:value, the name as in an HTTP header")
	case !httpguts.ValidHeaderFieldValue(value):
		return fmt.Errorf("the value of %s has control characters", name)
	case framing[name]:
		return fmt.Errorf("%s is not a service parameter", name)
	case name == "A2a-Version":
		return fmt.Errorf("--a2a-version sets the version")
	}
	if f.svcParams == nil {
		f.svcParams = http.Header{}
	}
	f.svcParams.Add(name, value)
	return nil
}
