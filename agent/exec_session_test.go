//go:build unix

package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/parley-a2a/parley/a2a"
)

// speaker returns an agent that speaks in lines with a script.
func speaker(o *ExecOptions, script string, args ...string) *command {
	own := ExecOptions{}
	if o != nil {
		own = *o
	}
	own.Mode = ExecLines
	return shell(&own, script, args...)
}

// sayer makes a script of lines to be written.
func sayer(lines ...string) string {
	return "cat <<'END'\n" + strings.Join(lines, "\n") + "\nEND\n"
}

func TestExecSpeaksInLines(t *testing.T) {
	for _, c := range []struct {
		name, script string
		want         []string
	}{
		{"status", sayer(`{"type":"status","text":"half way"}`, `{"type":"status"}`, ``, "  \r"), []string{`working "half way"`, `working`}},
		{"status of metadata", sayer(`{"type":"status","metadata":{"a":1}}`), []string{`working ""`}},
		{"status of parts", sayer(`{"type":"status","parts":[{"data":{"done":0.5}}],"metadata":{"a":1}}`), []string{`working data({"done":0.5})`}},
		{"artifacts", sayer(
			`{"type":"artifact","text":"a"}`,
			`{"type":"artifact","name":"b","parts":[{"raw":"UE5H","mediaType":"image/png","filename":"x.png"}]}`,
			`{"type":"artifact","text":"A"}`,
			`{"type":"artifact","name":"b","last":true}`,
			`{"type":"artifact","text":"new","append":false,"last":true}`,
		), []string{`> "a"`, `>b raw(504e47 image/png x.png)`, `+ "A"`, `+. ""`, `>. "new"`}},
		{"finished artifact begun anew", sayer(`{"type":"artifact","text":"a","last":true}`, `{"type":"artifact","text":"b","append":false}`), []string{`>. "a"`, `> "b"`}},
		{"reply", sayer(`{"type":"reply","text":"hello"}`), []string{`reply "hello"`}},
		{"reply of nothing", sayer(`{"type":"reply","text":""}`), []string{`reply ""`}},
		{"complete", sayer(`{"type":"complete"}`), []string{`completed`}},
		{"complete with a word", sayer(`{"type":"complete","text":"all done"}`), []string{`completed "all done"`}},
		{"fail", sayer(`{"type":"fail","text":"no paper"}`), []string{`failed "no paper"`}},
		{"reject", sayer(`{"type":"reject","text":"not mine"}`) + "exit 7", []string{`rejected "not mine"`}},
		{"no line feed at the end", `printf '{"type":"complete"}'`, []string{`completed`}},
		{"task", `echo "{\"type\":\"complete\",\"task\":\"$PARLEY_TASK_ID\"}"`, []string{`completed`}},
		{"mode", `echo "{\"type\":\"reply\",\"text\":\"$PARLEY_MODE\"}"`, []string{`reply "lines"`}},
		{"text of the message", `read -r line; text=${line#'{"type":"message","text":"'}; echo '{"type":"reply","text":"'"${text%%\"*}"'"}'`, []string{`reply "hi"`}},
		{"what comes late", sayer(`{"type":"complete"}`, `{"type":"status","text":"late"}`, `nonsense`), []string{`completed`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHost("hi")
			if err := runExec(t, t.Context(), speaker(nil, c.script), h); err != nil {
				t.Fatal(err)
			}
			wantScript(t, h, c.want...)
		})
	}
}

func TestExecTellsTheMessage(t *testing.T) {
	h := newHost("hi \u2028 <there>\n")
	h.attempt = 3
	h.message.Parts = append(h.message.Parts, a2a.DataPart(a2a.JSON("{\"a\":\n1}")), a2a.RawPart([]byte{0}, "image/png", "x.png"))
	if err := runExec(t, t.Context(), speaker(nil, `read -r line; printf '{"type":"artifact","parts":[{"data":%s}]}\n' "$line"`), h); err != nil {
		t.Fatal(err)
	}
	want := `{"type":"message","text":"hi \u2028 <there>\n\n{\"a\":\n1}","parley":1,"task":"task-1","context":"context-1","attempt":3,` +
		`"caller":{"subject":"key:ann","tenant":"acme"},"message":{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"hi \u2028 <there>\n"},` +
		`{"data":{"a":1}},{"raw":"AA==","filename":"x.png","mediaType":"image/png"}]},"version":"1.0"}`
	if got := string(h.events[0].artifact.Parts[0].Data); got != want {
		t.Errorf("told\n%s\nwant\n%s", got, want)
	}
}

