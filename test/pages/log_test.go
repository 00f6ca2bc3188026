package pages

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// unlisted are messages that the lists of docs/operations.md leave out, with the reason.
// Those that are errors say inError or dbOrDefect, and the page has a rule for each of these.
var unlisted = map[string]string{
	// One run's agent misbehaved. Its task goes on or says what failed; its author wants to
	// know, and the page of that kind of agent says what to do.
	"the folders of a run could not be removed":                                                              "agent",
	"a process that was kept has ended; another takes its place":                                             "agent",
	"a process that was kept ended when its next message came; another takes its place":                      "agent",
	"command printed too much for the log; the rest of this run is left out":                                 "agent",
	"command wrote a line about another task; it is dropped":                                                 "agent",
	"command wrote an invalid line":                                                                          "agent",
	"command has written no line yet":                                                                        "agent",
	"command did not end well after it had ended its task":                                                   "agent",
	"the service's response has nothing at the configured path of the answer":                                "agent",
	"the service's stream had nothing at the configured path of the answer":                                  "agent",
	"an event of the service cannot be read":                                                                 "agent",
	"the service's Location is ignored: it leads to another host, or is too long":                            "agent",
	"the service could not be told to stop":                                                                  "agent",
	"the service refused the request to stop":                                                                "agent",
	"an event cannot be part of the task":                                                                    "agent",
	"a question of an MCP server cannot be asked":                                                            "agent",
	"what an MCP server sent cannot be read":                                                                 "agent",
	"a question of an MCP server was refused: several calls share its session, and it may be of any of them": "agent",
	"the tools of an MCP server cannot be listed again":                                                      "agent",
	"an MCP server has no such tool":                                                                         "agent",
	"the model's endpoint asks to wait too long; it is not asked again":                                      "agent",
	"some tools are not offered to the model: there are too many":                                            "agent",
	"a tool is left out":                "agent",
	"a tool's call failed":              "agent",
	"the agent did not cancel the task": "agent",
	"the agent's task could not be read once more; its artifacts may be incomplete": "agent",
	"an agent could not be closed":                  "agent",
	"an agent that is not used could not be closed": "agent",

	// The next line, or the next try, says more: another message of the table comes with it.
	"the last use of API keys could not be written; trying again in a minute": "tried again",
	"messages from other processes cannot be fetched; trying again":           "tried again",
	"tasks could not be claimed; trying again":                                "tried again",
	"old tallies could not be dropped now; they are dropped later":            "tried again",
	"no tally was made; lists are counted, and it is tried again":             "tried again",
	"tasks of removed agents could not be looked up":                          "tried again",

	// They say themselves what to do, or their attribute error does.
	"full_page_writes is off: a crash of the machine can damage the database, unless its file system never writes half a page": "says it",
	"this may lose what was acknowledged, as was allowed":                                                                      "says it",
	"hints of other processes do not arrive, so changes are noticed only when this one looks; behind a pooler, add listen= with an address of the database itself to that of the store, or listen=off if it has no LISTEN": "says it",
	"the process may open few files, half of which are for connections: raise the limit (ulimit -n, LimitNOFILE=)":                                                                                                         "says it",
	"a key that signs cards ends soon: add another one now, and take it away when it has ended":                                                                                                                            "says it",
	"the certificate is not valid at this time: clients will refuse it":                                                                                                                                                    "says it",
	"connections did not end in time and were closed":                                                                                                                                                                      "says it",
	"parley admin cannot find this server":                                                                                                                                                                                 inError,
	"a command cannot start: no file descriptors, processes or memory left; trying again":                                                                                                                                  "says it",
	"unfinished tasks could not be handed over; they count as lost":                                                                                                                                                        inError,
	"unfinished tasks could not be handed over in time; they count as lost":                                                                                                                                                "says it",
	"the new card of a service behind an agent cannot be used; the last one stays in use":                                                                                                                                  inError,
	"the keys of a token issuer cannot be fetched; until they are, its tokens are refused":                                                                                                                                 inError,
	"the keys of a token issuer cannot be fetched; the last ones stay in use":                                                                                                                                              inError,
	"the database has failed over":                                                  "says it",
	"the audit log cannot be reopened: the old file stays in use":                   inError,
	"the certificate has changed and cannot be used; the previous one stays in use": inError,
	"the file of users cannot be used; the users stay as they were":                 inError,
	"not reloaded: the previous settings stay in force":                             inError,
	"a caller of the admin API could not be identified":                             inError,
	"an agent panicked when it was closed":                                          inError,
	"the last telemetry could not be sent":                                          "says it",
	"telemetry cannot be sent; tasks continue without it":                           "says it",
	"some changed settings take effect at the next start":                           "says it",
	"--reload: the command names no file that could change":                         "says it",
	"a webhook is disabled":                                                         "nothing to do: its receiver answered 410, and asked for that",
	"the machine cannot open another connection; new ones wait":                     "says it",

	// The rule above the lists: see to the database, or report the record.
	"task cannot be ended": dbOrDefect,
	"the owner of a task took a step that its table does not have":             dbOrDefect,
	"old tasks could not be looked up; trying again later":                     dbOrDefect,
	"old tasks could not be deleted; trying again later":                       dbOrDefect,
	"receipts of old messages could not be deleted; trying again later":        dbOrDefect,
	"sqlite: tasks of an older version could not be packed; it is tried again": dbOrDefect,
	"the keys of webhooks could not be read":                                   dbOrDefect,
	"credentials cannot be checked again":                                      dbOrDefect,
	"a stream cannot be kept alive":                                            dbOrDefect,
	"a page of the console failed":                                             dbOrDefect,
	"a call of the console failed":                                             dbOrDefect,
	"a call of the admin API failed":                                           dbOrDefect,
	"a call panicked":                                                          dbOrDefect,
	"a webhook could not be served; trying again":                              dbOrDefect,
	"webhooks could not be looked up; trying again":                            dbOrDefect,
	"dead letters could not be looked up; trying again":                        dbOrDefect,
	"a request ended in a panic":                                               dbOrDefect,

	// Somebody was refused, as they should be.
	"a sign-in to the console failed": "refused",
	"connection refused by policy":    "refused",
	"address refused":                 "refused",
}

