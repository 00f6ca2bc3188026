package serve

import (
	"cmp"
	"errors"
	"net/netip"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/engine"
	"github.com/parley-a2a/parley/internal/database"
	"github.com/parley-a2a/parley/internal/failure"
	"github.com/parley-a2a/parley/internal/flagvalue"
	"github.com/parley-a2a/parley/internal/help"
	"github.com/parley-a2a/parley/internal/plain"
)

// flags are the options of serve.
type flags struct {
	path      string // of parley.yaml
	listen    string
	store     database.Flags
	location  *database.Location // of store and ephemeral; set by Load
	dead      time.Duration
	ephemeral bool
	async     bool // the database may lose commits that it has acknowledged
	publicURL string
	proxies   []netip.Prefix
	tls       tlsFiles
	noConsole bool
	elsewhere bool // the console may call agents of other servers
	Form
	profile   string
	logLevel  string
	logFormat string
	requests  bool // a log line for each call, if the flag is given
	drain     time.Duration
	cache     int64
	retries   engine.Retries
	onLost    string
	maxRuns   int
	retention engine.Retention
	egress    egressFlags
	auth      authFlags
	limits    limitFlags
	audit     AuditFlags
	browser   browserFlags
	card      cardFlags
	telemetry telemetryFlags
}

// DefaultListen is the address of a server without --listen, and the address at which
// commands look for an agent by default.
const DefaultListen = "127.0.0.1:7275"

// Values of --on-lost.
const (
	lostRerun = "rerun"
	lostFail  = "fail"
)

// Sections returns all flags as help shows them.
func Sections() []help.Section { return new(flags).sections() }

func (f *flags) sections() []help.Section {
	return []help.Section{
		help.NewSection("The agent, if it is not a command behind --", f.Form.register),
		help.NewSection("Options", f.register),
		help.NewSection("Who may call", f.auth.register),
		help.NewSection("Limits; 0 means none; a default with a star applies only if others than this machine's users can call", f.limits.register),
		help.NewSection("Cards", f.card.register),
		help.NewSection("Web pages", f.browser.register),
		help.NewSection("Webhooks", f.egress.register),
		help.NewSection("Repeated messages, lost servers, old tasks", f.registerLife),
		help.NewSection("Logs", f.registerLogs),
		help.NewSection("Traces and metrics; OpenTelemetry's OTEL_ variables apply as well", f.telemetry.register),
	}
}

func (f *flags) register(fs *pflag.FlagSet) {
	fs.StringVarP(&f.path, "file", "f", "", "`file` with the agents and any of these settings; options override it (default: "+DefaultFile+" in the working directory, if no option says what to serve)")
	f.listen = DefaultListen
	fs.Var(flagvalue.Address(&f.listen), "listen", "`address` to listen on: 127.0.0.1:8080, :8080 for every address of this machine, or 8080 for this machine alone; port 0 takes a free one")
	f.store.Register(fs, true)
	fs.BoolVar(&f.ephemeral, "ephemeral", false, "keep tasks in memory only, until the server stops; the same as --store "+database.InMemory)
	f.dead = 10 * time.Second
	fs.Var(flagvalue.Span(&f.dead), "dead-after", "with PostgreSQL, the `duration` that another server may be silent before its tasks are taken over; set the same on all servers that share the database")
	fs.BoolVar(&f.async, "allow-async-commit", false, "start although PostgreSQL may lose acknowledged events in a crash or failover: synchronous_commit or fsync is off, or standbys replicate asynchronously")
	f.cache = 64 << 20
	fs.Var(flagvalue.Size(&f.cache), "cache", "`size` of the cache of finished tasks; the process may briefly use as much again. 0 disables it")
	fs.StringVar(&f.publicURL, "public-url", "", "`URL` that cards advertise (default: the one that the request names)")
	fs.Var(flagvalue.List("CIDR", &f.proxies, flagvalue.One(parsePrefix), nil), "trusted-proxy", "`CIDR` of proxies whose Forwarded and X-Forwarded-* headers are trusted; may be repeated")
	f.tls.register(fs)
	fs.BoolVar(&f.noConsole, "no-console", false, "serve no web console at "+ConsolePath)
	fs.BoolVar(&f.elsewhere, "console-elsewhere", false, "let operators call agents of other servers from the console, under the rules of --egress-allow and --egress-deny (always on where only this machine can call)")
	f.profile = profiles[0]
	fs.Var(flagvalue.Choice(&f.profile, profiles...), "card-profile", "what the card says and the server does: all (for clients of every version), v1 (advertises 1.0 only), bare (no streaming, no push notifications) or extended (with an extended card)")
	f.drain = 10 * time.Second
	fs.Var(flagvalue.Span(&f.drain), "drain-timeout", "`duration` to wait for agents and connections when the server stops; 0 does not wait")
}