func TestExecRefusesLinesThatAreWrong(t *testing.T) {
	for _, c := range []struct{ script, want string }{
		{sayer(`{"type":"status"}`, `Starting up...`), "line 2 of the command's output: it is not JSON (byte 1)"},
		{sayer(`[1]`), "line 1 of the command's output: it is not a JSON object"},
		{`printf '{"type":"status","text":"\377"}\n'`, "line 1 of the command's output: it is not UTF-8"},
		{sayer(``, `{"type":"artefact","text":"x"}`), "line 2 of the command's output: its type \"artefact\" is not one of artifact, ask, authenticate, complete, fail, log, references, reject, reply, result, resume, siblings, status, step"},
		{sayer(`{"type":"status","metadata":{"a":` + strings.Repeat("[", 99) + strings.Repeat("]", 99) + `}}`), `line 1 of the command's output: it nests more than 100 levels deep`},
		{sayer(`{"text":"x"}`), `line 1 of the command's output: it has no "type"`},
		{sayer(`{"type":"status","txt":"x"}`), `line 1 of the command's output: "txt" is not a member of a line of type status, which may have text, parts, metadata`},
		{sayer(`{"type":"status","text":7}`), `line 1 of the command's output: "text" must be a string`},
		{sayer(`{"type":"siblings","limit":1}`), `line 1 of the command's output: "limit" is not a member of a line of type siblings, which may have no more than its task`},
		{sayer(`{"type":"artifact","text":"x","last":1}`), `line 1 of the command's output: "last" must be true or false`},
		{sayer(`{"type":"artifact","text":"x","parts":[]}`), `line 1 of the command's output: it has both "text" and "parts"`},
		{sayer(`{"type":"artifact","parts":[{}]}`), `line 1 of the command's output: parts[0]: a part needs one of text, raw, url or data`},
		{sayer(`{"type":"artifact"}`), `line 1 of the command's output: a line of type artifact needs "text", "parts" or "last"`},
		{sayer(`{"type":"artifact","text":"a","last":true}`, `{"type":"artifact","text":"b"}`), `line 2 of the command's output: its artifact has had its last chunk; "append":false begins it anew`},
		{sayer(`{"type":"ask"}`), `line 1 of the command's output: a line of type ask needs a text`},
		{sayer(`{"type":"step"}`), `line 1 of the command's output: a line of type step needs a "name"`},
		{sayer(`{"type":"result","result":1}`), `line 1 of the command's output: a line of type result without a step before`},
		{sayer(`{"type":"step","name":"a"}`, `{"type":"complete"}`), `line 2 of the command's output: a line of type complete must not come while a step is being done`},
		{sayer(`{"type":"step","name":"a"}`, `{"type":"step","name":"b"}`), `line 2 of the command's output: a line of type step must not come while a step is being done`},
		{sayer(`{"type":"ask","text":"a"}`, `{"type":"complete"}`), `line 2 of the command's output: a line of type complete must not come while a question is open`},
		{sayer(`{"type":"complete","task":"other"}`), `line 1 of the command's output: it is about another task`},
		{sayer(`{"type":"log","text":"x","level":"loud"}`), `line 1 of the command's output: its "level" is not one of debug, info, warn, error`},
		{`head -c 9000000 /dev/zero | tr '\0' x`, `line 1 of the command's output: it is longer than 8 MiB`},
		{`yes '' | head -n 99999; yes '{"type":"log","text":"x","level":"debug"}'`, `line 100001 of the command's output: there are too many`}, // blank lines count, too
		{`:`, "the command exited with status 0 and had written no line"},
		{sayer(`{"type":"status"}`) + "exit 4", "the command exited with status 4"},
		{sayer(`{"type":"ask","text":"a"}`), "the command exited with status 0 while its question was open"},
		{sayer(`{"type":"step","name":"a"}`), "the command exited with status 0 in the middle of a step"},
	} {
		t.Run(c.want, func(t *testing.T) {
			h := newHost("hi")
			wantReason(t, runExec(t, t.Context(), speaker(nil, c.script), h), c.want)
		})
	}
}

