package main

import (
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/parley-a2a/parley/engine"
)

// serveFlags are the options of serve.
type serveFlags struct {
	path   string // of parley.yaml; see serve_file.go
	listen string
	storeFlags
	place     *location // what these come to, with ephemeral; set by setUp
	dead      time.Duration
	ephemeral bool
	publicURL string
	proxies   prefixes
	tls       tlsFiles
	formFlags
	profile   string
	logLevel  string
	drain     time.Duration
	cache     size
	retries   engine.Retries
	onLost    string
	maxRuns   int
	retention engine.Retention
	egress    egressFlags
	auth      authFlags
	limits    limitFlags
	audit     auditFlags
	browser   browserFlags
	card      cardFlags
}

// defaultData is where serve keeps what it keeps.
const defaultData = ".parley"

// Values of --on-lost.
const (
	lostRerun = "rerun"
	lostFail  = "fail"
)

func newServe(a *app) *cobra.Command {
	var line *given
	cmd := &cobra.Command{
		Use:   "serve [flags] [-- command arguments...]",
		Short: "Run an agent: a command, a service, a model, another agent, or those of a file",
		Long: `Run an agent until interrupted. Without a command it is a built-in one: the demo
agent, or with --agent conformance the one that conformance kits drive. With one,
each message runs the command: the message's text is its standard input, what it
prints is streamed as the answer, line by line, and exit status 0 completes the
task. With --http, --openai, --proxy or --mcp it is a service, a model, another agent
or a server of tools; a file, parley.yaml, has any number of them. Tasks are kept in
--data, and what was running goes on at the next start; with --store in a PostgreSQL
database, which any number of servers share.

The first interrupt drains the server: what runs is told to stop and left for the
next start, for which --drain-timeout gives it time. A second one ends the server at
once; no task is lost by that, either.

Without credentials only this machine's users are served: elsewhere, and behind a
proxy, say who may call (--auth-keys and the other options below), or that
everybody may (--allow-anonymous).`,
		Example: `  parley serve
  parley serve -- tr a-z A-Z
  parley serve --lines --reload -- ./agent.py
  parley serve --openai http://127.0.0.1:11434/v1 --model llama3.2
  parley serve --proxy https://agents.example.org
  parley serve --mcp stdio -- npx some-mcp-server
  parley serve --file parley.yaml
  parley serve --listen 127.0.0.1:8080 --data /var/lib/parley -- ./answer.sh
  parley serve --on-lost fail -- ./pay.sh
  parley serve --listen :7275 --tls-cert cert.pem --tls-key key.pem --auth-keys
  parley serve --ephemeral --agent conformance --card-profile bare
  PARLEY_STORE=postgres://parley:secret@db.example.org/parley parley serve --listen :7275 --auth-keys`,
		Args: func(cmd *cobra.Command, args []string) error {
			dash := cmd.ArgsLenAtDash()
			if len(args) > 0 && dash != 0 {
				return usagef("unexpected argument %q", args[0]).withHint("put the agent's command behind --: parley serve -- %s", quoteAll(args))
			}
			if dash == 0 && (len(args) == 0 || args[0] == "") {
				return usagef("there is no command behind --").withHint("name one, as in parley serve -- tr a-z A-Z, or leave -- out for the demo agent")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			a.keep(storeEnv, upstreamEnv)
			s, err := a.setUp(*line, len(args) > 0)
			if err != nil {
				return err
			}
			return a.serve(cmd.Context(), &serving{app: a, line: *line, argv: args}, s)
		},
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().SetInterspersed(false) // so that "serve sh -c x" is told about --, not about -c
	inSections(cmd, new(serveFlags).sections())
	line = record(cmd.Flags())
	return cmd
}

// sections are all flags, as help shows them.
func (f *serveFlags) sections() []section {
	return []section{
		newSection("What the agent is, unless a command behind -- is it", f.formFlags.register),
		newSection("Options", f.register),
		newSection("Who may call", f.auth.register),
		newSection("Limits; 0 means none, a star that it is so where others than this machine's users can call", f.limits.register),
		newSection("Cards", f.card.register),
		newSection("Web pages", f.browser.register),
		newSection("Webhooks", f.egress.register),
		newSection("Messages that come again, servers that are lost, tasks that are old", f.registerLife),
		newSection("Logs", f.registerLogs),
	}
}

func (f *serveFlags) register(fs *pflag.FlagSet) {
	fs.StringVar(&f.path, "file", "", "`file` that says which agents there are, and everything that these options say (default: "+defaultFile+" of the working directory, where nothing says what to serve). Options are stronger")
	fs.StringVar(&f.listen, "listen", "127.0.0.1:7275", "`address` to listen on; port 0 takes a free one")
	f.storeFlags.register(fs, true)
	fs.BoolVar(&f.ephemeral, "ephemeral", false, "keep tasks in memory only: they are gone when the server ends; the same as --store "+inMemory)
	fs.DurationVar(&f.dead, "dead-after", 10*time.Second, "with PostgreSQL, how `long` another server may be silent before its tasks are taken over; must be the same for all that share the database")
	f.cache = 128 << 20
	fs.Var(&f.cache, "cache", "`size` that finished tasks of the database may take in memory, to be read from there; the process may have as much again for a moment. 0 keeps none")
	fs.StringVar(&f.publicURL, "public-url", "", "`URL` that cards advertise (default: the one a request came to)")
	fs.Var(&f.proxies, "trusted-proxy", "`CIDR` of proxies whose Forwarded and X-Forwarded headers say what a request came to; may be repeated")
	f.tls.register(fs)
	f.profile = profiles[0]
	fs.Var(&choice{&f.profile, profiles}, "card-profile", "what the card says and the server does: all (for clients of every version), v1 (advertises 1.0 only), bare (no streaming, no push notifications) or extended (with an extended card)")
	fs.DurationVar(&f.drain, "drain-timeout", 10*time.Second, "how `long` agents and connections may take to end when the server is stopped; 0 does not wait for them")
}

func (f *serveFlags) registerLife(fs *pflag.FlagSet) {
	f.onLost = lostRerun
	fs.Var(&choice{&f.onLost, []string{lostRerun, lostFail}}, "on-lost", "what becomes of a task whose server was lost (a crash, kill -9) while the agent worked at it: rerun, or fail if nothing may be done twice")
	fs.IntVar(&f.maxRuns, "max-runs", 3, "fail a task once `n` runs of the agent for one message were lost; restarts in good order do not count")
	fs.DurationVar(&f.retries.Window, "retry-window", 24*time.Hour, "how `long` the message of an authenticated caller is known: if it comes again it gets the answer of the first, and nothing is done twice; 0 switches that off")
	fs.BoolVar(&f.retries.Anonymous, "retry-anonymous", false, "know the messages of all other callers, too: who knows the id and every word of another's message can then attach to its task")
	const ever = "; 0 keeps them for ever"
	fs.DurationVar(&f.retention.Completed, "retain-completed", 0, "delete completed tasks after this `long`, such as 720h"+ever)
	fs.DurationVar(&f.retention.Failed, "retain-failed", 0, "delete failed, rejected and canceled tasks after this `long`"+ever)
	fs.DurationVar(&f.retention.Waiting, "retain-waiting", 0, "delete tasks whose question has gone unanswered for this `long`"+ever)
}

func (f *serveFlags) registerLogs(fs *pflag.FlagSet) {
	f.audit.register(fs)
	f.logLevel = "info"
	fs.Var(&choice{&f.logLevel, []string{"debug", "info", "warn", "error"}}, "log-level", "what is logged to standard error: debug, info, warn or error")
}

// check refuses flags that contradict each other, and makes of the others what
// they mean.
func (f *serveFlags) check(fs *pflag.FlagSet, command bool) error {
	switch r := &f.retention; {
	case f.place.memory() && f.auth.keys:
		return usagef("API keys are kept where tasks are, and memory keeps nothing: leave --ephemeral or --auth-keys out")
	case f.dead < time.Second:
		return usagef("--dead-after must be at least 1s").withHint("a server that is busy may well be silent for as long; 10s is usual")
	case fs.Changed("dead-after") && !f.place.shared():
		return usagef("--dead-after is of servers that share a database, and %s is this one's alone: leave it out", f.place)
	case r.Completed < 0 || r.Failed < 0 || r.Waiting < 0:
		return usagef("--retain-completed, --retain-failed and --retain-waiting cannot be negative").withHint("0 keeps tasks for ever")
	case f.drain < 0:
		return usagef("--drain-timeout cannot be negative").withHint("0 does not wait")
	case f.retries.Window < 0:
		return usagef("--retry-window cannot be negative").withHint("0 knows no message again")
	case f.retries.Window == 0 && f.retries.Anonymous:
		return usagef("--retry-anonymous needs a --retry-window, and 0 is none")
	case f.maxRuns < 1:
		return usagef("--max-runs must be at least 1").withHint("--on-lost fail runs nothing again")
	case f.onLost == lostFail && fs.Changed("max-runs"):
		return usagef("--on-lost fail runs nothing again, --max-runs says how often: leave one out")
	}
	f.auth.clientCA = f.tls.clientCA != ""
	card := func() error { return f.card.check(f.publicURL, f.profile) }
	form := func() error { return f.formFlags.check(fs, command) }
	for _, check := range []func() error{form, f.tls.check, card, f.egress.check, f.auth.check, f.limits.check} {
		if err := check(); err != nil {
			return err
		}
	}
	// Where zero would mean the default.
	if f.drain == 0 {
		f.drain = -1
	}
	if f.retries.Window == 0 {
		f.retries.Window = -1
	}
	if f.cache == 0 || f.place.memory() {
		f.cache = -1
	}
	return nil
}

// deadAfter is engine.Options.DeadAfter.
func (f *serveFlags) deadAfter() time.Duration {
	if !f.place.shared() {
		return 0
	}
	return f.dead
}

// lostReason is what clients read of a task that --on-lost fail has ended.
const lostReason = "the agent was interrupted in its work; what it had begun may have taken effect, and it was not run again"
