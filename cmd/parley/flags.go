package main

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/parley-a2a/parley/a2a"
)

// flags are the values of the options that all client commands share
// (a2a-cli §7.2).
type flags struct {
	agentCard    string
	output       string
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
	svcParams    serviceParams
	metadata     jsonObject
	timeout      duration
	pollInterval duration
	transports   bindings
	version      protocolVersion
	insecure     bool
	cardTrust    cardTrust
	debug        bool
	verbose      bool
	history      historyLength
	config       string
}

// register declares the flags. What is not in notSettings can also be set by
// a variable or a file; see settings.go.
func (f *flags) register(fs *pflag.FlagSet) {
	fs.SortFlags = false
	fs.StringVarP(&f.agentCard, "agent-card", "a", "", "the agent: a host, a base URL, the URL of a card, or a card's file")
	f.output = "text"
	fs.VarP(&choice{&f.output, []string{"text", "json"}}, "output", "o", "`format` of what is printed: text or json")
	fs.BoolVar(&f.stream, "stream", false, "print events as they arrive; with -o json one JSON object a line")
	fs.BoolVar(&f.async, "async", false, "do not wait: return the task's ids at once (also --return-immediately, --no-wait)")
	fs.BoolVar(&f.wait, "wait", false, "wait until the task is finished or needs you: what send does; task get polls (also --watch)")
	fs.StringVar(&f.taskID, "task-id", "", "continue this task")
	fs.StringVar(&f.contextID, "context-id", "", "start the task in this context")
	fs.StringVar(&f.bearer, "bearer", "", "bearer `token`; other users can see flags, prefer A2ACLI_BEARER or a file")
	fs.StringVar(&f.apiKey, "api-key", "", "API `key`; other users can see flags, prefer A2ACLI_API_KEY or a file")
	fs.Var(&f.basic, "basic", "`user:password` for HTTP basic authentication; other users can see flags, prefer A2ACLI_BASIC or a file")
	fs.StringVar(&f.clientCert, "client-cert", "", "PEM `file` of a certificate, with its chain, that says who you are")
	fs.StringVar(&f.clientKey, "client-key", "", "PEM `file` of its private key (default: the file of --client-cert)")
	fs.Var(&f.svcParams, "svc-param", "service parameter `name:value`, sent along as a header; may be repeated")
	fs.Var(&f.metadata, "metadata", "metadata of the request, a JSON `object`")
	fs.Var(&f.timeout, "timeout", "give up after this long, such as 90s or 5m; the task goes on (default: never)")
	f.pollInterval = duration(2 * time.Second)
	fs.Var(&f.pollInterval, "poll-interval", "how often to look at a task while waiting without a stream")
	fs.Var(&f.transports, "transport", "preferred `binding`: jsonrpc, rest (HTTP+JSON) or grpc; repeat it in order of preference (default: the card's order)")
	fs.Var(&f.version, "a2a-version", "protocol `version` to speak: 0.1, 0.2, 0.3, 1.0 or 1.1, whatever the card says (default: the best that both sides know)")
	fs.Var(&f.cardTrust, "card-trust", "call agents only whose card is signed with a key in this `file`: a JSON Web Key Set, a JSON Web Key or PEM; may be repeated")
	fs.BoolVar(&f.insecure, "insecure", false, "do not verify TLS certificates; for development only")
	fs.BoolVar(&f.debug, "debug", false, "log what is sent and received, without credentials, and how versions are chosen, to standard error")
	fs.BoolVar(&f.verbose, "verbose", false, "print every part, id and piece of metadata")
	fs.Var(&f.history, "history", "how many messages of a task's history to fetch and print (task get, task list)")
	fs.StringVar(&f.config, "config", "", "configuration `file` to use in place of the nearest .env")
	fs.VisitAll(func(f *pflag.Flag) {
		if !notSettings[f.Name] {
			f.Annotations = map[string][]string{settingMark: {envName(f.Name)}}
		}
	})
}

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

// choice is one of a few words, in any case.
type choice struct {
	value *string
	of    []string
}

func (c *choice) String() string {
	if c.value == nil {
		return ""
	}
	return *c.value
}
func (c *choice) Type() string { return "string" }
func (c *choice) Set(s string) error {
	for _, w := range c.of {
		if strings.EqualFold(s, w) {
			*c.value = w
			return nil
		}
	}
	return fmt.Errorf("must be %s", strings.Join(c.of, " or "))
}

// duration is a time.Duration that also understands a plain number of seconds.
type duration time.Duration