// What a command prints where it should not is in the log, and nowhere else.
func TestExecLogsWhatWasWrong(t *testing.T) {
	var log bytes.Buffer
	o := &ExecOptions{Logger: slog.New(slog.NewTextHandler(&log, nil))}
	script := sayer(`{"type":"log","text":""}`, `{"type":"log","text":"note","level":"warn"}`, `password is hush`)
	err := runExec(t, t.Context(), speaker(o, script), newHost(""))
	wantReason(t, err, "line 3 of the command's output: it is not JSON (byte 1)")
	for _, want := range []string{`level=WARN msg="command says" task=task-1 context=context-1 attempt=1 caller=key:ann command=sh text=note`, `line=3 problem="it is not JSON (byte 1)" text="password is hush"`} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log has no %s:\n%s", want, &log)
		}
	}
}

// A program that prints text is perhaps meant for the plain mode; one that begins with an
// object is not.
func TestExecHintsAtPlainMode(t *testing.T) {
	for line, hinted := range map[string]bool{`hello`: true, `{"type":"statos"}`: false} {
		var log bytes.Buffer
		o := &ExecOptions{Logger: slog.New(slog.NewTextHandler(&log, nil))}
		if err := runExec(t, t.Context(), speaker(o, sayer(line)), newHost("")); err == nil {
			t.Errorf("%s was accepted", line)
		}
		if strings.Contains(log.String(), "hint=") != hinted {
			t.Errorf("%s:\n%s", line, &log)
		}
	}
}

// askTwice asks, and says what it was told.
const askTwice = `
read -r message
echo '{"type":"ask","text":"first?"}'
read -r one
echo '{"type":"artifact","text":"got one"}'
echo '{"type":"authenticate","text":"second?"}'
read -r two
one=${one#'{"type":"answer","text":"'} two=${two#'{"type":"answer","text":"'}
echo '{"type":"complete","text":"'"${one%%\"*} ${two%%\"*}"'"}'
`

func TestExecAsks(t *testing.T) {
	h := newHost("hi")
	h.answers = answers("yes", "no")
	if err := runExec(t, t.Context(), speaker(nil, askTwice), h); err != nil {
		t.Fatal(err)
	}
	wantScript(t, h, `input_required "first?"`, `> "got one"`, `auth_required "second?"`, `completed "yes no"`)
}

func answers(texts ...string) chan *a2a.Message {
	c := make(chan *a2a.Message, len(texts))
	for _, s := range texts {
		c <- newHost(s).message
	}
	return c
}

// Those that wait for answers with a process are bounded; the one that has waited
// longest begins again from the top when the answer comes, and sees what was said
// before.
func TestExecWaitsWithoutAProcess(t *testing.T) {
	c := speaker(&ExecOptions{Concurrency: 1, Grace: time.Second}, askTwice)
	var hosts [3]*fakeHost
	var done [3]<-chan error
	for i := range hosts {
		hosts[i] = newHost("hi")
		hosts[i].answers = make(chan *a2a.Message)
		asks := make(chan struct{}, 9)
		hosts[i].emitted = func(ev event) error {
			if ev.state.Interrupted() {
				asks <- struct{}{}
			}
			return nil
		}
		done[i] = begin(t, t.Context(), c, hosts[i])
		<-asks
		hosts[i].answers <- newHost(fmt.Sprint("one", i)).message // and now at the second
		<-asks
	}
	for i := range hosts {
		hosts[i].answers <- newHost("two").message
		if err := <-done[i]; err != nil {
			t.Error(err)
		}
		want := []string{`input_required "first?"`, `> "got one"`, `auth_required "second?"`}
		if i < 2 { // its process had to go
			want = append(want, `> "got one"`)
		}
		wantScript(t, hosts[i], append(want, fmt.Sprintf(`completed "one%d two"`, i))...)
	}
}

const oneStep = `
read -r message
echo '{"type":"step","name":"charge"}'
read -r step
case $step in
*'"done":false'*) echo "{\"type\":\"status\",\"text\":\"charging\"}"; echo "{\"type\":\"result\",\"result\":{\"n\":$PARLEY_ATTEMPT}}" ;;
esac
echo "{\"type\":\"artifact\",\"parts\":[{\"data\":$step}]}"
`