func (f *flags) registerLife(fs *pflag.FlagSet) {
	f.onLost = lostRerun
	fs.Var(flagvalue.Choice(&f.onLost, lostRerun, lostFail), "on-lost", "what happens to a task if its server dies (a crash, kill -9) while the agent works: rerun, or fail if nothing may be done twice")
	fs.IntVar(&f.maxRuns, "max-runs", 3, "fail a task once the server died in `n` runs for one message; clean restarts do not count")
	f.retries.Window = 24 * time.Hour
	fs.Var(flagvalue.Span(&f.retries.Window), "retry-window", "`duration` for which a message of an authenticated caller is remembered: sent again, it gets the first answer, and the agent does not run twice; 0 disables this")
	fs.BoolVar(&f.retries.Anonymous, "retry-anonymous", false, "remember messages of anonymous callers, too: a caller that knows the id and every word of another's message can then follow its task")
	const ever = "; 0, the default, keeps them for ever"
	fs.Var(flagvalue.Span(&f.retention.Completed), "retain-completed", "delete completed tasks this `duration` after their last change, such as 30d"+ever)
	fs.Var(flagvalue.Span(&f.retention.Failed), "retain-failed", "delete failed, rejected and canceled tasks this `duration` after their last change"+ever)
	fs.Var(flagvalue.Span(&f.retention.Waiting), "retain-waiting", "delete tasks whose question is unanswered for this `duration`"+ever)
	for _, name := range []string{"retain-completed", "retain-failed", "retain-waiting"} {
		fs.Lookup(name).DefValue = "0" // help omits it: the text says it
	}
}

func (f *flags) registerLogs(fs *pflag.FlagSet) {
	f.audit.Register(fs, "append who did what, and who was refused, to this `file` of JSON lines, which SIGHUP reopens; - is standard error, none disables the log (default "+AuditName+" in --data where callers are authenticated, else none)")
	f.logLevel = "info"
	fs.Var(flagvalue.Choice(&f.logLevel, "debug", "info", "warn", "error"), "log-level", "what is logged to standard error: debug, info, warn or error")
	f.logFormat = logAuto
	fs.Var(flagvalue.Choice(&f.logFormat, logAuto, logText, logJSON), "log-format", "text, json (one object a line), or auto: text on a terminal and JSON elsewhere")
	fs.BoolVar(&f.requests, "log-requests", false, "log a line when a call ends: caller, operation, agent, task, result and time (default true if standard error is a terminal, and with --log-level debug)")
}

// check refuses flags that contradict each other, and converts the others to their
// final values.
func (f *flags) check(fs *pflag.FlagSet, command bool) error {
	switch r := &f.retention; {
	case f.location.Memory() && f.auth.keys:
		return failure.Usagef("API keys are kept where tasks are, and memory keeps nothing: leave --ephemeral or --auth-keys out")
	case f.dead < time.Second:
		return failure.Usagef("--dead-after must be at least 1s").WithHint("a server that is busy may well be silent for as long; 10s is usual")
	case fs.Changed("dead-after") && !f.location.Shared():
		return failure.Usagef("--dead-after is for servers that share a PostgreSQL database, and the tasks are in %s: leave it out, or name that database in PARLEY_STORE", f.location)
	case f.async && !f.location.Shared():
		return failure.Usagef("--allow-async-commit is about PostgreSQL, and %s is this server's alone: leave it out", f.location)
	case r.Completed < 0 || r.Failed < 0 || r.Waiting < 0:
		return failure.Usagef("--retain-completed, --retain-failed and --retain-waiting cannot be negative").WithHint("0 keeps tasks for ever")
	case f.drain < 0:
		return failure.Usagef("--drain-timeout cannot be negative").WithHint("0 does not wait")
	case f.retries.Window < 0:
		return failure.Usagef("--retry-window cannot be negative").WithHint("0 remembers no message")
	case f.retries.Window == 0 && f.retries.Anonymous:
		return failure.Usagef("--retry-anonymous needs a --retry-window greater than 0")
	case f.maxRuns < 1:
		return failure.Usagef("--max-runs must be at least 1").WithHint("--on-lost fail runs nothing again")
	case f.onLost == lostFail && fs.Changed("max-runs"):
		return failure.Usagef("--on-lost fail never runs an agent again, so --max-runs has no use: leave one out")
	}
	f.auth.clientCA = f.tls.clientCA != ""
	card := func() error { return f.card.check(f.publicURL, f.profile) }
	form := func() error { return f.Form.check(fs, command) }
	for _, check := range []func() error{form, f.tls.check, card, f.egress.check, f.auth.check, f.limits.check} {
		if err := check(); err != nil {
			return err
		}
	}
	if !f.location.Shared() {
		f.dead = 0 // there is no other server
	}
	// Here zero would mean the default.
	f.drain = cmp.Or(f.drain, -1)
	f.retries.Window = cmp.Or(f.retries.Window, -1)
	if f.cache == 0 || f.location.Memory() {
		f.cache = -1
	}
	return nil
}

// lostReason is the clients' reason for a task that --on-lost fail has ended.
const lostReason = "the agent was interrupted; work that it had begun may have taken effect, and it was not run again"

func publicURL(s string) (string, error) {
	if s == "" {
		return "", nil
	}
	u := a2a.WebURL(s)
	if u == nil || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", failure.Usagef("--public-url %s: must be an http or https URL such as https://agents.example.org", plain.Quote(s))
	}
	return strings.TrimRight(s, "/"), nil
}

// parsePrefix parses a network, or a single address as a network.
func parsePrefix(s string) (netip.Prefix, error) {
	prefix, err := netip.ParsePrefix(s)
	if addr, addrErr := netip.ParseAddr(s); addrErr == nil && addr.Zone() == "" {
		prefix, err = netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	if err != nil || prefix.Addr().Is4In6() {
		return netip.Prefix{}, errors.New("must be a network such as 10.0.0.0/8 or an address such as ::1")
	}
	return prefix.Masked(), nil
}