// dbOrDefect is the reason of errors that come from the database or from a fault of ours.
const dbOrDefect = "database or defect"

// inError is the reason of those whose attributes, mostly error, name what is to be mended.
const inError = "its attributes say it"

// dynamic are messages that are made as they are written.
var dynamic = map[string]string{
	"request failed": "an error only for InternalError, as the page says above its lists",
}

// TestMessagesAreDocumented: each error and warning in the log that has no reason to be
// left out is in the lists of what an operator should act on, by level; and the
// lists have nothing else.
func TestMessagesAreDocumented(t *testing.T) {
	t.Chdir("../..")
	page, err := os.ReadFile("docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]string{}
	for level, heading := range map[string]string{"ERROR": "\n### Errors\n", "WARN": "\n### Warnings\n"} {
		_, rest, found := strings.Cut(string(page), heading)
		items, _, _ := strings.Cut(rest, "\n#")
		if !found {
			t.Fatalf("docs/operations.md has no list of %s", level)
		}
		for _, row := range regexp.MustCompile("(?m)^\\* (`[^`]+`(?:, `[^`]+`)*): ").FindAllStringSubmatch(items, -1) {
			for message := range strings.SplitSeq(strings.Trim(row[1], "`"), "`, `") {
				if listed[message] != "" {
					t.Errorf("the page has %q twice", message)
				}
				listed[message] = level
			}
		}
	}
	files, err := exec.Command("git", "ls-files", "*.go").Output()
	if err != nil {
		t.Skipf("not a checkout: %v", err)
	}
	found := map[string]bool{}
	for _, name := range strings.Fields(string(files)) {
		if strings.HasSuffix(name, "_test.go") || within(name, []string{"test/", "bench/", "interop/", "examples/", "internal/pgtest/", "store/storetest/"}) {
			continue
		}
		if _, err := os.Stat(name); err != nil {
			continue // deleted, and not committed yet
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for message, level := range messages(f) {
			found[message] = true
			reason, left := unlisted[message]
			left = left && (level == "WARN" || reason == dbOrDefect || reason == inError)
			switch {
			case left && listed[message] == "":
			case dynamic[message] != "":
			case left:
				t.Errorf("%s: %q is in the lists and in unlisted", name, message)
			case listed[message] == "":
				t.Errorf("%s: the lists of docs/operations.md do not have %s %q", name, level, message)
			case listed[message] != level:
				t.Errorf("%s: %q is %s, and %s in the lists of docs/operations.md", name, message, level, listed[message])
			}
		}
	}
	if len(found) < 60 {
		t.Errorf("only %d messages were found", len(found))
	}
	for message := range listed {
		if !found[message] {
			t.Errorf("docs/operations.md has %q, which nothing writes", message)
		}
	}
	for message := range unlisted {
		if !found[message] {
			t.Errorf("unlisted has %q, which nothing writes", message)
		}
	}
}

// writers are the methods that write warnings and errors; the last two are our own.
var writers = map[string]string{
	"Warn": "WARN", "WarnContext": "WARN", "Error": "ERROR", "ErrorContext": "ERROR",
	"desertLocked": "WARN", "complain": "ERROR",
}

// messages returns the warnings and errors that a file writes to a log, with their levels:
// the first text of a call of Warn or Error, and the texts of calls and assignments with a level.
func messages(f *ast.File) map[string]string {
	all := map[string]string{}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			at, ok := n.Fun.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			level := writers[at.Sel.Name]
			if on, ok := at.X.(*ast.Ident); ok && (on.Name == "http" || on.Name == "status") {
				return true
			}
			for i, arg := range n.Args {
				if named := levelOf(arg); named != "" {
					level = named
				}
				if text := textOf(arg); text != "" && level != "" && i <= 2 {
					all[text] = level
					break
				}
			}
		}
		return true
	})
	return all
}

// levelOf is the level that an expression names; "" if it names none.
func levelOf(e ast.Expr) string {
	at, ok := e.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	return map[string]string{"LevelWarn": "WARN", "LevelError": "ERROR"}[at.Sel.Name]
}

// textOf is the text of a literal, or of several with + between them.
func textOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		s, _ := strconv.Unquote(e.Value)
		return s
	case *ast.BinaryExpr:
		return textOf(e.X) + textOf(e.Y)
	}
	return ""
}

func within(name string, dirs []string) bool {
	for _, dir := range dirs {
		if strings.HasPrefix(name, dir) {
			return true
		}
	}
	return false
}