func TestExecDoesAStepOnce(t *testing.T) {
	h := newHost("hi")
	if err := runExec(t, t.Context(), speaker(nil, oneStep), h); err != nil {
		t.Fatal(err)
	}
	wantScript(t, h, `working "charging"`, `> data({"type":"step","name":"charge","done":false})`)
	again := newHost("hi")
	again.steps, again.attempt = h.steps, 2
	if err := runExec(t, t.Context(), speaker(nil, oneStep), again); err != nil {
		t.Fatal(err)
	}
	wantScript(t, again, `> data({"type":"step","name":"charge","done":true,"result":{"n":1}})`)

	other := newHost("hi")
	other.steps, other.attempt = []step{{"refund", a2a.JSON("1")}}, 2
	wantReason(t, runExec(t, t.Context(), speaker(nil, oneStep), other),
		"line 1 of the command's output: another step was recorded here: steps have to come in the same order on every run")
}

func TestExecCancelIsALineFirst(t *testing.T) {
	for cause, word := range map[error]string{ErrCanceled: "canceled", ErrDraining: "draining", ErrTimeout: "timeout"} {
		out := newFifo(t)
		script := `echo '{"type":"status","text":"ready"}'; read -r m; read -r line; echo "$line" >"$1"`
		got := make(chan string, 1)
		go func() { got <- readAll(t, out) }()
		err := cancelled(t, cause, speaker(nil, script, out))
		if !errors.Is(err, cause) {
			t.Errorf("Run = %v, want %v", err, cause)
		}
		if got, want := <-got, fmt.Sprintf("{\"type\":\"cancel\",\"task\":\"task-1\",\"reason\":%q}\n", word); got != want {
			t.Errorf("told %q, want %q", got, want)
		}
	}
}

// A program that does not listen gets signals.
func TestExecCancelThenTermThenKill(t *testing.T) {
	alive := newFifo(t)
	script := `trap '' TERM; exec 3<>"$1"; sh -c 'while :; do sleep 1000; done' & echo '{"type":"status","text":"ready"}'; wait; sleep 1000`
	err := cancelled(t, ErrCanceled, speaker(&ExecOptions{Grace: 20 * time.Millisecond}, script, alive))
	if !errors.Is(err, ErrCanceled) {
		t.Errorf("Run = %v, want ErrCanceled", err)
	}
	wantUnheld(t, alive)
}

// cancelled runs c and cancels it once it has said something.
func cancelled(t *testing.T, cause error, c *command) error {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	h := newHost("")
	ready := make(chan struct{})
	h.emitted = func(event) error { close(ready); return nil }
	done := begin(t, ctx, c, h)
	<-ready
	cancel(cause)
	return <-done
}

func TestExecCancelWhileAQuestionIsOpen(t *testing.T) {
	err := cancelled(t, ErrCanceled, speaker(&ExecOptions{Grace: 20 * time.Millisecond}, `echo '{"type":"ask","text":"well?"}'; read -r m; read -r line; sleep 1000`))
	if !errors.Is(err, ErrCanceled) {
		t.Errorf("Run = %v, want ErrCanceled", err)
	}
}

// A command that asks for steps and never reads their outcome is not waited for.
func TestExecStallsOnInputThatIsNotRead(t *testing.T) {
	h := newHost(strings.Repeat("x", 1<<20)) // more than a pipe holds
	c := speaker(&ExecOptions{Grace: 20 * time.Millisecond}, sayer(`{"type":"step","name":"a"}`, `{"type":"result","result":1}`, `{"type":"step","name":"b"}`, `{"type":"result","result":1}`, `{"type":"step","name":"c"}`)+"sleep 1000")
	c.stall = 20 * time.Millisecond
	wantReason(t, runExec(t, t.Context(), c, h), "the command does not read its input")
}

// warned is a log that says when something was written.
type warned struct {
	bytes.Buffer
	heard chan struct{}
	once  sync.Once
}

func (w *warned) Write(b []byte) (int, error) {
	defer w.once.Do(func() { close(w.heard) })
	return w.Buffer.Write(b)
}

