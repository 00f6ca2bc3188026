package agent

import (
	"cmp"
	"context"
	_ "embed" // for the demo's picture
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/wake"
)

// Bounds of the demo agent's commands.
const (
	maxStream      = 100_000
	maxStreamPause = 60_000 // milliseconds
	maxSleep       = 1e9    // seconds: it fits a time.Duration
)

// Demo returns the small scripted agent that comes with Parley. It needs no key and no
// network. The first word of the message's first text part is the command; the text
// after one space is its argument, verbatim. DemoCard lists the commands. Any other
// text, even an empty one, is echoed unchanged. Parts that are not text are ignored.
func Demo() Agent {
	return Func(func(ctx context.Context, t *Turn) error {
		word, arg, _ := strings.Cut(t.Text(), " ")
		if run, ok := demoCommands[word]; ok {
			return run(ctx, t, arg)
		}
		return demoText(t, "echo", t.Text())
	})
}

// demoCommands are the commands by their word. Each takes the argument, which
// is "" if there is none.
var demoCommands = map[string]func(ctx context.Context, t *Turn, arg string) error{
	"echo":    func(_ context.Context, t *Turn, arg string) error { return demoText(t, "echo", arg) },
	"message": func(_ context.Context, t *Turn, arg string) error { return t.Reply(arg) },
	"stream":  demoStream,
	"sleep":   demoSleep,
	"ask": func(ctx context.Context, t *Turn, arg string) error {
		return demoAsk(ctx, t, cmp.Or(arg, "What is your name?"))
	},
	"auth": demoAuth,
	"fail": func(_ context.Context, t *Turn, arg string) error { return t.Fail(cmp.Or(arg, "failed on request")) },
	"reject": func(_ context.Context, t *Turn, arg string) error {
		return t.Reject(cmp.Or(arg, "rejected on request"))
	},
	"file":   demoFile,
	"data":   demoData,
	"refine": demoRefine,
	"help":   func(_ context.Context, t *Turn, _ string) error { return demoText(t, "help", demoHelp()) },
}

// demoHelp lists the commands as the card does, each with an example.
func demoHelp() string {
	var b strings.Builder
	for _, s := range demoSkills() {
		fmt.Fprintf(&b, "%s\n    %s\n", s.Description, s.Examples[0])
	}
	b.WriteString("Any other text comes back as it is.\n")
	return b.String()
}

// demoText answers with an artifact of one text part.
func demoText(t *Turn, name, text string) error { return t.Artifact(name).Last(a2a.TextPart(text)) }

func demoStream(ctx context.Context, t *Turn, arg string) error {
	n, pause, ok := parseStream(arg)
	if !ok {
		return t.Fail(fmt.Sprintf("usage: stream N [MS], with N from 1 to %d chunks and MS from 0 to %d milliseconds between them", maxStream, maxStreamPause))
	}
	if err := t.Status(""); err != nil {
		return err
	}
	w := t.Artifact("stream")
	for i := len(w.Resume()) + 1; i <= n; i++ { // a chunk is a part
		chunk := fmt.Sprintf("chunk %d\n", i)
		if i == n {
			return w.Last(a2a.TextPart(chunk))
		}
		if _, err := w.WriteString(chunk); err != nil {
			return err
		}
		if err := wake.Pause(ctx, pause); err != nil {
			return err
		}
	}
	return nil // the lost attempt wrote them all
}

func parseStream(arg string) (n int, pause time.Duration, ok bool) {
	first, second, both := strings.Cut(arg, " ")
	n, err := strconv.Atoi(first)
	if err != nil || n < 1 || n > maxStream {
		return 0, 0, false
	}
	ms := 50
	if both {
		ms, err = strconv.Atoi(second)
		if err != nil || ms < 0 || ms > maxStreamPause {
			return 0, 0, false
		}
	}
	return n, time.Duration(ms) * time.Millisecond, true
}

func demoSleep(ctx context.Context, t *Turn, arg string) error {
	seconds, err := strconv.ParseFloat(arg, 64)
	// ParseFloat also takes hexadecimal, infinities and NaN.
	if err != nil || strings.Trim(arg, "0123456789.") != "" || seconds > maxSleep {
		return t.Fail("usage: sleep SECONDS, a number such as 2 or 0.5")
	}
	if err := t.Status("sleeping " + arg + " seconds"); err != nil {
		return err
	}
	if err := wake.Pause(ctx, time.Duration(seconds*float64(time.Second))); err != nil {
		return err
	}
	return demoText(t, "sleep", "slept "+arg)
}

func demoAsk(ctx context.Context, t *Turn, question string) error {
	answer, err := t.Ask(ctx, question)
	if err != nil {
		return err
	}
	return demoText(t, "answer", answer.Text())
}

func demoAuth(ctx context.Context, t *Turn, _ string) error {
	if _, err := t.Authenticate(ctx, "Authorization needed: send any message to this task to give it."); err != nil {
		return err
	}
	return demoText(t, "auth", "authorized")
}

//go:embed pixel.png
var pixel []byte

func demoFile(_ context.Context, t *Turn, _ string) error {
	return t.Artifact("file").Last(
		a2a.RawPart(pixel, "image/png", "pixel.png"),
		a2a.URLPart("https://example.com/report.pdf", "application/pdf", "report.pdf"),
	)
}

func demoData(_ context.Context, t *Turn, _ string) error {
	return t.Artifact("data").Last(a2a.DataPart(a2a.JSON(
		`{"answer":42,"ok":true,"list":[1,"two",null],"nested":{"pi":3.5,"text":"héllo"}}`)))
}

// demoRefine answers with a new version of an earlier task's first artifact:
// a new task, a new artifact, the same name (specification §3.4.2).
func demoRefine(ctx context.Context, t *Turn, arg string) error {
	earlier, err := demoEarlier(ctx, t)
	if err != nil {
		return err
	}
	if earlier == nil {
		return demoAsk(ctx, t, "Which earlier result do you mean? There is none that I can see.")
	}
	return demoText(t, earlier.Artifacts[0].Name, arg)
}

// demoEarlier returns the task to refine, which has an artifact, or nil. A
// message that refers to tasks means those and no other.
func demoEarlier(ctx context.Context, t *Turn) (*a2a.Task, error) {
	if len(t.Message().ReferenceTaskIDs) > 0 {
		tasks, err := t.References(ctx)
		if err != nil {
			return nil, err
		}
		for _, task := range tasks {
			if len(task.Artifacts) > 0 {
				return task, nil
			}
		}
		return nil, nil
	}
	for task, err := range t.Siblings(ctx) {
		if err != nil {
			return nil, err
		}
		if task.Status.State == a2a.TaskStateCompleted && len(task.Artifacts) > 0 {
			return task, nil
		}
	}
	return nil, nil
}