func (d *duration) String() string {
	if *d == 0 {
		return ""
	}
	return time.Duration(*d).String()
}
func (d *duration) std() time.Duration { return time.Duration(*d) }
func (d *duration) Type() string       { return "duration" }
func (d *duration) Set(s string) error {
	v, err := time.ParseDuration(s)
	if err != nil {
		v, err = time.ParseDuration(s + "s")
	}
	if err != nil || v <= 0 {
		return fmt.Errorf("must be a positive duration such as 500ms, 90s or 5m")
	}
	*d = duration(v)
	return nil
}

// historyLength is a number of messages; nil means that none was asked for.
type historyLength struct{ n *int32 }

func (h *historyLength) String() string {
	if h.n == nil {
		return ""
	}
	return strconv.Itoa(int(*h.n))
}
func (h *historyLength) Type() string { return "n" }
func (h *historyLength) Set(s string) error {
	n, err := strconv.ParseInt(s, 10, 32)
	if err != nil || n < 0 {
		return fmt.Errorf("must be a number from 0 up")
	}
	h.n = new(int32(n))
	return nil
}

// jsonObject is a JSON object, kept as it was written.
type jsonObject a2a.JSON

func (o *jsonObject) String() string { return string(*o) }
func (o *jsonObject) Type() string   { return "object" }
func (o *jsonObject) Set(s string) error {
	s = strings.TrimSpace(s)
	if !strings.HasPrefix(s, "{") || !validJSON([]byte(s)) {
		return fmt.Errorf(`must be a JSON object such as '{"key":"value"}'`)
	}
	*o = jsonObject(s)
	return nil
}

// protocolVersion is a Major.Minor version; a patch number says nothing on the
// wire and is cut off.
type protocolVersion string

func (v *protocolVersion) String() string { return string(*v) }
func (v *protocolVersion) Type() string   { return "version" }
func (v *protocolVersion) Set(s string) error {
	nums := strings.Split(s, ".")
	for _, n := range nums {
		if _, err := strconv.ParseUint(n, 10, 16); err != nil || len(nums) < 2 || len(nums) > 3 {
			return fmt.Errorf("must be a version such as 1.0")
		}
	}
	*v = protocolVersion(strings.Join(nums[:2], "."))
	return nil
}

// bindings is a list of protocol bindings, best first.
type bindings []string

func (b *bindings) String() string { return strings.Join(*b, ",") }
func (b *bindings) Type() string   { return "binding" }
func (b *bindings) Set(s string) error {
	for name := range strings.SplitSeq(s, ",") {
		switch name = strings.TrimSpace(name); strings.ToUpper(name) {
		case "JSONRPC", "JSON-RPC":
			name = a2a.BindingJSONRPC
		case "HTTP+JSON", "HTTPJSON", "HTTP", "REST":
			name = a2a.BindingHTTPJSON
		case "GRPC":
			name = a2a.BindingGRPC
		default:
			if !strings.Contains(name, "://") { // custom bindings are URIs (A2A §5.8)
				return fmt.Errorf("must be JSONRPC, HTTP+JSON, GRPC or the URI of another binding")
			}
		}
		*b = append(*b, name)
	}
	return nil
}

// serviceParams are service parameters (A2A §3.2.6), sent as headers.
type serviceParams http.Header

func (p *serviceParams) String() string {
	var names []string
	for name, values := range *p {
		for range values {
			names = append(names, name+":"+redacted)
		}
	}
	return strings.Join(names, ",")
}
func (p *serviceParams) Type() string { return "name:value" }

// framing are the headers that belong to the message itself: set by hand they
// would break it, or smuggle another one.
var framing = map[string]bool{
	"Accept": true, "Connection": true, "Content-Length": true, "Content-Type": true, "Host": true, "Te": true,
	"Trailer": true, "Transfer-Encoding": true, "Upgrade": true,
}

func (p *serviceParams) Set(s string) error {
	name, value, ok := strings.Cut(s, ":")
	name, value = http.CanonicalHeaderKey(strings.TrimSpace(name)), strings.TrimSpace(value)
	switch {
	case !ok || name == "" || strings.Trim(name, tokenChars) != "":
		return fmt.Errorf("must be name:value, the name as in an HTTP header")
	case strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }):
		return fmt.Errorf("the value of %s has control characters", name)
	case framing[name]:
		return fmt.Errorf("%s is not a service parameter", name)
	case name == "A2a-Version":
		return fmt.Errorf("--a2a-version sets the version")
	}
	if *p == nil {
		*p = serviceParams{}
	}
	http.Header(*p).Add(name, value)
	return nil
}

const tokenChars = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