// A command that does not speak in lines is not waited for without a word: the log
// names the likely cause, once.
func TestExecWarnsOfACommandThatWritesNoLine(t *testing.T) {
	for _, c := range []struct{ name, script, want string }{
		{"silent", `cat >/dev/null`, "flush each line"},
		{"without a line feed", `printf '{"type":"complete"'; cat >/dev/null`, "printed 18 bytes without a line feed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			log := &warned{heard: make(chan struct{})}
			a := speaker(&ExecOptions{Logger: slog.New(slog.NewTextHandler(log, nil))}, c.script)
			a.mute = 20 * time.Millisecond
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			done := begin(t, ctx, a, newHost("hi"))
			<-log.heard
			cancel(ErrCanceled)
			if err := <-done; !errors.Is(err, ErrCanceled) {
				t.Error(err)
			}
			if got := log.String(); strings.Count(got, "no line yet") != 1 || !strings.Contains(got, c.want) {
				t.Errorf("no %q in\n%s", c.want, got)
			}
		})
	}
	t.Run("text", func(t *testing.T) {
		var log bytes.Buffer
		a := speaker(&ExecOptions{Logger: slog.New(slog.NewTextHandler(&log, nil))}, `echo hello`)
		if err := runExec(t, t.Context(), a, newHost("hi")); err == nil || !strings.Contains(log.String(), "JSON objects, one a line") {
			t.Errorf("%v\n%s", err, log.String())
		}
	})
}

// A process whose answer is there waits for a place, and may have to go like one that
// waits for its answer: else any number of them would, with nothing to do.
func TestExecProcessThatWaitsForAPlaceMakesRoom(t *testing.T) {
	c := speaker(&ExecOptions{Concurrency: 1}, `
		exec 3<>"$1/$PARLEY_TASK_ID"; read -r line; echo '{"type":"ask","text":"?"}'
		if read -r line; then echo '{"type":"complete"}'; fi`, t.TempDir())
	dir := c.argv[len(c.argv)-1]
	waiting := func(n int) {
		t.Helper()
		for end := time.Now().Add(10 * time.Second); c.places.Waiting() != n; {
			if time.Now().After(end) {
				t.Fatalf("%d wait for a place, want %d", c.places.Waiting(), n)
			}
			<-time.After(time.Millisecond)
		}
	}
	type task struct {
		*fakeHost
		fifo  string
		asked chan struct{}
		done  <-chan error
	}
	begins := func(id string) *task {
		h := newHost("x")
		h.id, h.answers = id, make(chan *a2a.Message)
		x := &task{fakeHost: h, fifo: dir + "/" + id, asked: make(chan struct{}, 9)}
		h.emitted = func(ev event) error {
			if ev.state == a2a.TaskStateInputRequired {
				x.asked <- struct{}{}
			}
			return nil
		}
		if err := syscall.Mkfifo(x.fifo, 0o600); err != nil {
			t.Fatal(err)
		}
		x.done = begin(t, t.Context(), c, h)
		return x
	}
	first := begins("first")
	<-first.asked
	if err := c.places.Enter(t.Context()); err != nil {
		t.Fatal(err)
	}
	second := begins("second")
	waiting(1)
	others := make(chan error)
	go func() { others <- c.places.Enter(t.Context()) }()
	waiting(2)
	first.answers <- &a2a.Message{}
	waiting(3)
	c.places.Leave()
	<-second.asked // and it leaves its place to others, who stay
	if err := <-others; err != nil {
		t.Fatal(err)
	}
	wantUnheld(t, first.fifo)
	c.places.Leave()
	second.answers <- &a2a.Message{}
	for _, x := range []*task{first, second} {
		if err := <-x.done; err != nil {
			t.Error(err)
		}
		wantScript(t, x.fakeHost, `input_required "?"`, "completed")
	}
}

// What a command with ExecLines prints on standard error before it ends is in the log to
// its last line.
func TestExecLinesLastWords(t *testing.T) {
	t.Parallel()
	for range 20 {
		var log syncBuffer
		c := Exec([]string{"sh", "-c", "read l; seq 1000 >&2; echo the reason >&2; exit 1"}, &ExecOptions{Mode: ExecLines, Logger: slog.New(slog.NewTextHandler(&log, nil))}).(*command)
		c.linger = long
		wantReason(t, c.Run(t.Context(), NewTurn(newHost("x"))), "the command exited with status 1")
		if !strings.Contains(log.String(), "the reason") {
			t.Fatalf("the log ends with %q", log.String()[max(0, len(log.String())-200):])
		}
	}
}
